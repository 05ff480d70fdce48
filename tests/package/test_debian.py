"""The Debian packages of this tree, and container images of them that run."""
import os
import pathlib
import re
import subprocess

import pytest

from support.environment import ROOT

PACKAGES = ('headgate', 'headgate-redis', 'libheadgate-dev', 'libheadgate0', 'libnginx-mod-http-headgate')


def dev(command):
    done = subprocess.run([ROOT / 'dev', command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


@pytest.fixture(scope='module')
def built():
    """What `./dev package` says: it has built all packages, and lintian found nothing."""
    return dev('package')


def can_make_namespaces():
    return subprocess.run(['unshare', '--mount', '--pid', '--fork', 'true'], stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize('package', PACKAGES)
def test_the_package_is_built(built, package):
    assert re.search(rf'^-rw.*/build/package/\w+/{package}_[^/]*\.deb$', built, re.MULTILINE)


def has_control_groups():
    return ' - cgroup' in pathlib.Path('/proc/self/mountinfo').read_text()


@pytest.mark.skipif(os.geteuid() != 0 or not can_make_namespaces() or not has_control_groups(),
                    reason='containers need root, namespaces and control groups')
def test_the_images_run(built):
    said = dev('image')
    assert 'try_image: headgate: a 429, reloaded, healthy, stopped' in said
    assert 'try_image: headgate-nginx: a 429, reloaded, stopped' in said
