"""The RESP door, byte for byte."""
import contextlib
import pathlib
import resource
import signal
import socket
import struct

import pytest

from support.environment import PATIENCE
from support.resp import Client, Error, encode

POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 10, window: 10s}
  - {name: slots, algorithm: concurrency, quota: 2}
  - {name: shadowed, quota: 1, window: 1h, mode: shadow}
  - {name: closed, quota: 0, window: 1s}
  - {name: open, quota: 1, window: 1s, mode: off}
'''
RESP = {'resp': '127.0.0.1:0'}


@pytest.fixture
def server(serve):
    return serve(POLICIES, doors=RESP)


@pytest.fixture
def client(server):
    with Client(server.ports['resp']) as client:
        yield client


# ---- CL.THROTTLE and THROTTLE

def test_throttle_as_redis_cell(client):
    assert client.command('CL.THROTTLE', 'user123', 15, 30, 60) == [0, 16, 15, -1, 2]
    assert client.command('cl.throttle', 'k', 0, 1, 100) == [0, 1, 0, -1, 100]
    assert client.command('CL.THROTTLE', 'k', 0, 1, 100) == [1, 1, 0, 100, 100]
    assert client.command('CL.THROTTLE', 'k', 0, 1, 100, 0) == [0, 1, 0, -1, 100]
    assert client.command('CL.THROTTLE', 'k', 0, 1, 100, 2) == [1, 1, 0, -1, 100]


def test_a_full_debt_is_one_at_every_rate(client):
    assert client.command('CL.THROTTLE', 'd', 999999, 1, 13000, 1000000)[:3] == [0, 1000000, 0]
    assert client.command('CL.THROTTLE', 'd', 4, 7, 1) == [1, 5, 0, 1, 1]


def test_throttle_as_throttlecrab(client):
    assert client.command('THROTTLE', 'c', 2, 1, 100) == [1, 2, 1, 100, 0]
    assert client.command('THROTTLE', 'c', 2, 1, 100) == [1, 2, 0, 200, 0]
    assert client.command('THROTTLE', 'c', 2, 1, 100) == [0, 2, 0, 200, 100]


def test_both_dialects_share_a_keys_bucket(client):
    assert client.command('THROTTLE', 'shared', 2, 1, 100) == [1, 2, 1, 100, 0]
    assert client.command('CL.THROTTLE', 'shared', 1, 1, 100) == [0, 2, 0, -1, 200]


def test_throttle_keys_are_no_policys_keys(client):
    for key in ('burst', '\x05burst', '\x05burst\x01a'):
        client.command('CL.THROTTLE', key, 9, 1, 1000, 10)
    assert client.command('HG.PEEK', 'burst', 'a')[2] == 10


def test_throttle_says_what_is_wrong(client):
    for words, error in (
            (('k', 'x', 1, 1), "ERR Couldn't parse as integer: x"),
            (('k', 1, 0, 1), 'ERR Zero rates are not supported'),
            (('k', 1, 1), "ERR wrong number of arguments for 'cl.throttle' command"),
            (('k', 1, 1, 1, 1, 1), "ERR wrong number of arguments for 'cl.throttle' command")):
        reply = client.command('CL.THROTTLE', *words)
        assert isinstance(reply, Error) and reply == error
    assert client.command('PING') == 'PONG'


# ---- HG.*

def test_policies_by_name(client):
    assert client.command('HG.PEEK', 'burst', 'a')[:3] == [1, 10, 10]
    assert client.command('HG.DECIDE', 'burst', 'a')[:3] == [1, 10, 9]
    assert client.command('HG.DECIDE', 'burst', 'a', 9)[:3] == [1, 10, 0]
    admitted, q, r, reset, wait = client.command('HG.DECIDE', 'burst', 'a', 5)
    assert (admitted, q, r, reset) == (0, 10, 0, 5000) and 4000 < wait <= 5000
    assert client.command('HG.PEEK', 'burst', 'a', 5)[0] == 0
    assert client.command('HG.REFUND', 'burst', 'a', 5)[:3] == [1, 10, 5]
    assert client.command('HG.DECIDE', 'burst', 'a', 11) == [0, 10, 5, -1, -1]
    assert client.command('HG.DECIDE', 'burst', 'b')[:3] == [1, 10, 9]


def test_policies_of_other_kinds(client):
    assert client.command('HG.DECIDE', 'slots', 'a')[:3] == [1, 2, 1]
    assert client.command('HG.DECIDE', 'slots', 'a')[:3] == [1, 2, 0]
    assert client.command('HG.DECIDE', 'slots', 'a') == [0, 2, 0, -1, -1]
    assert client.command('HG.REFUND', 'slots', 'a')[:3] == [1, 2, 1]
    for _ in range(3):
        assert client.command('HG.DECIDE', 'shadowed', 'a')[0] == 1
    assert client.command('HG.DECIDE', 'closed', 'a')[:3] == [0, 0, 0]
    assert client.command('HG.DECIDE', 'open', 'a') == [1, -1, -1, -1, 0]


def test_policies_say_what_is_wrong(client):
    assert client.command('HG.DECIDE', 'nope', 'a') == 'ERR no policy is named "nope"'
    assert client.command('HG.DECIDE', 'burst', 'a', -1).startswith('ERR cost must be an integer')
    assert client.command('HG.DECIDE', 'burst') == \
        "ERR wrong number of arguments for 'hg.decide' command"


def test_reload(server, client):
    assert client.command('HG.DECIDE', 'burst', 'a')[1] == 10
    assert 'in force' in server.reload(POLICIES.replace('quota: 10', 'quota: 20'))
    assert client.command('HG.DECIDE', 'burst', 'a')[1] == 20


# ---- pipelines

def test_replies_come_in_the_order_of_commands(client):
    """Batches of equal and other keys, other limits, and other commands in between."""
    requests, expected = [], []
    for i in range(200):
        key = f'key{i % 7}'
        requests.append(encode('CL.THROTTLE', key, 29, 1, 1000))
        expected.append([0, 30, 29 - i // 7, -1, 1000 * (i // 7 + 1)])
        if i % 5 == 0:
            requests.append(encode('ECHO', i))
            expected.append(str(i))
        if i % 31 == 0:
            requests.append(encode('CL.THROTTLE', 'other', 1000 + i, 1, 1))
            expected.append([0, 1001 + i, 1000 + i - i // 31, -1, i // 31 + 1])
        if i % 37 == 0:
            requests.append(encode('CL.THROTTLE', 'other', 'x', 1, 1))
            expected.append("ERR Couldn't parse as integer: x")
    client.send(b''.join(requests))
    assert [client.reply() for _ in expected] == expected


def test_one_key_many_times_in_one_batch(client):
    client.send(encode('CL.THROTTLE', 'same', 19, 1, 1000) * 40)
    replies = [client.reply() for _ in range(40)]
    assert [r[2] for r in replies] == [*range(19, -1, -1)] + [0] * 20
    assert [r[0] for r in replies] == [0] * 20 + [1] * 20


def test_byte_by_byte(client):
    for byte in encode('CL.THROTTLE', 'slow', 15, 30, 60) + b'PING\r\n':
        client.send(bytes([byte]))
    assert [client.reply(), client.reply()] == [[0, 16, 15, -1, 2], 'PONG']


def test_deep_pipeline(client):
    """More than any buffer holds, in pieces that end in the middle of commands."""
    count = 20_000
    sent = encode('CL.THROTTLE', 'deep', count - 1, 1, 1000) * count
    client.socket.setblocking(False)
    replies = b''
    while replies.count(b'*5') < count:
        with contextlib.suppress(BlockingIOError):
            if sent:
                sent = sent[client.socket.send(sent[:70_001]):]
        with contextlib.suppress(BlockingIOError):
            replies += client.socket.recv(1 << 20)
    assert replies.count(b'*5\r\n:0\r\n') == count
    assert f'*5\r\n:0\r\n:{count}\r\n:0\r\n:-1\r\n'.encode() in replies[-100:]


# ---- what clients send on their own

def test_hello_and_versions(client):
    hello = client.command('HELLO')
    assert hello[:2] == ['server', 'headgate'] and hello[4:6] == ['proto', 2]
    hello = client.command('HELLO', 3, 'SETNAME', 'me')
    assert hello['proto'] == 3 and hello['role'] == 'master'
    assert client.command('CLIENT', 'GETNAME') == 'me'
    assert client.command('CONFIG', 'GET', 'save', 'nothing') == {'save': ''}
    assert client.command('CL.THROTTLE', 'k', 15, 30, 60) == [0, 16, 15, -1, 2]
    assert client.command('HELLO', 4) == 'NOPROTO unsupported protocol version'
    assert client.command('HELLO', 3, 'NONSENSE').startswith('ERR Syntax error in HELLO')
    assert client.command('RESET') == 'RESET'
    assert client.command('CLIENT', 'GETNAME') is None
    assert client.command('CONFIG', 'GET', 'save') == ['save', '']


def test_manners(client):
    assert client.command('PING') == 'PONG'
    assert client.command('ping', 'a b') == 'a b'
    assert client.command('ECHO', 'a\r\nb') == 'a\r\nb'
    assert client.command('SELECT', 0) == 'OK'
    assert client.command('SELECT', 1) == 'ERR DB index is out of range'
    assert client.command('CLIENT', 'SETINFO', 'LIB-NAME', 'test') == 'OK'
    assert client.command('CLIENT', 'SETNAME', 'a b').startswith('ERR Client names cannot')
    assert client.command('CLIENT', 'ID') > 0
    info = client.command('INFO')
    assert 'loading:0' in info and 'policies:' not in info
    info = client.command('INFO', 'headgate')
    assert 'policies:5' in info and 'redis_version' not in info
    assert client.command('CONFIG', 'SET', 'save', '').startswith('ERR headgate is configured by')
    assert client.command('QUIT') == 'OK'
    assert client.ended()


def test_commands_about_commands(client):
    count = client.command('COMMAND', 'COUNT')
    all_of_them = client.command('COMMAND')
    assert len(all_of_them) == count == len(client.command('COMMAND', 'LIST'))
    assert ['cl.throttle', -5, ['fast', 'write'], 1, 1, 1, [], [], [], []] in all_of_them
    assert client.command('COMMAND', 'INFO', 'GET', 'hg.peek') == \
        [None, ['hg.peek', -3, ['fast'], 2, 2, 1, [], [], [], []]]
    client.command('HELLO', 3)
    docs = client.command('COMMAND', 'DOCS')
    assert len(docs) == count
    assert [a['name'] for a in docs['throttle']['arguments']] == \
        ['key', 'max_burst', 'count', 'period', 'quantity']
    assert client.command('COMMAND', 'DOCS', 'GET') == {}


def test_unknown_commands_as_redis_words_them(client):
    assert client.command('GET', 'a', 'b\r\nc') == \
        "ERR unknown command 'GET', with args beginning with: 'a' 'b  c' "
    assert client.command('ECHO') == "ERR wrong number of arguments for 'echo' command"


def test_inline_commands(client):
    client.send(b'PING\r\n\r\n  ping "a\\x20b" \nCL.THROTTLE \'in line\' 15 30 60\r\n')
    assert [client.reply() for _ in range(3)] == ['PONG', 'a b', [0, 16, 15, -1, 2]]


# ---- AUTH

def test_token(serve, tmp_path):
    (tmp_path / 'token').write_text('correct horse battery'.replace(' ', '-') + '\n')
    server = serve(POLICIES, doors=RESP, arguments=('--token-file', tmp_path / 'token'))
    token = 'correct-horse-battery'
    with Client(server.ports['resp']) as client:
        for words in (('PING',), ('CL.THROTTLE', 'k', 1, 1, 1), ('HG.DECIDE', 'burst', 'a'),
                      ('GET', 'a'), ('CONFIG', 'GET', '*')):
            assert client.command(*words) == 'NOAUTH Authentication required.'
        assert client.command('HELLO', 3).startswith('NOAUTH HELLO must be called with')
        for words in ((token[:-1],), (token + 'x',), ('',), ('someone', token)):
            assert client.command('AUTH', *words).startswith('WRONGPASS ')
        assert client.command('PING') == 'NOAUTH Authentication required.'
        assert client.command('AUTH', token) == 'OK'
        assert client.command('PING') == 'PONG'
        client.command('RESET')
        assert client.command('PING') == 'NOAUTH Authentication required.'
        assert client.command('AUTH', 'default', token) == 'OK'
    with Client(server.ports['resp']) as client:
        assert client.command('HELLO', 3, 'AUTH', 'default', 'wrong').startswith('WRONGPASS ')
        assert client.command('HELLO', 3, 'AUTH', 'default', token)['proto'] == 3
        assert client.command('PING') == 'PONG'


def test_no_token(client):
    assert 'called without any password configured' in client.command('AUTH', 'x')


# ---- bad input

@pytest.mark.parametrize('raw, error', [
    (b'*2\r\n$4\r\nECHO\r\n$1073741824\r\n', 'invalid bulk length'),
    (b'*1000000\r\n', 'invalid multibulk length'),
    (b'*1\r\n+PING\r\n', "expected '$', got '+'"),
    (b'ECHO "a\r\n', 'unbalanced quotes in request'),
    (b'x' * 70_000, 'too big inline request'),
    (b'\x16\x03\x01\x02\0\x01\r\nPING\r\n', "expected '*' or a word"),  # TLS
    (b'\0\x03\0\x08\x21\x12\xa4\x42\r\nPING\r\n', "expected '*' or a word"),  # STUN
])
def test_protocol_errors(client, raw, error):
    client.send(b'PING\r\n' + raw)
    assert client.reply() == 'PONG'
    assert client.reply() == f'ERR Protocol error: {error}'
    assert client.ended()


@pytest.mark.parametrize('raw', [
    b'POST / HTTP/1.1\r\nHost: a\r\n\r\nCL.THROTTLE k 0 1 1000\r\n',
    b'Host: a\r\n\r\nCL.THROTTLE k 0 1 1000\r\n',
])
def test_http_is_not_answered(server, client, raw):
    client.send(raw)
    assert client.ended()
    with Client(server.ports['resp']) as other:
        assert other.command('CL.THROTTLE', 'k', 0, 1, 1000, 0)[2] == 1


def test_garbage(server):
    noise = bytes((i * i * 31 + i // 7) % 256 for i in range(100_000))
    for cut in (1, 10, 1000, 99_999):
        with Client(server.ports['resp']) as client, contextlib.suppress(OSError):
            client.send(noise[cut:])
            client.socket.shutdown(socket.SHUT_WR)
            while client.socket.recv(1 << 16):
                pass
    with Client(server.ports['resp']) as client:
        assert client.command('PING') == 'PONG'


def resident(server):
    """Memory in use [bytes]; 0 where AddressSanitizer keeps what was freed."""
    if 'libasan' in pathlib.Path(f'/proc/{server.process.pid}/maps').read_text():
        return 0
    for line in pathlib.Path(f'/proc/{server.process.pid}/status').read_text().splitlines():
        if line.startswith('VmRSS:'):
            return int(line.split()[1]) * 1024
    raise AssertionError


def test_a_client_that_does_not_read(server):
    """The server stops reading from a client that does not read; other clients are not affected."""
    with Client(server.ports['resp']) as deaf, Client(server.ports['resp']) as other:
        other.command('PING')
        before = resident(server)
        request = encode('COMMAND', 'DOCS') * 1000
        deaf.socket.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 100 << 20:
                sent += deaf.socket.send(request)
        assert other.command('CL.THROTTLE', 'k', 15, 30, 60) == [0, 16, 15, -1, 2]
        assert resident(server) - before < 8 << 20
        # It gets every reply once it reads.
        deaf.socket.settimeout(30)
        whole = sent // len(encode('COMMAND', 'DOCS'))
        assert all(len(deaf.reply()) > 10 for _ in range(min(whole, 2000)))


def test_ten_thousand_connections(serve):
    """Each has sent half of a command; all of them are answered."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    count = min(10_000, files[1] - 500)
    server = serve(POLICIES, doors=RESP)
    before = resident(server)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server.ports['resp'])) for _ in range(count)]
        for client in clients:
            client.send(b'*1\r\n$4\r\nPI')
        for client in clients:
            client.send(b'NG\r\n')
        assert {client.reply() for client in clients} == {'PONG'}
        assert resident(server) - before < count * 6144
        for client in clients:  # otherwise their ports are in use for another minute, and other tests have none
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, files)


def test_half_closed_and_reset_connections(server):
    port = server.ports['resp']
    for _ in range(20):
        client = Client(port)
        client.send(encode('PING') * 1000)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        client.close()
    with Client(port) as client:
        client.send(b'*1\r\n$4\r\nPING\r\n*1\r\n$4')
        client.socket.shutdown(socket.SHUT_WR)
        assert client.reply() == 'PONG'
        assert client.ended()


# ---- life

def test_unix_socket(serve, tmp_path):
    server = serve(POLICIES, doors={'resp': f'unix:{tmp_path}/headgate.sock'})
    with Client(server.addresses['resp']) as client:
        assert client.command('CL.THROTTLE', 'k', 15, 30, 60) == [0, 16, 15, -1, 2]


def test_stop_closes_connections_and_finishes_commands(server):
    with Client(server.ports['resp']) as idle, Client(server.ports['resp']) as busy:
        assert idle.command('PING') == 'PONG'
        busy.send(b'PING\r\n*1\r\n$4\r\nPI')
        assert busy.reply() == 'PONG'
        server.process.send_signal(signal.SIGTERM)
        assert idle.ended()
        busy.send(b'NG\r\n')
        assert busy.reply() == 'PONG'
        assert busy.ended()
    assert server.process.wait(PATIENCE) == 0


def test_quotas_outlive_a_killed_server(serve, tmp_path):
    policies = f'store: {{table: {{memory: 1MiB, file: {tmp_path}/table}}}}\n' + POLICIES.lstrip()
    server = serve(policies, doors=RESP)
    with Client(server.ports['resp']) as client:
        assert client.command('CL.THROTTLE', 'k', 0, 1, 10000)[0] == 0
    server.kill()
    server = serve(policies, doors=RESP)
    with Client(server.ports['resp']) as client:
        assert client.command('CL.THROTTLE', 'k', 0, 1, 10000)[0] == 1
