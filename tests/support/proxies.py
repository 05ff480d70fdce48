"""Real proxies in front of a decision server: nginx without the module, Caddy, and HAProxy."""
import os
import pathlib
import subprocess

import pytest

from support.http_client import Connection, answers
from support.processes import find_program, stop, until


def program(name):
    found = find_program(name)
    if found is None:
        pytest.skip(f'{name} is not installed; ./dev deps installs it')
    return found


class Proxy:
    """A real proxy that runs an example's configuration, with other ports."""

    def __init__(self, directory, command, port, environment=None, more_ports=()):
        self.log_file = pathlib.Path(directory) / 'proxy.log'
        self.port = port
        self.ports = [port, *more_ports]
        with self.log_file.open('wb') as log:
            self.process = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log,
                                            env=os.environ | (environment or {}))
        until(self.ready, f'{command[0]} answers')

    def ready(self):
        assert self.process.poll() is None, self.log
        return all(answers(port) for port in self.ports)

    @property
    def log(self):
        return self.log_file.read_text(errors='replace')

    def request(self, path='/', *arguments, **options):
        with Connection(self.port) as connection:
            return connection.request(path, *arguments, **options)

    def stop(self):
        stop(self.process)


def policies(example):
    """The example's policies, with hours for minutes: so long no test waits on a slow machine, and units that
    come back would change what it sees."""
    text = (example / 'headgate.yaml').read_text()
    assert 'window: 1m' in text, text
    return text.replace('window: 1m', 'window: 1h')


def with_ports(text, ports):
    """The text with each of these ports in place of an example's own."""
    for old, new in ports.items():
        assert f':{old}' in text, f'the example does not use port {old}'
        text = text.replace(f':{old}', f':{new}')
    return text


def nginx(directory, configuration, port):
    """nginx without the module."""
    directory = pathlib.Path(directory)
    (directory / 'nginx.conf').write_text(configuration)
    user = 'user root; ' if os.geteuid() == 0 else ''
    return Proxy(directory, [program('nginx'), '-p', f'{directory}/', '-e', 'stderr', '-c',
                             'nginx.conf', '-g', f'{user}daemon off;'], port)


def caddy(directory, configuration, port, *more_ports):
    """Caddy opens its ports one by one: all that the test needs are waited for."""
    directory = pathlib.Path(directory)
    (directory / 'Caddyfile').write_text(configuration)
    home = {name: str(directory / 'home') for name in ('HOME', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME')}
    return Proxy(directory, [program('caddy'), 'run', '--config', 'Caddyfile', '--adapter',
                             'caddyfile'], port, home, more_ports)


def haproxy(directory, configuration, spoe, port):
    """A master and its worker; SIGUSR2 reloads both files."""
    directory = pathlib.Path(directory)
    (directory / 'haproxy.cfg').write_text(configuration)
    (directory / 'spoe.conf').write_text(spoe)
    return Proxy(directory, [program('haproxy'), '-W', '-db', '-f', 'haproxy.cfg'], port)


def spend_all_of_ten(request, path, body):
    """Spends the quota of an example's policies() through request(path). Returns the denial."""
    for left in range(9, -1, -1):
        response = request(path)
        assert (response.status, response.body) == (200, body)
        assert response.one('RateLimit-Policy') == '"burst";q=10;w=3600'
        assert response.r == left
        assert response.one('Retry-After') is None
    denied = request(path)
    assert denied.status == 429
    assert denied.one('RateLimit') == f'"burst";r=0;t={denied.one("Retry-After")}'
    assert denied.one('RateLimit-Policy') == '"burst";q=10;w=3600'
    assert denied.one('Content-Type') == 'application/problem+json'
    return denied
