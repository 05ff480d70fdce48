"""Bodies without a Content-Length, where a policy counts bytes."""
import json
import subprocess

from support.environment import PATIENCE
from support.http_client import Connection
from support.policies import policies, policy
from support.processes import until

CHUNKED = b' HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'


def counted(quota=1000, **more):
    return policy(quota=quota, cost='request-bytes', unit='content-bytes', **more)


def chunk(data):
    return b'%x\r\n%s\r\n' % (len(data), data)


def proxied(origin):
    return f'location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}'


def spooled(server):
    return list((server.directory / 'tmp').glob('client_body/*'))


def test_reading_stops_where_no_quota_could_admit_the_body(nginx, upstream):
    origin = upstream()
    server = nginx(policies(counted(100_000), counted(50_000, name='least')),
                   server=proxied(origin) + ' client_body_buffer_size 1k;')
    for body in (chunk(b'x' * 20_000) * 3, b'e0000\r\n' + b'x' * 60_000):
        with Connection(server.port) as connection:
            connection.send(b'POST /' + CHUNKED + body)  # the end is missing
            denied = connection.receive()
            assert (denied.status, denied.one('Retry-After')) == (429, None)
            assert denied.one('Connection') == 'close'
            assert json.loads(denied.body)['violated-policies'] == ['least']
    assert origin.requests == []
    with Connection(server.port) as connection:
        connection.send(b'POST /' + CHUNKED + chunk(b'x' * 10_000) * 5 + b'0\r\n\r\n')
        assert connection.receive().one('RateLimit').split(', ')[1].startswith('"least";r=0;')
    assert len(origin.requests) == 1
    assert server.request().status == 200
    until(lambda: not spooled(server), 'no body is left on disk')


def test_reading_stops_while_the_body_comes(nginx):
    server = nginx(policies(counted(1000)), server='location / { return 200; }')
    with Connection(server.port) as connection:
        connection.send(b'POST /' + CHUNKED)
        connection.send(chunk(b'x' * 1000))
        until(lambda: server.request('/').r == 1000, 'nginx has turned to others')
        connection.send(chunk(b'x'))
        assert connection.receive().status == 429
    assert server.request('/').r == 1000


def test_error_pages_replace_the_denial_of_such_a_body(nginx):
    server = nginx(policies(counted()), server='''
        error_page 429 = /slow; location = /slow { return 503 "slower"; }
        location / { return 200; }''')
    with Connection(server.port) as connection:
        connection.send(b'POST /' + CHUNKED + chunk(b'x' * 2000))
        denied = connection.receive()
        assert (denied.status, denied.body, denied.r) == (503, b'slower', 1000)


def test_bodies_that_no_policy_can_deny_are_read_whole(nginx, upstream):
    origin = upstream(lambda method, path, headers, body: (200, [], str(len(body)).encode()))
    for file, gate in ((policies(counted(mode='shadow')), ''),
                       (policies(counted()), 'headgate_dry_run on;'),
                       (policies(counted(overrides='[{ids: [127.0.0.1], quota: 9999}]')), ''),
                       (policies(counted(overrides='[{ids: [127.0.0.1], quota: unlimited}]')), '')):
        server = nginx(file, server=gate + proxied(origin))
        with Connection(server.port) as connection:
            for _ in range(2):
                connection.send(b'POST /' + CHUNKED + chunk(b'x' * 2000) + b'0\r\n\r\n')
                response = connection.receive()
                assert (response.status, response.body) == (200, b'2000')


def test_reading_stops_in_http2_too(nginx, upstream):
    origin = upstream()
    server = nginx(policies(counted(50_000)))
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; '
                        'client_max_body_size 0; ' + proxied(origin))
    server.reload()
    for length, status in ((40_000, 200), (9_000_000, 429)):
        body = server.directory / 'body'
        body.write_bytes(b'x' * length)
        done = subprocess.run(
            ['nghttp', '-v', '--no-content-length', '-d', str(body),
             f'http://127.0.0.1:{server.other_port}/'],
            capture_output=True, check=True, text=True, timeout=PATIENCE)
        assert f':status: {status}' in done.stdout
    assert '"violated-policies":["burst"]' in done.stdout
    assert len(origin.requests) == 1
    assert server.request('/').r == 10_000
