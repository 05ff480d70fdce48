"""Sockets that systemd has opened (socket activation), with systemd's own program for trying it."""
import http.client
import re
import socket
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE
from support.policies import FIVE
from support.processes import Lines, free_port, stop


class Activated:
    """headgate serve, which starts with the first connection to one of the addresses in `passed`."""

    def __init__(self, directory, passed, *arguments):
        policies = directory / 'policies.yaml'
        policies.write_text(FIVE)
        listen = [word for address in passed for word in ('-l', str(address))]
        self.process = subprocess.Popen(
            ['systemd-socket-activate', *listen, HEADGATE, 'serve', '--config', policies, *map(str, arguments)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.log = Lines(self.process.stderr)
        for _ in passed:
            self.log.until('Listening on')

    def statuses(self, family, address, count):
        """Of this many requests to /auth over one connection."""
        connection = http.client.HTTPConnection('localhost')
        connection.sock = socket.socket(family)
        connection.sock.settimeout(PATIENCE)
        connection.sock.connect(address)
        statuses = []
        for _ in range(count):
            connection.request('GET', '/auth', headers={'X-Forwarded-For': '192.0.2.1'})
            with connection.getresponse() as response:
                response.read()
                statuses.append(response.status)
        return statuses


@pytest.fixture
def activated(tmp_path):
    made = []

    def make(*arguments):
        made.append(Activated(tmp_path, *arguments))
        return made[-1]
    yield make
    for one in made:
        stop(one.process)


def test_the_first_connection_starts_it(activated):
    port = free_port()
    server = activated([f'127.0.0.1:{port}'], '--http', f'127.0.0.1:{port}', '--threads', 2)
    assert server.statuses(socket.AF_INET, ('127.0.0.1', port), 6) == [200] * 5 + [429]
    server.log.until(rf'http on 127\.0\.0\.1:{port}, a socket of the service manager')
    assert stop(server.process) == 0


def test_a_unix_socket_stays_systemds(activated, tmp_path):
    path = tmp_path / 'socket'
    server = activated([path], '--http', f'unix:{path}', '--resp', '127.0.0.1:0')
    assert server.statuses(socket.AF_UNIX, str(path), 1) == [200]
    server.log.until(r'resp on 127\.0\.0\.1:\d+"?}?$')
    assert stop(server.process) == 0
    assert path.is_socket()


def test_a_socket_that_no_option_names_is_a_fault(activated):
    named, other = free_port(), free_port()
    server = activated([f'127.0.0.1:{named}', f'127.0.0.1:{other}'], '--http', f'127.0.0.1:{named}')
    with socket.create_connection(('127.0.0.1', named)):
        server.log.until(f'the service manager passes a socket for 127.0.0.1:{other}, which no option names; '
                         'expected a listener with this address')
        assert server.process.wait(PATIENCE) == 1


@pytest.mark.parametrize('passed, option', [('0.0.0.0:{port}', '127.0.0.1:{port}'),
                                            ('[::]:{port}', '127.0.0.1:{port}'),
                                            ('{path}/socket', 'unix:{path}/../{name}/socket')])
def test_a_socket_that_covers_the_address_of_an_option_and_is_another_one_is_named(activated, tmp_path, passed, option):
    words = {'port': free_port(), 'path': tmp_path, 'name': tmp_path.name}
    passed = passed.format(**words)
    server = activated([passed], '--http', option.format(**words))
    is_unix = passed.startswith('/')
    with socket.socket(socket.AF_UNIX if is_unix else socket.AF_INET) as client:
        client.connect(passed if is_unix else ('127.0.0.1', words['port']))
        name = f'unix:{passed}' if is_unix else passed
        server.log.until(re.escape(f'passes a socket for {name}, which no option names'))
        assert server.process.wait(PATIENCE) == 1


def test_what_is_no_listening_socket_is_a_fault(tmp_path):
    policies = tmp_path / 'policies.yaml'
    policies.write_text(FIVE)
    # The shell has the process id that LISTEN_PID needs; exec keeps it.
    done = subprocess.run(
        ['sh', '-c', 'exec 3< /dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', 'sh', HEADGATE, 'serve', '--config',
         policies, '--http', '127.0.0.1:0'], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert 'passes file descriptor 3, which is no socket that listens' in done.stderr
