"""The Debian packages of this tree: built, installed, tried, upgraded and removed in clean roots of each release in
which systemd runs; and container images of them that run.
"""
import os
import pathlib
import platform
import re
import subprocess
import tempfile

import pytest

from support.environment import ROOT

PACKAGES = {'headgate', 'headgate-redis', 'libheadgate-dev', 'libheadgate0', 'libnginx-mod-http-headgate'}
RELEASES = ('bookworm', 'trixie')
HERE = platform.freedesktop_os_release().get('VERSION_CODENAME')


def runs(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


CAN_CONTAIN = os.geteuid() == 0 and runs('unshare', '--mount', '--pid', '--fork', 'true')

# What packaging/clean_root does first. In a container, often one of these is forbidden.
BOOT = '''
set -e
cgroup=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET)/headgate-can-boot.$$
mkdir "$cgroup"
rmdir "$cgroup"
cd "$0"
mkdir lower upper work root
unshare --mount --uts --ipc --cgroup mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work root
'''


def can_boot():
    """Whether a root can be made in build/, and systemd can be started there."""
    with tempfile.TemporaryDirectory(dir=ROOT / 'build') as folder:
        return CAN_CONTAIN and runs('bash', '-c', BOOT, folder)


CAN_BOOT = can_boot()


def dev(*command):
    done = subprocess.run([ROOT / 'dev', *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=2400)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


@pytest.fixture(scope='module')
def built_here():
    """What `./dev package` says of this system's release: it has built all packages, and lintian found nothing."""
    return dev('package', '--on', HERE) if CAN_BOOT and HERE in RELEASES else dev('package')


def packages(release, said):
    names = re.findall(rf'^-rw.*/build/package/{release}/([a-z0-9-]+)_[^/]*\.deb$', said, re.MULTILINE)
    return {name for name in names if not name.endswith('-dbgsym')}


def test_they_are_built(built_here):
    assert packages(HERE, built_here) == PACKAGES


@pytest.mark.skipif(not CAN_BOOT, reason='a root with systemd needs to be root, namespaces, overlayfs and cgroup2')
@pytest.mark.parametrize('release', RELEASES)
def test_they_are_installed_upgraded_and_removed(built_here, release):
    said = built_here if release == HERE else dev('package', '--on', release)
    assert packages(release, said) == PACKAGES
    assert '\n-- what the sandboxes still allow\n' in said  # the last step under systemd
    assert said.endswith('\n-- all good\n')


@pytest.mark.skipif(not CAN_CONTAIN or ' - cgroup' not in pathlib.Path('/proc/self/mountinfo').read_text(),
                    reason='containers need root, namespaces and control groups')
def test_the_images_run(built_here):
    said = dev('image')
    assert 'try_image: headgate: a 429, reloaded, healthy, stopped' in said
    assert 'try_image: headgate-nginx: a 429, reloaded, stopped' in said
