"""TLS at the HTTP and RESP doors, with the clients that people use."""
import contextlib
import json
import shutil
import signal
import socket
import ssl
import subprocess

import pytest

from support.certificates import Authority
from support.environment import HEADGATE, PATIENCE
from support.http_client import Connection
from support.processes import find_program
from support.resp import Client, encode

DOORS = {'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'}
CHECK = '{"checks": [{"policy": "burst"}]}'


@pytest.fixture
def secure(serve, files):
    def start(*arguments, doors=DOORS):
        return serve(doors=doors, arguments=('--threads', '1', '--tls-cert', files[0],
                                             '--tls-key', files[1], *arguments))
    return start


def run(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE,
                          **options)


def wrapped(authority, port, **certificate):
    context = ssl.create_default_context(cafile=authority.file)
    if certificate:
        context.load_cert_chain(**certificate)
    return context.wrap_socket(socket.create_connection(('127.0.0.1', port), PATIENCE),
                               server_hostname='127.0.0.1')


def test_curl(secure, authority):
    server = secure()
    done = run('curl', '-sS', '--cacert', authority.file, '--json', CHECK,
               f'https://127.0.0.1:{server.port}/v1/decide')
    assert json.loads(done.stdout)['admitted'], done
    assert run('curl', '-s', f'https://127.0.0.1:{server.port}/healthz').returncode == 60  # unknown CA
    assert run('curl', '-s', f'http://127.0.0.1:{server.port}/healthz').returncode != 0


def test_redis_cli(secure, authority):
    server = secure()
    if find_program('redis-cli') is None:
        pytest.skip('redis-cli is not installed')
    done = run('redis-cli', '--tls', '--cacert', authority.file, '-p', server.ports['resp'],
               'CL.THROTTLE', 'k', 15, 30, 60)
    assert done.stdout.split() == ['0', '16', '15', '-1', '2'], done


@pytest.mark.parametrize('version, works', [('tls1_3', True), ('tls1_2', True), ('tls1_1', False)])
def test_versions(secure, authority, version, works):
    server = secure()
    done = run('openssl', 's_client', '-connect', f'127.0.0.1:{server.port}', f'-{version}', '-CAfile',
               authority.file, '-cipher', 'DEFAULT@SECLEVEL=0', '-verify_return_error', '-ign_eof',
               input='GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    assert ('HTTP/1.1 200 OK' in done.stdout) == works, done


def test_pipelines_and_long_bodies(secure, authority):
    """More than a record of TLS, and more than the socket takes at once, in both directions."""
    server = secure()
    with Connection(wrapped(authority, server.port)) as connection:
        body = json.dumps({'checks': [{'policy': 'burst', 'key': 'x'}]}).encode()
        body += b' ' * (65536 - len(body))
        assert connection.request('/v1/decide', 'POST', body=body).status == 200
        connection.send(b'GET /v1/policies HTTP/1.1\r\nHost: localhost\r\n\r\n' * 3000)
        for _ in range(3000):
            assert connection.receive().status == 200
    client = wrapped(authority, server.ports['resp'])
    with client, client.makefile('rb') as replies:
        client.sendall(encode('ECHO', 'x' * 1000) * 5000)
        for _ in range(5000):
            assert replies.readline() == b'$1000\r\n'
            assert replies.read(1002) == b'x' * 1000 + b'\r\n'


def test_bytes_one_by_one(secure, authority):
    server = secure()
    with Connection(wrapped(authority, server.port)) as connection:
        for byte in b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n':
            connection.send(bytes([byte]))
        assert connection.receive().status == 200


def test_a_client_needs_a_certificate(secure, authority, tmp_path):
    server = secure('--client-ca', authority.file)
    cert, key = authority.sign('client')
    for port, ask, answer in ((server.port, b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n', b'HTTP/1.1 200'),
                              (server.ports['resp'], b'PING\r\n', b'+PONG')):
        with wrapped(authority, port, certfile=cert, keyfile=key) as client:
            client.sendall(ask)
            assert client.recv(4096).startswith(answer)
        stranger = Authority(tmp_path, f'stranger{port}')
        other_cert, other_key = stranger.sign('client')
        for certificate in ({}, {'certfile': other_cert, 'keyfile': other_key}):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                with wrapped(authority, port, **certificate) as client:
                    client.sendall(ask)
                    assert client.recv(4096)
                    raise AssertionError('served without a certificate')


@pytest.mark.parametrize('certificates, works', [(10, True), (120, False)])
def test_a_clients_chain_is_bounded(secure, authority, tmp_path, certificates, works):
    """Memory for it is taken before the client is known."""
    server = secure('--client-ca', authority.file)
    cert, key = authority.sign('client')
    chain = tmp_path / 'chain.crt'
    chain.write_text(cert.read_text() + authority.file.read_text() * certificates)
    answer = b''
    with contextlib.suppress(ssl.SSLError, ConnectionError):
        with wrapped(authority, server.port, certfile=chain, keyfile=key) as client:
            client.sendall(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
            answer = client.recv(4096)
    assert answer.startswith(b'HTTP/1.1 200') == works


def served_certificate(port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(('127.0.0.1', port), PATIENCE) as plain, \
            context.wrap_socket(plain) as client:
        return client.getpeercert(binary_form=True)


def test_another_certificate_is_in_force_after_sighup(secure, authority, files):
    server = secure()
    before = served_certificate(server.port)
    with Connection(wrapped(authority, server.port)) as old:
        assert old.request('/healthz').status == 200
        with open(files[0], 'w') as file:
            file.write('no certificate')
        server.process.send_signal(signal.SIGHUP)
        server.until(rf'error {files[0]}: .*expected a certificate in PEM format')
        server.until('stay in force')
        assert served_certificate(server.port) == before

        cert, key = authority.sign('another')
        shutil.copy(cert, files[0])
        server.process.send_signal(signal.SIGHUP)
        server.until(rf'error {files[1]}: .*expected the private key of {files[0]}')
        assert served_certificate(server.port) == before

        shutil.copy(key, files[1])
        server.process.send_signal(signal.SIGHUP)
        server.until('tokens and certificates were read again')
        for port in server.ports.values():
            assert served_certificate(port) != before
        assert old.request('/healthz').status == 200, 'open connections stay'


def test_a_slow_handshake_is_a_stranger(secure, authority):
    server = secure('--max-connections', '8')
    with Connection(wrapped(authority, server.port)) as good:
        assert good.request('/healthz').status == 200
        silent = [socket.create_connection(('127.0.0.1', server.port), PATIENCE) for _ in range(30)]
        with Connection(wrapped(authority, server.port)) as newcomer:
            assert newcomer.request('/healthz').status == 200
            assert good.request('/healthz').status == 200
        assert silent[0].recv(1) == b''
        for one in silent:
            one.close()


def test_a_handshake_that_does_not_end(secure):
    server = secure('--request-timeout', '1')
    for port in server.ports.values():
        with socket.create_connection(('127.0.0.1', port), PATIENCE) as slow:
            slow.sendall(b'\x16\x03\x01\x02\x00\x01')
            assert slow.recv(1) == b''


@pytest.mark.parametrize('bytes_sent', [b'GET / HTTP/1.1\r\n\r\n', b'\x16\x03\x01\xff\xff' + b'x' * 65535,
                                        bytes(100), b'\x15\x03\x03\x00\x02\x02\x28'],
                         ids=['http', 'long', 'zeros', 'alert'])
def test_what_is_no_handshake(secure, authority, bytes_sent):
    server = secure()
    with socket.create_connection(('127.0.0.1', server.port), PATIENCE) as client:
        try:
            client.sendall(bytes_sent)
            while client.recv(4096):
                pass
        except ConnectionError:
            pass
    with Connection(wrapped(authority, server.port)) as connection:
        assert connection.request('/healthz').status == 200


def test_a_unix_socket_stays_plain(secure, tmp_path):
    server = secure(doors={'http': '127.0.0.1:0', 'resp': f'unix:{tmp_path}/resp.sock'})
    with Client(server.addresses['resp']) as client:
        assert client.command('PING') == 'PONG'


def test_options_that_make_no_sense(authority, files, tmp_path):
    def start(*arguments):
        return run(HEADGATE, 'serve', '--config', 'none', '--http', '127.0.0.1:0', *arguments)
    assert start('--tls-cert', files[0]).returncode == 2
    assert start('--tls-key', files[1]).returncode == 2
    assert start('--client-ca', authority.file).returncode == 2
    for arguments, named in ((('--tls-cert', tmp_path / 'none', '--tls-key', files[1]), tmp_path / 'none'),
                             (('--tls-cert', files[0], '--tls-key', files[0]), files[0]),
                             (('--tls-cert', files[0], '--tls-key', authority.key), authority.key),
                             (('--tls-cert', files[0], '--tls-key', files[1], '--client-ca', files[1]),
                              files[1])):
        done = start(*arguments)
        assert done.returncode == 1
        assert done.stderr.startswith(f'headgate: {named}: ') and 'expected' in done.stderr


def test_no_session_outlives_its_certificate(secure, authority):
    """With --client-ca, no session is resumed: each connection shows its certificate."""
    server = secure('--client-ca', authority.file)
    cert, key = authority.sign('resuming')
    context = ssl.create_default_context(cafile=authority.file)
    context.load_cert_chain(cert, key)
    session = None
    for _ in range(2):
        plain = socket.create_connection(('127.0.0.1', server.port), PATIENCE)
        with context.wrap_socket(plain, server_hostname='127.0.0.1', session=session) as client:
            client.sendall(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
            assert client.recv(4096).startswith(b'HTTP/1.1 200')
            assert not client.session_reused
            session = client.session
