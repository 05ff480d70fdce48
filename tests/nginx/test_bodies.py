"""Bodies without a Content-Length, where a policy counts bytes."""
import json
import signal
import subprocess

import pytest

from support import http2
from support.environment import PATIENCE
from support.http_client import Connection
from support.policies import policies, policy
from support.processes import until
from support.raw_server import Listener, read_head, response

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


# ---- a body that is read no further reaches no upstream

class Chunked:
    """POST /up over HTTP/1.1, with its body in pieces."""

    def __init__(self, server):
        self.connection = Connection(server.port)
        self.connection.send(b'POST /up' + CHUNKED)

    def send(self, data, last=False):
        self.connection.send(chunk(data) + (b'0\r\n\r\n' if last else b''))

    def status(self):
        with self.connection:
            return self.connection.receive().status


class Framed:
    """The same over HTTP/2."""

    def __init__(self, server):
        self.streams = http2.Streams(server.other_port, 1, '/up', uploads=True)
        self.send = self.streams.send

    def status(self):
        with self.streams:
            return next(self.streams.statuses())


@pytest.fixture(params=[Chunked, Framed])
def upload(request):
    return request.param


def limited(nginx, file, server):
    """nginx with HTTP/2 as well, and a location whose answer shows that nginx has read what came before."""
    made = nginx(file, run=False)
    made.write(server=f'listen 127.0.0.1:{made.other_port} http2; '
                      f'location /probe {{ headgate off; return 204; }} {server}')
    return made.start()


class Witness(Listener):
    """An upstream that answers once it has a request's head. `seen` has the path, the framing fields and all
    bytes that followed, of each connection that has ended."""

    def __init__(self):
        self.seen = []
        super().__init__()

    def serve(self, client):
        with client, client.makefile('rb') as lines:
            _, path, headers = read_head(lines)
            client.sendall(response())
            framing = [name for name, _ in headers if name.lower() in ('content-length', 'transfer-encoding')]
            self.seen.append((path, framing, lines.read()))


def test_an_error_page_passes_on_no_part_of_such_a_body(nginx, upload):
    with Witness() as origin:
        server = limited(nginx, policies(counted()), f'''
            error_page 429 = @busy;
            location / {{ return 500; }}
            location @busy {{ auth_request /may; mirror /copy; proxy_request_buffering off;
                              proxy_http_version 1.1; proxy_pass {origin.url}; }}
            location ~ ^/(may|copy)$ {{ proxy_pass {origin.url}/$1; }}''')
        client = upload(server)
        client.send(b'GET /not-counted HTTP/1.1\r\n\r\n' * 20)
        server.request('/probe')
        client.send(b'x' * 1000)
        assert client.status() == 200
        until(lambda: len(origin.seen) == 3, 'all connections have ended')
        assert sorted(origin.seen) == [('/copy', [], b''), ('/may', [], b''), ('/up', [], b'')]


@pytest.mark.at_once  # the store that answers later is never away
def test_a_body_that_no_quota_has_room_for_is_too_long_if_nothing_denies_it(nginx, upstream, upload, tmp_path):
    origin = upstream()
    away = f'{{table: {{memory: 1MiB}}, redis: {{nodes: ["unix:{tmp_path}/none"]}}}}'
    server = limited(nginx, policies(counted(on_outage='allow'), store=away),
                     f'error_page 413 = @long; location @long {{ return 418; }} {proxied(origin)}')
    for _ in range(2):
        client = upload(server)
        client.send(b'x' * 900)
        server.request('/probe')
        client.send(b'x' * 900)
        assert client.status() == 418
    assert origin.requests == []
    client = upload(server)
    client.send(b'x' * 1000, last=True)
    assert client.status() == 200
    assert [line[2] for line in server.access(5) if line[0] == '/up'] == ['outage-admitted'] * 3


def test_a_reload_counts_for_bodies_that_are_still_coming(nginx, upstream, upload):
    lengths = []
    origin = upstream(lambda method, path, headers, body: lengths.append(len(body)) or (200, [], b''))
    server = limited(nginx, policies(counted(1000)), proxied(origin))
    client = upload(server)
    client.send(b'x' * 900)
    server.request('/probe')
    server.write(policies(counted(9000)))
    server.process.send_signal(signal.SIGHUP)
    until(lambda: len(server.children()) == 2, 'a new worker runs beside the old one')
    for last in (False, True):
        client.send(b'x' * 900, last)
    assert (client.status(), lengths) == (200, [2700])
