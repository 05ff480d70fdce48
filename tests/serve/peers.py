"""What stands around a decision server in these tests: raw clients, an upstream, real proxies."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from conftest import PATIENCE, ROOT

os.environ.setdefault('HEADGATE_MODULE', '')  # of the nginx tests, whose clients are used here
sys.path.append(str(ROOT / 'tests/nginx'))
from harness import Connection, Upstream, free_port, until  # noqa: E402, F401

PATH = os.environ['PATH'] + ':/usr/sbin'


def program(name):
    found = shutil.which(name, path=PATH)
    if found is None:
        pytest.skip(f'{name} is not installed; ./dev deps installs it')
    return found


class Proxy:
    """A real proxy that runs an example's configuration, with ports of our own."""

    def __init__(self, directory, command, port, environment=None):
        self.log_file = pathlib.Path(directory) / 'proxy.log'
        self.port = port
        with self.log_file.open('wb') as log:
            self.process = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log,
                                            env=os.environ | (environment or {}))
        until(self.ready, f'{command[0]} answers')

    def ready(self):
        assert self.process.poll() is None, self.log
        with contextlib.suppress(OSError), Connection(self.port):
            return True

    @property
    def log(self):
        return self.log_file.read_text(errors='replace')

    def ask(self, path='/', *arguments, **options):
        with Connection(self.port) as connection:
            return connection.ask(path, *arguments, **options)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def with_ports(text, ports):
    """The text with each of these ports in place of an example's own."""
    for old, new in ports.items():
        assert f':{old}' in text, f'the example does not use port {old}'
        text = text.replace(f':{old}', f':{new}')
    return text


def nginx(directory, configuration, port):
    """nginx without any module of ours."""
    directory = pathlib.Path(directory)
    (directory / 'nginx.conf').write_text(configuration)
    user = 'user root; ' if os.geteuid() == 0 else ''
    return Proxy(directory, [program('nginx'), '-p', f'{directory}/', '-e', 'stderr', '-c',
                             'nginx.conf', '-g', f'{user}daemon off;'], port)


def caddy(directory, configuration, port):
    directory = pathlib.Path(directory)
    (directory / 'Caddyfile').write_text(configuration)
    home = {name: str(directory / 'home') for name in ('HOME', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME')}
    return Proxy(directory, [program('caddy'), 'run', '--config', 'Caddyfile', '--adapter',
                             'caddyfile'], port, home)
