"""The units of systemd: they are well formed, and what they may do, as systemd judges it."""
import re
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE, ROOT

UNITS = {'headgate.service': ROOT / 'debian/headgate.service',
         'headgate-gateway@.service': ROOT / 'debian/headgate.headgate-gateway@.service'}


def analyze(*arguments):
    return subprocess.run(['systemd-analyze', '--no-pager', *map(str, arguments)], capture_output=True,
                          text=True, timeout=PATIENCE)


@pytest.mark.parametrize('name', (*UNITS, 'headgate.socket'))
def test_systemd_understands_every_line(name, tmp_path):
    # It looks for the program, too, and for the service of a socket.
    for one, file in {**UNITS, 'headgate.socket': ROOT / 'debian/headgate.socket'}.items():
        (tmp_path / one.replace('@', '@shop')).write_text(file.read_text().replace('/usr/bin/headgate', HEADGATE))
    unit = tmp_path / name.replace('@', '@shop')
    done = analyze('verify', '--man=no', '--recursive-errors=no', unit)
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if name in line or str(unit) in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


@pytest.mark.parametrize('name', UNITS)
def test_exposure(name, tmp_path):
    """From 0 (it may do nothing) to 10."""
    unit = tmp_path / name
    unit.write_text(UNITS[name].read_text())
    done = analyze('security', '--offline=true', unit)
    level = re.search(r'Overall exposure level for .*: ([0-9.]+) ', done.stdout)
    assert level, done.stderr
    assert float(level[1]) <= 2.0, done.stdout


def test_the_socket_is_that_of_the_service():
    address = re.search(r'^ListenStream=(.+)$', (ROOT / 'debian/headgate.socket').read_text(), re.MULTILINE)[1]
    assert f' --http {address}\n' in UNITS['headgate.service'].read_text()


@pytest.mark.parametrize('name, setting', (
    ('headgate.service', 'Type=notify'), ('headgate-gateway@.service', 'Type=notify'),
    ('headgate.service', 'DynamicUser=yes'), ('headgate-gateway@.service', 'DynamicUser=yes'),
    ('headgate.service', 'StateDirectory=headgate'), ('headgate.service', 'LogsDirectory=headgate'),
    ('headgate-gateway@.service', 'LogsDirectory=headgate-gateway/%i')))
def test_settings_that_the_manual_promises(name, setting):
    assert setting in UNITS[name].read_text().splitlines()
