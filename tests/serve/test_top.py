"""headgate top, on a pseudo-terminal and without one."""
import fcntl
import http.client
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading

import pytest

from support.environment import HEADGATE, PATIENCE
from support.http_client import request
from support.processes import free_port

POLICIES = '''
version: 1
partition-key: plain
policies:
  - {name: burst, quota: 2, window: 1h}
'''
EXPECTED = ('; expected the --http address of headgate serve, the --metrics address of headgate gateway, '
            "or nginx' location with headgate_dashboard\n")


def decide(server, key, times):
    connection = http.client.HTTPConnection('127.0.0.1', server.port, timeout=PATIENCE)
    for _ in range(times):
        connection.request('POST', '/v1/decide', json.dumps({'checks': [{'policy': 'burst', 'key': key}]}))
        connection.getresponse().read()
    connection.close()


def url(server):
    return f'http://127.0.0.1:{server.port}'


def run(*arguments):
    return subprocess.run([HEADGATE, 'top', *arguments], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE)


class Screen:
    """headgate top on a terminal of its own."""

    def __init__(self, *arguments, size=(24, 80)):
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.slave = slave
        self.before = termios.tcgetattr(slave)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([HEADGATE, 'top', '--interval', '1', *arguments],
                                        stdin=slave, stdout=slave, stderr=slave,
                                        preexec_fn=own_terminal)
        self.text = ''

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def until(self, pattern, begin=0):
        """Waits until `pattern` is found in its output, from position `begin` on."""
        while not (match := re.compile(pattern, re.S).search(self.text, begin)):
            ready, _, _ = select.select([self.master], [], [], PATIENCE)
            assert ready, (pattern, self.text[begin:])
            try:
                more = os.read(self.master, 65536)
            except OSError:
                more = b''
            assert more, (pattern, self.text[begin:])
            self.text += more.decode()
        return match

    def press(self, keys):
        os.write(self.master, keys)

    def end(self):
        """Its exit status. The terminal has to have its old settings."""
        status = self.process.wait(PATIENCE)
        self.until(r'\x1b\[\?25h\x1b\[\?1049l')
        assert termios.tcgetattr(self.slave) == self.before
        return status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def screen():
    opened = []

    def start(*arguments, **options):
        opened.append(Screen(*arguments, **options))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_without_a_terminal_it_is_one_look(serve):
    server = serve(POLICIES)
    decide(server, '10.0.0.2', 5)
    done = run('--url', url(server))
    assert (done.returncode, done.stderr) == (0, '')
    assert '\x1b' not in done.stdout
    lines = done.stdout.splitlines()
    assert re.match(r'requests [\d.]+/s   denied [\d.]+/s \(60\.0 %\)$', lines[0])
    assert re.search(r'\nBusiest\n +/s +units/s +policy +key\n +[\d.]+ +[\d.]+ +burst +10\.0\.0\.2\n',
                     done.stdout)
    assert re.search(r'\nMost denied\n +/s +shadow +policy +key\n +[\d.]+ +0 +burst +10\.0\.0\.2\n',
                     done.stdout)


def test_n_limits_the_lists(serve):
    server = serve(POLICIES)
    for key in ('one', 'two', 'three'):
        decide(server, key, 1)
    output = run('--url', url(server), '-n', '2').stdout
    assert sum(key in output for key in ('one', 'two', 'three')) == 2
    assert run('--url', url(server), '-n', '0').returncode == 2


SEVERAL = '''
version: 1
partition-key: plain
policies:
  - {name: burst, quota: 2, window: 1h}
  - {name: all, quota: 100, window: 1h, key: []}
  - {name: users, quota: 100, window: 1h, key: ["header:x-user"]}
'''


def test_policies_are_selected(serve):
    server = serve(SEVERAL)
    request(server.port, '/auth')
    every = run('--url', url(server)).stdout
    assert re.search(r' burst +127\.0\.0\.1\n', every)
    assert re.search(r' all +\(everyone\)\n', every) and re.search(r' users +\(no key\)\n', every)
    two = run('--url', url(server), '--policy', 'burst', '--policy', 'users', '-n', '1').stdout
    assert 'Busiest of burst, users\n' in two
    assert two.count('127.0.0.1') + two.count('(no key)') == 1 and '(everyone)' not in two
    unknown = run('--url', url(server), '--policy', 'brust')
    assert (unknown.returncode, unknown.stdout) == (1, '')
    assert unknown.stderr == (f"headgate: {url(server)}: has no policy 'brust'; "
                              'expected --policy with one of its 3\n')


def test_60_columns_are_enough(serve, screen):
    server = serve(POLICIES.replace('plain', 'opaque'))
    decide(server, '10.0.0.2', 5)
    shown = screen('--url', url(server), size=(24, 60))
    shown.until(r'burst +:[\w+/]{22}==:')
    shown.press(b'q')
    assert shown.end() == 0


@pytest.mark.parametrize('leave', [b'q', b'\x03', signal.SIGTERM, signal.SIGINT])
def test_it_is_live_and_leaves_the_terminal_as_it_was(serve, screen, leave):
    server = serve(POLICIES)
    decide(server, 'early', 3)
    shown = screen('--url', url(server))
    shown.until(r'\x1b\[\?1049h.*headgate top  http://127\.0\.0\.1:\d+.*early')
    decide(server, 'late', 3)
    shown.until('late')
    if isinstance(leave, bytes):
        shown.press(leave)
    else:
        shown.process.send_signal(leave)
    assert shown.end() == 0


def test_it_follows_the_size_of_the_terminal(serve, screen):
    server = serve(POLICIES)
    decide(server, 'k' * 100, 3)
    shown = screen('--url', url(server), size=(24, 60))
    shown.until('k~')
    place = len(shown.text)
    shown.resize(40, 300)
    shown.until('k{100}', place)
    place = len(shown.text)
    shown.resize(3, 20)
    frame = shown.until(r'\x1b\[H(?:(?!\x1b\[H).)*\x1b\[J', place)[0]
    while 'k{20}' in frame or frame.count('\r\n') > 2:
        frame = shown.until(r'\x1b\[H(?:(?!\x1b\[H).)*\x1b\[J', place + len(frame))[0]
    for line in re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', frame).splitlines():
        assert len(line.rstrip('\r')) <= 20
    shown.press(b'q')
    assert shown.end() == 0


def test_a_server_that_goes_away_is_reported_and_may_come_back(serve, screen):
    doors = {'http': f'127.0.0.1:{free_port()}'}
    server = serve(POLICIES, doors=doors)
    decide(server, 'someone', 3)
    shown = screen('--url', url(server))
    shown.until('someone')
    server.stop()
    shown.until('! http://127.0.0.1:.*nothing listens')
    place = len(shown.text)
    again = serve(POLICIES, doors=doors)
    decide(again, 'newcomer', 3)
    shown.until('newcomer', place)
    shown.press(b'q')
    assert shown.end() == 0


def test_nobody_there():
    with socket.socket() as taken:  # the port is nobody else's, and nobody listens
        taken.bind(('127.0.0.1', 0))
        address = f'http://127.0.0.1:{taken.getsockname()[1]}'
        done = run('--url', address)
    assert done.returncode == 1
    assert done.stderr == f'headgate: {address}: nothing listens there{EXPECTED}'


def test_the_token(serve, tmp_path):
    secret = tmp_path / 'token'
    secret.write_text('correct-horse-battery\n')
    server = serve(POLICIES, arguments=('--token-file', secret))
    done = run('--url', url(server))
    assert (done.returncode, done.stdout) == (1, '')
    assert 'the server wants its token; expected --token-file FILE with it' in done.stderr
    assert run('--url', url(server), '--token-file', str(secret)).returncode == 0
    assert run('--url', url(server), '--token-file', str(tmp_path / 'none')).returncode == 1


def test_a_unix_socket(serve, tmp_path):
    serve(POLICIES, doors={'http': f'unix:{tmp_path}/http'})
    assert run('--url', f'unix:{tmp_path}/http').returncode == 0


@pytest.mark.parametrize('answer, complaint', [
    (b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n', 'answered with status 404'),
    (b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}', 'not what headgate answers'),
    (b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x1b[2J', 'not what headgate answers'),
    (b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>Hi</html>',
     f'not what headgate answers{EXPECTED}'),
    (b'HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{"keys": ["plain"]}',
     f'not what headgate answers{EXPECTED}'),
    (b'HTTP/1.1 200 OK\r\nContent-Length: 39999999\r\n\r\n' + b'x' * 39999999, 'too long'),
    (b'\x1b]0;gotcha\x07', ''),
], ids=['absent', 'empty', 'garbage', 'a page', 'other JSON', 'endless', 'not HTTP'])
def test_whoever_else_answers(answer, complaint):

    with socket.create_server(('127.0.0.1', 0)) as listener:
        def serve_one():
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                try:
                    connection.sendall(answer)
                except OSError:
                    pass
        threading.Thread(target=serve_one, daemon=True).start()
        done = run('--url', f'http://127.0.0.1:{listener.getsockname()[1]}')
    assert done.returncode == 1
    assert complaint in done.stderr
    assert '\x1b' not in done.stderr and '\x1b' not in done.stdout
