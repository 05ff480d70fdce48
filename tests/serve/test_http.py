"""The HTTP door as bytes on a connection."""
import contextlib
import json
import os
import pathlib
import pwd
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading

import pytest

from support.http_client import Connection

GET = b'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n'


@pytest.fixture
def server(serve):
    return serve(arguments=('--threads', '1'))


def problem(response, status):
    """The problem document of an error."""
    assert response.status == status, response
    assert response.one('Content-Type') == 'application/problem+json'
    document = json.loads(response.body)
    assert document['status'] == status
    assert document['detail']
    return document


def closed(connection):
    """Whether the server closes the connection without sending anything more."""
    try:
        return connection.buffer == b'' and connection.socket.recv(1) == b''
    except ConnectionResetError:
        return True


def test_a_connection_is_kept(server):
    with Connection(server.port) as connection:
        for _ in range(3):
            response = connection.request('/healthz')
            assert (response.status, response.body) == (200, b'ok\n')
            assert response.one('Connection') is None
            assert response.one('Date').endswith(' GMT')


def test_responses_come_in_the_order_of_requests(server):
    with Connection(server.port) as connection:
        connection.send(b''.join(b'GET /no/%d HTTP/1.1\r\nHost: h\r\n\r\n' % n
                                 for n in range(500)))
        for n in range(500):
            assert f"'/no/{n}'" in problem(connection.receive(), 404)['detail']


def test_responses_wait_for_a_client_that_reads_slowly(server):
    """More than the buffers of the kernel: the server stops reading, and loses nothing."""
    count = 20000
    with Connection(server.port) as connection:
        request = b'GET /v1/policies HTTP/1.1\r\nHost: h\r\n\r\n'
        sender = threading.Thread(target=connection.send, args=(request * count,))
        sender.start()
        for _ in range(count):
            assert connection.receive().status == 200
        sender.join()


def test_a_request_may_come_in_pieces(server):
    with Connection(server.port) as connection:
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = b'{"checks":[{"policy":"burst"}]}'
        for request, status in (
                (GET, 200),
                (b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n' % len(body) +
                 body, 200),
                (b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n'
                 b'3;a=b\r\n{"c\r\n%x\r\n%s\r\n0\r\nX: y\r\n\r\n' % (len(body) - 3, body[3:]),
                 200)):
            for byte in request:
                connection.send(bytes([byte]))
            assert connection.receive().status == status


def test_head_is_get_without_a_body(server):
    with Connection(server.port) as connection:
        response = connection.request('/healthz', method='HEAD')
        assert (response.status, response.one('Content-Length')) == (200, '3')
        assert connection.request('/healthz').body == b'ok\n'


def test_the_oldest_version(server):
    with Connection(server.port) as connection:
        connection.send(b'GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
        assert connection.receive().one('Connection') == 'keep-alive'
        connection.send(b'GET /healthz HTTP/1.0\r\n\r\n')
        response = connection.receive()
        assert (response.status, response.one('Connection')) == (200, 'close')
        assert closed(connection)


def test_a_client_may_close(server):
    with Connection(server.port) as connection:
        response = connection.request('/healthz', headers=[('Connection', 'close')])
        assert response.one('Connection') == 'close'
        assert closed(connection)


def test_a_client_may_end_its_side_and_still_be_answered(server):
    with Connection(server.port) as connection:
        connection.send(GET + GET)
        connection.socket.shutdown(socket.SHUT_WR)
        assert [connection.receive().status for _ in range(2)] == [200, 200]
        assert closed(connection)


def test_empty_lines_before_a_request(server):
    with Connection(server.port) as connection:
        for byte in b'\r\n\r\n':
            connection.send(bytes([byte]))
        connection.send(GET + b'\r\n' + GET)
        assert [connection.receive().status for _ in range(2)] == [200, 200]


def test_a_client_may_expect_100_before_it_sends_a_body(server):
    body = b'{"checks":[{"policy":"burst"}]}'
    with Connection(server.port) as connection:
        head = (b'POST %s HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: %d\r\n'
                b'\r\n')
        connection.send(head % (b'/v1/decide', len(body)))
        assert connection.line() == b'HTTP/1.1 100 Continue'
        assert connection.line() == b''
        connection.send(body)
        assert connection.receive().status == 200
        # A client that does not wait for it gets no 100.
        connection.send(head % (b'/v1/decide', len(body)) + body)
        assert connection.receive().status == 200
        # A client whose request fails gets the response instead of a 100.
        connection.send(head % (b'/v1/deicde', len(body)))
        response = connection.receive()
        assert "did you mean '/v1/decide'?" in problem(response, 404)['detail']
        assert closed(connection)


@pytest.mark.parametrize('path, method, status, allow', [
    ('/', 'GET', 404, None),
    ('/auth/', 'GET', 404, None),
    ('*', 'OPTIONS', 404, None),
    ('/v1/decide', 'GET', 405, 'POST'),
    ('/healthz', 'DELETE', 405, 'GET, HEAD'),
    ('/v1/policies', 'OPTIONS', 405, 'GET, HEAD'),
])
def test_what_is_not_there(server, path, method, status, allow):
    if path == '/':
        path = '/nothing'
    with Connection(server.port) as connection:
        response = connection.request(path, method=method)
        problem(response, status)
        assert response.one('Allow') == allow
        assert connection.request('/healthz').status == 200


@pytest.mark.parametrize('raw, status', [
    (b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + bytes(100) + b'\r\n\r\n', 400),  # TLS
    (b'*1\r\n$4\r\nPING\r\n', 400),  # RESP
    (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505),
    (b'GET /healthz\r\n\r\n', 400),
    (b'GET /healthz HTTP/1.1\r\n\r\n', 400),  # no Host
    (b'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400),
    (b'GET /healthz HTTP/1.1\r\nHost: h\r\nA b: c\r\n\r\n', 400),
    (b'GET /healthz HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n', 400),
    (b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n'
     b'\r\n', 400),
    (b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n', 501),
    (b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501),
    (b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', 400),
    (b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n', 413),
    (b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n', 413),
    (b'GET /healthz HTTP/1.1\r\nHost: h\r\nExpect: all\r\n\r\n', 417),
    (b'G' * 17000, 431),
    (b'GET /healthz HTTP/1.1\r\nHost: h\r\nA: ' + b'a' * 17000, 431),
    (b'GET /healthz HTTP/1.1\r\n' + b'A: b\r\n' * 200, 431),
])
def test_a_refusal_has_a_response_and_ends_the_connection(server, raw, status):
    with Connection(server.port) as connection:
        connection.send(GET + raw)
        assert connection.receive().status == 200
        response = connection.receive()
        problem(response, status)
        assert response.one('Connection') == 'close'
        assert closed(connection)
    with Connection(server.port) as connection:
        assert connection.request('/healthz').status == 200  # other connections are not affected


def test_a_response_arrives_although_its_request_goes_on(server):
    """Closing while the client sends would reset the connection, and lose the response."""
    with Connection(server.port) as connection:
        connection.send(b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n')
        connection.send(bytes(900000))
        problem(connection.receive(), 413)
        connection.socket.shutdown(socket.SHUT_WR)
        assert closed(connection)


def test_the_largest_body(server):
    checks = json.dumps({'checks': [{'policy': 'burst', 'key': 'x'}]}).encode()
    with Connection(server.port) as connection:
        response = connection.request('/v1/decide', 'POST', body=checks + b' ' * (65536 - len(checks)))
        assert response.status == 200
        problem(connection.request('/v1/decide', 'POST', body=checks + b' ' * 65536), 413)


def test_a_token(serve, tmp_path):
    token = 'a-secret-of-some-length'
    (tmp_path / 'token').write_text(token + '\n')
    server = serve(arguments=('--token-file', tmp_path / 'token'))
    with Connection(server.port) as connection:
        assert connection.request('/healthz').status == 200
        for headers in ([], [('Authorization', 'Bearer wrong')], [('Authorization', token)],
                        [('Authorization', f'Basic {token}')], [('X-Headgate-Token', token + 'x')],
                        # X-Headgate-Token alone counts where it is present.
                        [('X-Headgate-Token', 'x'), ('Authorization', f'Bearer {token}')]):
            for path in ('/auth', '/v1/policies', '/nothing'):
                response = connection.request(path, headers=headers)
                problem(response, 401)
                assert response.one('WWW-Authenticate') == 'Bearer realm="headgate"'
        for headers in ([('Authorization', f'Bearer {token}')],
                        [('Authorization', f'bearer  {token}')],
                        [('X-Headgate-Token', token)]):
            assert connection.request('/auth', headers=headers).status == 200
        response = connection.request('/v1/decide', 'POST', body=b'{}')
        problem(response, 401)
        assert closed(connection)


def test_a_unix_socket(serve, tmp_path):
    path = tmp_path / 'http.sock'
    serve(doors={'http': f'unix:{path}'})
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(30)
    client.connect(str(path))
    with Connection(client) as connection:
        assert connection.request('/healthz').status == 200
        response = connection.request('/auth', headers=[('X-Forwarded-For', '192.0.2.1')])
        assert response.r == 99
        assert connection.request('/auth', headers=[('X-Forwarded-For', '192.0.2.2')]).r == 99
        assert connection.request('/auth', headers=[('X-Forwarded-For', '192.0.2.1')]).r == 98


CONNECT = 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])'


@pytest.mark.skipif(os.getuid() != 0, reason='only root can choose the group, and become another user')
@pytest.mark.parametrize('options, may', (('', False), (',group=www-data', True), (',group=www-data,mode=0600', False)))
def test_a_unix_socket_lets_its_group_in(serve, options, may):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to other users
        os.chmod(folder, 0o755)
        path = f'{folder}/http.sock'
        serve(doors={'http': f'unix:{path}{options}'})
        user = pwd.getpwnam('www-data')
        done = subprocess.run([sys.executable, '-c', CONNECT, path], capture_output=True, text=True, timeout=30,
                              user=user.pw_uid, group=user.pw_gid, extra_groups=[], cwd='/')
        assert ('PermissionError' in done.stderr) != may, done


def test_a_stop_finishes_what_has_begun(server):
    body = b'{"checks":[{"policy":"burst"}]}'
    with Connection(server.port) as idle, Connection(server.port) as busy:
        assert idle.request('/healthz').status == 200
        assert busy.request('/healthz').status == 200
        busy.send(b'POST /v1/decide HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n'
                  b'Content-Length: %d\r\n\r\n' % len(body))
        assert busy.line() == b'HTTP/1.1 100 Continue'
        busy.line()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert closed(idle)
        busy.send(body)
        response = busy.receive()
        assert (response.status, response.one('Connection')) == (200, 'close')
        assert closed(busy)
        stopping.join()


def test_policies_in_force(serve):
    server = serve('''
version: 1
policies:
  - {name: burst, quota: 100, window: 1m, key: ["header:x-key"]}
  - {name: 'a "quoted" one', quota: 2, algorithm: concurrency, unit: concurrent-requests}
  - {name: some, quota: 5, window: 1s, mode: shadow, status: 503,
     overrides: [{ids: ["192.0.2.1"], quota: 7}]}
''')
    with Connection(server.port) as connection:
        said = json.loads(connection.request('/v1/policies').body)
        assert said['number'] == 1
        burst, quoted, some = said['policies']
        assert burst == {
            'name': 'burst', 'mode': 'enforce', 'algorithm': 'linear', 'quota': 100,
            'unit': 'requests', 'window_ns': 60_000_000_000, 'key': '[header:x-key]',
            'match': '', 'cost': '1', 'status': 429, 'penalty_ns': None, 'overrides': 0}
        assert (quoted['name'], quoted['quota'], quoted['window_ns']) == ('a "quoted" one', 2, None)
        assert (some['quota'], some['mode'], some['overrides']) == (5, 'shadow', 1)
        server.reload('version: 1\npolicies: [{name: new, quota: 1, window: 1s}]')
        said = json.loads(connection.request('/v1/policies').body)
        assert (said['number'], [p['name'] for p in said['policies']]) == (2, ['new'])


def resident(pid):
    """Memory of a process [bytes]."""
    status = pathlib.Path(f'/proc/{pid}/status').read_text()
    return int(re.search(r'VmRSS:\s+(\d+) kB', status)[1]) * 1024


@pytest.mark.skipif(bool(os.environ.get('HEADGATE_SANITIZE')), reason='sanitizers keep memory')
def test_connections_that_wait_cost_little(serve):
    count = 2000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 100:
        pytest.skip(f'only {hard} open files are allowed here')
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        server = serve(arguments=('--threads', '1'))
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(Connection(server.port)) for _ in range(100)]
            for connection in connections:
                assert connection.request('/healthz').status == 200
            before = resident(server.process.pid)
            more = [stack.enter_context(Connection(server.port)) for _ in range(count)]
            for connection in more:
                assert connection.request('/healthz').status == 200
            assert (resident(server.process.pid) - before) / count < 2048
            for connection in more:
                connection.send(b'GET /healthz HTTP/1.1\r\n')  # half-open
            assert connections[0].request('/healthz').status == 200
            assert (resident(server.process.pid) - before) / count < 8192
            for connection in more:
                connection.send(b'Host: h\r\n\r\n')
                assert connection.receive().status == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
