"""The maximums and time-outs of every door, as options set them."""
import contextlib
import re
import socket
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE
from support.frames import HEADERS, PREFACE, frame, settings
from support.http_client import Connection
from support.spoe import hello

GET = b'GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n'
DOORS = {door: '127.0.0.1:0' for door in ('http', 'resp', 'grpc', 'spoe')}
# What a client has to send to receive bytes.
TO_SEND = {'resp': b'PING\r\n', 'grpc': PREFACE + settings()}
REFUSAL = {'http': b'HTTP/1.1 503 ', 'resp': b'-ERR max number of clients reached\r\n', 'grpc': b''}


@pytest.fixture
def connect():
    with contextlib.ExitStack() as stack:
        def start(server, door, source='127.0.0.1'):
            address = server.addresses[door]
            if address.startswith('unix:'):
                client = socket.socket(socket.AF_UNIX)
                client.settimeout(PATIENCE)
                client.connect(address.removeprefix('unix:'))
            else:
                client = socket.create_connection(('127.0.0.1', server.ports[door]), PATIENCE, (source, 0))
            return stack.enter_context(client)
        yield start


def receive(connection):
    try:
        return connection.recv(4096)
    except ConnectionResetError:
        return b''


def metrics(server, door):
    """How many connections of that door are open, were accepted, were refused."""
    connection = Connection(socket.create_connection(('127.0.0.1', server.port), PATIENCE))
    with connection:
        connection.send(GET)
        text = connection.receive().body.decode()
    return [int(re.search(rf'^headgate_{name}{{door="{door}"}} (\d+)$', text, re.M)[1])
            for name in ('open_connections', 'accepted_connections_total',
                         'refused_connections_total')]


@pytest.mark.parametrize('kind', ['tcp', 'unix'])
@pytest.mark.parametrize('door', ['resp', 'grpc'])
def test_connections_are_counted_and_bounded(serve, connect, door, kind, tmp_path):
    at = '127.0.0.1:0' if kind == 'tcp' else f'unix:{tmp_path}/{door}.sock'
    server = serve(doors={'http': '127.0.0.1:0', door: at},
                   arguments=('--threads', '1', '--max-connections', '2'))
    first, second = connect(server, door), connect(server, door)
    for connection in (first, second):
        connection.sendall(TO_SEND[door])
        assert receive(connection)
    assert metrics(server, door) == [2, 2, 0]
    assert receive(connect(server, door)) == REFUSAL[door]
    assert metrics(server, door) == [2, 2, 1]
    first.close()
    while metrics(server, door)[0] != 1:
        pass
    third = connect(server, door)
    third.sendall(TO_SEND[door])
    assert receive(third)
    assert metrics(server, door) == [2, 3, 1]


def test_http_connections_are_bounded(serve, connect):
    server = serve(arguments=('--threads', '1', '--max-connections', '1'))
    first = connect(server, 'http')
    first.sendall(GET)
    assert receive(first).startswith(b'HTTP/1.1 200 ')
    assert receive(connect(server, 'http')).startswith(REFUSAL['http'])


@pytest.mark.parametrize('door', DOORS)
def test_an_idle_connection_is_closed(serve, connect, door):
    server = serve(doors={door: '127.0.0.1:0'}, arguments=('--idle-timeout', '1'))
    silent = connect(server, door)
    if door == 'grpc':
        silent.sendall(PREFACE + settings())
    while receive(silent):
        pass


@pytest.mark.parametrize('door, half', [('http', b'GET / HT'), ('resp', b'*2\r\n$4\r\nEC'),
                                        ('grpc', b''), ('grpc', b'PRI * HT'),
                                        ('grpc', PREFACE + frame(HEADERS, 0, 1)),
                                        ('spoe', b''), ('spoe', hello()[:9]),
                                        ('spoe', hello() + hello()[:9])])
def test_a_connection_with_half_a_request_is_closed(serve, connect, door, half):
    server = serve(doors={door: '127.0.0.1:0'}, arguments=('--request-timeout', '1'))
    slow = connect(server, door)
    slow.sendall(half)
    while receive(slow):
        pass


def test_a_stranger_has_no_idle_time(serve, connect, tmp_path):
    (tmp_path / 'token').write_text('correct-horse-battery')
    server = serve(doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'},
                   arguments=('--request-timeout', '1', '--token-file', tmp_path / 'token'))
    for door in server.addresses:
        assert receive(connect(server, door)) == b''


@pytest.mark.parametrize('door, shows_token', [
    ('http', b'GET /v1/overrides HTTP/1.1\r\nHost: h\r\nX-Headgate-Token: correct-horse-battery\r\n\r\n'),
    ('resp', b'AUTH correct-horse-battery\r\n')])
def test_strangers_lock_nobody_out(serve, connect, tmp_path, door, shows_token):
    (tmp_path / 'token').write_text('correct-horse-battery')
    server = serve(doors={door: '127.0.0.1:0'},
                   arguments=('--threads', '1', '--max-connections', '40',
                              '--token-file', tmp_path / 'token'))

    def trusted(connection):
        connection.sendall(shows_token)
        return receive(connection).startswith((b'HTTP/1.1 200', b'+OK'))
    first = connect(server, door)
    assert trusted(first)
    # On their way to show the token; one address in 256 counts as one with that of the flood.
    others = [connect(server, door, f'127.0.0.{n}') for n in (2, 3)]
    strangers = [connect(server, door) for _ in range(30)]
    second = connect(server, door)
    assert trusted(second) and trusted(first) and trusted(second)
    assert any([trusted(other) for other in others])
    assert receive(strangers[0]) == b''


@pytest.mark.parametrize('option', ['--idle-timeout', '--request-timeout', '--max-connections'])
@pytest.mark.parametrize('value', ['0', '-1', '1x', '99999999'])
def test_limits_that_make_no_sense(tmp_path, option, value):
    done = subprocess.run([HEADGATE, 'serve', '--config', tmp_path / 'none', '--http', '127.0.0.1:0',
                           f'{option}={value}'], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert option in done.stderr


def test_no_listener_uses_up_the_open_files_of_the_others(serve, connect):
    """Each connection is an open file, and the system limits their number."""
    server = serve(doors={'http': '127.0.0.1:0', 'grpc': '127.0.0.1:0'},
                   arguments=('--threads', '1'), prefix=('prlimit', '--nofile=116'))
    assert any('32 connections at each listener and thread instead of 20000' in line
               for line in server.seen)
    for _ in range(60):
        client = connect(server, 'grpc')
        with contextlib.suppress(OSError):  # of a refused connection
            client.sendall(TO_SEND['grpc'])
        receive(client)
    assert metrics(server, 'grpc') == [32, 32, 28]


@pytest.mark.parametrize('token, words', [(None, 'No such file'), ('', 'is empty'),
                                          ('short', 'at least 16 characters')])
def test_a_token_that_is_none(tmp_path, token, words):
    file = tmp_path / 'token'
    if token is not None:
        file.write_text(token)
    done = subprocess.run([HEADGATE, 'serve', '--config', tmp_path / 'none', '--http', '127.0.0.1:0',
                           '--token-file', file], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert done.stderr.startswith(f'headgate: {file}: ') and words in done.stderr
