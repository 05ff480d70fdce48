"""The tokens of the decision server: wrong ones, other ones, and who may do what."""
import contextlib
import re
import select
import signal
import socket
import subprocess
import time

import pytest

from support.environment import HEADGATE, PATIENCE
from support.frames import RATE_LIMIT, Http2
from support.grpc_door import REQUEST
from support.http_client import Connection, request
from support.resp import Client

TOKEN = 'correct-horse-battery'
OTHER = 'another-horse-battery'
READ = 'may-look-but-not-touch'
DOORS = {'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'}
BODY = '{"checks": [{"policy": "burst"}]}'


def bearer(token):
    return {'Authorization': f'Bearer {token}'}


def secret(file, text, mode=0o600):
    file.write_text(text + '\n')
    file.chmod(mode)
    return file


@pytest.fixture
def files(tmp_path):
    return secret(tmp_path / 'token', TOKEN), secret(tmp_path / 'read', READ)


@pytest.fixture
def guarded(serve, files):
    return serve(doors=DOORS, arguments=('--threads', '1', '--token-file', files[0],
                                         '--read-token-file', files[1]))


def decides(server, token):
    return request(server.port, '/v1/decide', 'POST', BODY, headers=bearer(token)).status


def metric(server, name, token=TOKEN):
    text = request(server.port, '/metrics', headers=bearer(token)).text
    return int(re.search(rf'^{re.escape(name)} (\d+)$', text, re.M)[1])


def wrong_tokens(server):
    return {door: metric(server, f'headgate_wrong_tokens_total{{door="{door}"}}') for door in DOORS}


def test_a_wrong_token_is_answered_late_and_delays_nobody_else(guarded):
    with Client(guarded.ports['resp']) as guesser, Client(guarded.ports['resp']) as good:
        began = time.monotonic()
        guesser.send(b'AUTH wrong-wrong-wrong\r\nPING\r\n')
        assert good.command('AUTH', TOKEN) == 'OK'
        assert decides(guarded, TOKEN) == 200
        assert guesser.reply().startswith('WRONGPASS ')
        assert time.monotonic() - began >= 0.1
        assert guesser.reply().startswith('NOAUTH ')
    with Connection(guarded.port) as guesser:
        began = time.monotonic()
        for nth in range(1, 4):
            assert guesser.request('/metrics', headers=[('Authorization', 'Bearer wrong')]).status == 401
        assert time.monotonic() - began >= 0.1 + 0.2 + 0.3
        assert guesser.request('/metrics', headers=[*bearer(TOKEN).items()]).status == 200
    assert wrong_tokens(guarded) == {'http': 3, 'resp': 1}
    guarded.until(r'warning \d wrong tokens?, the last from 127\.0\.0\.1')


def test_guesses_end(guarded):
    """However many are sent at once, the connection ends after the tenth."""
    with Client(guarded.ports['resp']) as guesser, Connection(guarded.port) as other:
        guesser.send(b'AUTH wrong-wrong-wrong\r\n' * 1000)
        other.send(b'GET /metrics HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer wrong\r\n\r\n' * 1000)
        for _ in range(10):
            assert guesser.reply().startswith('WRONGPASS ')
        assert guesser.ended()
        answers = [other.receive() for _ in range(10)]
        assert {answer.status for answer in answers} == {401}
        assert answers[-1].one('Connection') == 'close'
        assert other.socket.recv(1) == b''
    assert wrong_tokens(guarded) == {'http': 10, 'resp': 10}


def test_little_is_kept_for_a_client_without_the_token(guarded):
    begin = b'*2\r\n$4\r\nECHO\r\n$60000\r\n' + b'x' * 30000
    with Client(guarded.ports['resp']) as client:
        client.send(begin)
        assert client.reply() == 'ERR Protocol error: unauthenticated bulk length'
        assert client.ended()
    with Client(guarded.ports['resp']) as client:
        assert client.command('AUTH', TOKEN) == 'OK'
        client.send(begin)
        client.send(b'x' * 30000 + b'\r\n')
        assert client.reply() == 'x' * 60000


def test_a_missing_token_is_no_guess(guarded):
    with Connection(guarded.port) as connection:
        for _ in range(20):
            assert connection.request('/metrics').status == 401
    assert wrong_tokens(guarded) == {'http': 0, 'resp': 0}


def test_refused_tokens_are_counted(guarded, files):
    token_file, _ = files
    secret(token_file, 'short')
    for count in (1, 2):
        guarded.process.send_signal(signal.SIGHUP)
        guarded.until('the tokens and certificates before it stay in force')
        guarded.until('is in force now')  # the policy file is read all the same
        assert metric(guarded, 'headgate_refused_reloads_total') == count
    assert metric(guarded, 'headgate_reloads_total') == 2
    secret(token_file, OTHER)
    guarded.reload('version: 2\n')  # nothing but the policy file is refused
    assert metric(guarded, 'headgate_refused_reloads_total', OTHER) == 3


def test_another_token_is_in_force_after_sighup(guarded, files):
    token_file, _ = files
    with Client(guarded.ports['resp']) as client:
        assert client.command('AUTH', TOKEN) == 'OK'
        secret(token_file, 'short')
        guarded.process.send_signal(signal.SIGHUP)
        guarded.until(r'error.* at least 16 characters')
        guarded.until('the tokens and certificates before it stay in force')
        assert decides(guarded, TOKEN) == 200
        assert client.command('PING') == 'PONG'

        secret(token_file, OTHER)
        guarded.process.send_signal(signal.SIGHUP)
        guarded.until('tokens and certificates were read again')
        assert decides(guarded, OTHER) == 200
        assert decides(guarded, TOKEN) == 401
        # Connections that have shown the token before have to show the other one now.
        assert client.command('PING').startswith('NOAUTH ')
        assert client.ended()
    with Client(guarded.ports['resp']) as client:
        assert client.command('AUTH', OTHER) == 'OK'


def test_the_same_token_after_sighup(guarded):
    with Client(guarded.ports['resp']) as client:
        assert client.command('AUTH', TOKEN) == 'OK'
        guarded.process.send_signal(signal.SIGHUP)
        guarded.until('tokens and certificates were read again')
        assert client.command('PING') == 'PONG'


def test_connections_that_have_shown_a_replaced_token_lock_out_nobody(serve, files):
    """Also if they are used: /healthz needs no token."""
    most = 8
    server = serve(doors={**DOORS, 'grpc': '127.0.0.1:0'}, arguments=(
        '--threads', '1', '--max-connections', most, '--token-file', files[0]))
    with contextlib.ExitStack() as connections:
        def known_over_http(token):
            client = connections.enter_context(Connection(server.port))
            answer = client.request('/v1/decide', 'POST', [*bearer(token).items()], BODY.encode())
            assert answer.status == 200
            return client

        def known_over_resp(token):
            client = connections.enter_context(Client(server.ports['resp']))
            assert client.command('AUTH', token) == 'OK'

        def known_over_grpc(token):
            client = connections.enter_context(Http2(server.addresses['grpc']))
            assert client.call(RATE_LIMIT, REQUEST, ('authorization', f'Bearer {token}')).status == 0

        old = [known_over_http(TOKEN) for _ in range(most)]
        for _ in range(most):
            known_over_resp(TOKEN)
            known_over_grpc(TOKEN)
        secret(files[0], OTHER)
        server.process.send_signal(signal.SIGHUP)
        server.until('tokens and certificates were read again')
        for left in range(most, 0, -1):
            known_over_http(OTHER)
            known_over_resp(OTHER)
            known_over_grpc(OTHER)
            old = [client for client in old if is_healthy(client)]
            assert len(old) == left - 1


def is_healthy(client):
    """Whether the connection is open, and answers what needs no token."""
    try:
        return client.request('/healthz').status == 200
    except OSError:
        return False


def test_a_read_token_only_reads(guarded, files):
    for path in ('/metrics', '/v1/top', '/v1/policies'):
        assert request(guarded.port, path, headers=bearer(READ)).status == 200
    for path, method in (('/v1/decide', 'POST'), ('/json', 'POST'), ('/auth', 'GET')):
        answer = request(guarded.port, path, method, BODY, headers=bearer(READ))
        assert answer.status == 403, path
        assert 'may only read' in answer.text
    with Client(guarded.ports['resp']) as client:
        assert client.command('AUTH', READ).startswith('WRONGPASS ')
    top = subprocess.run([HEADGATE, 'top', '--url', f'http://127.0.0.1:{guarded.port}',
                          '--token-file', files[1]], capture_output=True, timeout=PATIENCE)
    assert top.returncode == 0, top.stderr


def start(*arguments):
    return subprocess.run([HEADGATE, 'serve', '--config', 'none', '--http', '127.0.0.1:0', *arguments],
                          capture_output=True, text=True, timeout=PATIENCE)


def test_options_that_make_no_sense(files, tmp_path):
    token_file, read_file = files
    assert start('--read-token-file', read_file).returncode == 2
    done = start('--token-file', token_file, '--read-token-file', secret(tmp_path / 'same', TOKEN))
    assert done.returncode == 1
    assert 'expected another token' in done.stderr


@pytest.mark.parametrize('option', ('--token-file', '--admin-token-file', '--client-ca', '--overrides-file'))
def test_an_empty_name_is_no_absent_option(option):
    """As that of a variable that is not set."""
    done = start(option, '')
    assert done.returncode == 2
    assert done.stderr.startswith(f'headgate serve: {option}: is empty; expected a value')


@pytest.mark.parametrize('arguments', (
    ('--overrides-file', '--token-file=a'), ('--overrides-file=', '--token-file=a'), ('--token-file', '-h')), ids=str)
def test_the_next_option_is_no_name(arguments):
    """As where a variable is not set, without quotes."""
    done = start(*arguments)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith(f'headgate serve: {arguments[0].strip("=")}: "{arguments[1]}" looks like another option')


def test_a_token_that_others_can_read_or_write(serve, tmp_path):
    done = start('--token-file', secret(tmp_path / 'open', TOKEN, 0o666))
    assert done.returncode == 1
    assert 'every user of this machine can write it' in done.stderr
    server = serve(arguments=('--token-file', secret(tmp_path / 'token', TOKEN, 0o644)))
    assert any('/token: every user of this machine can read this secret; expected chmod 600' in line
               for line in server.seen)
    secret(tmp_path / 'token', TOKEN, 0o640)
    server.process.send_signal(signal.SIGHUP)
    server.until(r'warning .*/token: its group can read this secret')


def test_a_pause_does_not_keep_a_stop_waiting(serve, files):
    server = serve(doors=DOORS, arguments=('--token-file', files[0]))
    with Client(server.ports['resp']) as guesser:
        guesser.send(b'AUTH wrong-wrong-wrong\r\n')
        assert server.stop() == 0
        assert select.select([guesser.socket], [], [], PATIENCE)[0]
