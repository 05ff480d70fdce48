"""What is charged or released when the response has ended: late costs, and slots."""
import gzip
import os
import signal
import socket
import subprocess
import threading

import pytest

from support import frames, http2
from support.environment import PATIENCE
from support.http_client import Connection
from support.policies import YEAR, policies, policy
from support.processes import until

QUOTA = 100_000_000
# A hundred years: a unit comes back after 31 s, and none while a test runs.
BYTES = policies(policy('down', QUOTA, f'{100 * YEAR}s', unit='content-bytes', cost='response-bytes'))
TOKENS = policies(policy('tokens', 1000, '1000s', unit='tokens',
                         cost='{response-header: x-tokens}', refund_on='[5xx]'))
PROBE = 'location = /probe { return 204; }'


def tokens_of(path):
    return [('X-Tokens', path.rpartition('/')[2])]


def spent(server):
    """Units that earlier requests took. The probe itself counts as one unit until its response has ended."""
    return QUOTA - 1 - server.request('/probe').r


# ---- late costs

def test_tokens_that_the_upstream_reports(nginx, upstream):
    origin = upstream(lambda method, path, *_: (int(path.split('/')[1]), tokens_of(path), b'!'))
    server = nginx(TOKENS, server=f'''location / {{ proxy_pass http://127.0.0.1:{origin.port};
        proxy_hide_header X-Tokens; }} location /m {{ headgate off; headgate_metrics; }}''')
    assert [server.request(f'/200/{n}').r for n in (600, 0, 100)] == [999, 399, 399]
    assert server.request('/503/300').r == 299      # not charged: refund-on
    assert server.request('/200/500').r == 299      # more than is left
    denied = server.request('/200/0')
    assert (denied.status, denied.r) == (429, 0)
    assert 195 <= int(denied.one('Retry-After')) <= 201  # 200 units of debt, and one for the next request
    assert len(origin.requests) == 5
    counts = server.metrics('/m')
    assert counts['headgate_decisions_total{policy="tokens",outcome="admitted"}'] == 5
    assert counts['headgate_cost_defaulted_total{policy="tokens"}'] == 0


def test_costs_that_cannot_be_read_are_one_and_counted(nginx, upstream):
    said = {'/none': [], '/twice': [('X-Tokens', '5'), ('x-tokens', '5')],
            '/odd': [('X-Tokens', '-5')], '/half': [('X-Tokens', '1.5')]}
    origin = upstream(lambda method, path, *_: (200, said[path], b''))
    server = nginx(TOKENS, server=f'''location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location /static {{ add_header X-Tokens 7; return 200; }}
        location /m {{ headgate off; headgate_metrics; }}''')
    for n, path in enumerate([*said, '/static']):
        assert server.request(path).r == 999 - n, path
        assert server.metrics('/m')['headgate_cost_defaulted_total{policy="tokens"}'] == n + 1


def test_an_answer_from_a_cache_costs_no_tokens_of_the_upstream(nginx, upstream):
    origin = upstream(lambda *_: (200, [('X-Tokens', '50'), ('Cache-Control', 'max-age=99')], b''))
    server = nginx(TOKENS, http='proxy_cache_path cache keys_zone=c:1m;', server=f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; proxy_cache c; }}''')
    assert [server.request('/').r for _ in range(3)] == [999, 949, 948]


def test_an_upstream_behind_a_cached_answer_is_no_cache(nginx, upstream):
    """nginx refuses the range of a cached answer, and gets the page of this error from an upstream."""
    fields = [('Cache-Control', 'max-age=99')]
    origin = upstream(lambda m, path, *_: (200, fields + [('X-Tokens', '50')] * (path == '/page'), b'text'))
    server = nginx(TOKENS, http='proxy_cache_path cache keys_zone=c:1m;', server=f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; proxy_cache c; proxy_force_ranges on;
                      error_page 416 = /page; }}
        location = /page {{ proxy_pass http://127.0.0.1:{origin.port}; max_ranges 0; }}''')
    outside = [('Range', 'bytes=99-')]
    assert [server.request('/', headers=headers).r for headers in ((), (), outside, ())] == [999, 998, 997, 947]


def test_bytes_of_every_kind_of_response(nginx, upstream):
    text = b'many of the same words, ' * 4000
    origin = upstream(lambda method, path, *_: (200, [('Content-Type', 'text/html')], text))
    server = nginx(BYTES, server=PROBE + f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location /gzip {{ proxy_pass http://127.0.0.1:{origin.port}; gzip on; gzip_types *; }}
        location /sub {{ proxy_pass http://127.0.0.1:{origin.port}; sub_filter words letters; }}
        location /ssi {{ ssi on; }}
        location /file {{ }}
        location /empty {{ return 404 ""; }}''')
    files = server.directory / 'html'
    (files / 'file').write_bytes(text)
    (files / 'ssi.html').write_text('<!--#include virtual="/file" -->|<!--#include virtual="/" -->')
    total = 0
    for path, headers in (('/', []), ('/gzip', [('Accept-Encoding', 'gzip')]), ('/sub', []),
                          ('/ssi.html', []), ('/file', []), ('/file', [('Range', 'bytes=5-99')]),
                          ('/file', [('Range', 'bytes=0-9,20-29')]), ('/none', []), ('/empty', [])):
        response = server.request(path, headers=headers)
        total += len(response.body)
        assert spent(server) == total, (path, headers, response.head)
        if path == '/gzip':
            assert gzip.decompress(response.body) == text and len(response.body) < len(text)
            assert response.one('Transfer-Encoding') == 'chunked'
    for path in ('/', '/gzip', '/file'):
        server.request(path, 'HEAD')
    modified = server.request('/file', 'HEAD').one('Last-Modified')
    assert server.request('/file', headers=[('If-Modified-Since', modified)]).status == 304
    assert spent(server) == total


@pytest.mark.parametrize('reserved', [False, True])
def test_bytes_of_a_websocket(nginx, upstream, reserved):
    origin = upstream(lambda *_: (101, [('Connection', 'upgrade'), ('Upgrade', 'websocket')], b''))
    settled = BYTES.replace('cost: response-bytes', 'cost: {reserve: 1000, settle: response-bytes}')
    server = nginx(settled if reserved else BYTES, server=f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; proxy_http_version 1.1;
                      proxy_set_header Upgrade websocket; proxy_set_header Connection upgrade; }}
        location /rest {{ return 204; }}''')
    with Connection(server.port) as connection:
        assert connection.request(headers=[('Connection', 'upgrade'), ('Upgrade', 'websocket')]).status == 101
        connection.send(bytes(5000))
        assert connection.take(5000) == bytes(5000)
    server.access(1)
    assert QUOTA - server.request('/rest').r == 5000 + (1000 if reserved else 1)


def test_bytes_in_http2(nginx, upstream):
    text = b'many of the same words, ' * 4000
    origin = upstream(lambda *_: (200, [('Content-Type', 'text/html')], text))
    server = nginx(BYTES)
    server.write(server=f'''listen 127.0.0.1:{server.other_port} http2; gzip on; ''' + PROBE + f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}''')
    server.reload()
    total = 0
    for encoding in ('identity', 'gzip'):
        done = subprocess.run(
            ['curl', '-sS', '--http2-prior-knowledge', '-m', '20', '-H',
             f'Accept-Encoding: {encoding}', f'http://127.0.0.1:{server.other_port}/'],
            capture_output=True, check=True)
        total += len(done.stdout)
        until(lambda: spent(server) == total, f'{total} bytes are charged')


def test_a_download_that_breaks_off_costs_what_was_sent(nginx):
    server = nginx(BYTES, server=PROBE + 'location / { }')
    (server.directory / 'html/file').write_bytes(b'x' * 50_000_000)
    with Connection(server.port) as connection:
        connection.send(b'GET /file HTTP/1.1\r\nHost: a\r\n\r\n')
        connection.take(1_000_000)
    until(lambda: spent(server) > 0, 'what was sent is charged')
    assert 999_000 < spent(server) < 50_000_000


def test_bodies_of_requests_as_they_are_transferred(nginx):
    server = nginx(policies(policy('up', 1000, unit='content-bytes', cost='request-bytes')),
                   server='location / { return 204; }')
    packed = gzip.compress(b'x' * 9000)
    gzipped = [('Content-Encoding', 'gzip')]
    assert server.request('/', 'POST', gzipped, packed).r == 1000 - len(packed)
    with Connection(server.port) as connection:
        connection.send(b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n' +
                        b'1\r\nx\r\n' * 100 + b'0\r\n\r\n')
        assert connection.receive().r == 900 - len(packed)


# ---- slots

class Held:
    """An upstream that answers requests for /hold once `go` is set."""

    def __init__(self, upstream):
        self.go = threading.Event()
        self.origin = upstream(self.answer)

    def answer(self, method, path, *_):
        if path.startswith('/hold'):
            self.go.wait(PATIENCE)
        return (None if path.endswith('/fail') else 200), [], b'done'

    def location(self, more=''):
        return f'location / {{ proxy_pass http://127.0.0.1:{self.origin.port}; {more} }} '


@pytest.fixture
def held(upstream):
    one = Held(upstream)
    yield one
    one.go.set()


def slots(quota=20, **more):
    lines = ['  - name: slots', f'    quota: {quota}', '    algorithm: concurrency']
    return policies('\n'.join(lines + [f'    {k}: {v}' for k, v in more.items()]))


def open_many(server, count, path='/hold'):
    connections = [Connection(server.port) for _ in range(count)]
    for connection in connections:
        connection.send(f'GET {path} HTTP/1.1\r\nHost: a\r\n\r\n'.encode())
    return connections


def in_flight(server, quota=20):
    """Requests under way, without the one that this function sends."""
    response = server.request('/probe')
    return quota - 1 - response.r if response.status != 429 else quota


def settles(server, quota=20):
    until(lambda: in_flight(server, quota) == 0, 'all slots are back')


def test_a_slot_for_each_request_under_way(nginx, held):
    server = nginx(slots(3), server=PROBE + held.location())
    connections = open_many(server, 3)
    until(lambda: in_flight(server, 3) == 3, 'three are under way')
    denied = server.request('/probe')
    assert (denied.status, denied.r, denied.one('Retry-After')) == (429, 0, None)
    assert denied.one('RateLimit') == '"slots";r=0'
    held.go.set()
    assert [connection.receive().status for connection in connections] == [200] * 3
    settles(server, 3)
    assert [connections[0].request('/probe').r for _ in range(5)] == [2] * 5


@pytest.mark.at_once
def test_a_client_that_has_its_response_finds_its_slot_free(nginx, upstream):
    """Also on a new connection, which another worker may have."""
    origin = upstream(lambda *_: (200, [], b'text' * 5000))
    proxied = f'proxy_pass http://127.0.0.1:{origin.port};'
    server = nginx(slots(1), workers=4, http='proxy_cache_path cache keys_zone=c:1m; gzip_types text/plain;',
                   server=PROBE + f'''
        location /page {{ return 200 text; }}
        location /file {{ gzip on; gzip_http_version 1.0; }}
        location /proxied {{ {proxied} }}
        location /streamed {{ {proxied} proxy_buffering off; proxy_request_buffering off; }}
        location /cached {{ {proxied} proxy_cache c; proxy_cache_valid 1m; }}''')
    (server.directory / 'html/file.txt').write_text('text' * 5000)
    (server.directory / 'html/longer').write_text('text' * 100_000)

    def status(path, **more):
        with Connection(server.port) as connection:
            return connection.request(path, **more).status

    ways = [(path, {}) for path in ('/page', '/file.txt', '/longer', '/proxied', '/streamed', '/cached', '/missing')]
    ways += [('/file.txt', {'headers': [('Accept-Encoding', 'gzip')]}), ('/proxied', {'method': 'HEAD'}),
             ('/probe', {}), ('/streamed', {'method': 'POST', 'body': b'text' * 500})]
    denied = {str((path, more)) for path, more in ways for _ in range(100) if status(path, **more) == 429}
    assert not denied


def ask_over_http2(connection, path):
    """Sends a request on a connection of support.frames, and returns its stream."""
    fields = {':method': 'GET', ':scheme': 'http', ':path': path, ':authority': 'a'}
    block = b''.join(frames.literal(name, value) for name, value in fields.items())
    return connection.open(block, frames.END_STREAM | frames.END_HEADERS)


@pytest.mark.at_once
def test_a_client_that_has_its_response_over_http2_finds_its_slot_free(nginx, upstream):
    origin = upstream(lambda *_: (200, [], b'text' * 5000))
    server = nginx(slots(1), workers=4)
    server.write(server=f'''listen 127.0.0.1:{server.other_port} http2; {PROBE}
        location /file {{ }}
        location /streamed {{ proxy_pass http://127.0.0.1:{origin.port}; proxy_buffering off; }}''')
    (server.directory / 'html/file').write_text('text' * 5000)
    server.reload()

    def status(path):
        with frames.Http2(f'127.0.0.1:{server.other_port}') as connection:
            return connection.finish(ask_over_http2(connection, path)).fields[':status']

    denied = {path for path in ('/file', '/streamed', '/probe') for _ in range(100) if status(path) == '429'}
    assert not denied


@pytest.mark.parametrize('limit', ['limit_rate 1k', 'set $limit_rate 1k', 'proxy_pass ORIGIN'])
def test_a_response_that_nginx_slows_down_holds_its_slot(nginx, upstream, limit):
    origin = upstream(lambda *_: (200, [('X-Accel-Limit-Rate', '1000')], bytes(60_000)))
    limit = limit.replace('ORIGIN', f'http://127.0.0.1:{origin.port}')
    server = nginx(slots(), server=PROBE + f'location /slow {{ {limit}; }}')
    (server.directory / 'html/slow').write_bytes(bytes(60_000))
    connections = open_many(server, 3, '/slow')
    for connection in connections:
        assert b' 200 ' in connection.take(500)
    assert in_flight(server) == 3
    for connection in connections:
        connection.close()
    settles(server)


@pytest.mark.parametrize('window', [0, 10_000, 65_535])
def test_a_response_that_the_windows_of_http2_hold_back_holds_its_slot(nginx, window):
    """65,535 bytes are also the window of the connection."""
    server = nginx(slots())
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; {PROBE}')
    (server.directory / 'html/file').write_bytes(bytes(60_000))
    server.reload()
    with http2.Streams(server.other_port, 6, '/file', window=window) as streams:
        assert list(streams.statuses()) == [200] * 6
        held = 5 if window == 65_535 else 6
        until(lambda: in_flight(server) == held, 'those without a window are under way')
    settles(server)


def test_a_response_that_the_connection_does_not_take_holds_its_slot(nginx):
    """A client that says that it takes any number of bytes, and reads none."""
    server = nginx(slots())
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2 sndbuf=16k; {PROBE}')
    (server.directory / 'html/file').write_bytes(bytes(60_000))
    server.reload()
    with frames.Http2(f'127.0.0.1:{server.other_port}', window=2**31 - 1) as connection:
        for _ in range(20):
            ask_over_http2(connection, '/file')
        # The system takes a few of them.
        until(lambda: in_flight(server) >= 10, 'most of them are under way')
    settles(server)


def test_a_response_that_a_limit_of_unsent_bytes_holds_back_holds_its_slot(nginx):
    """As with net.ipv4.tcp_notsent_lowat, which other tests would get, too."""
    server = nginx(slots(), server=PROBE + 'sendfile on;', run=False)
    (server.directory / 'html/file').write_bytes(bytes(1_000_000))
    with socket.create_server(('127.0.0.1', server.port)) as listener:
        listener.setblocking(False)
        # Connections have the options of the socket that they come from.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 16_384)
        server.start(listener)
    connections = open_many(server, 6, '/file')
    for connection in connections:
        assert b' 200 ' in connection.take(100)
    assert in_flight(server) == 6
    for connection in connections:
        connection.close()
    settles(server)


def test_a_long_response_holds_its_slot_until_it_is_nearly_sent(nginx):
    server = nginx(slots(), server=PROBE)
    (server.directory / 'html/long').write_bytes(bytes(32 << 20))
    connections = open_many(server, 3, '/long')
    for connection in connections:
        connection.take(1)
    assert in_flight(server) == 3
    assert len(connections[0].receive().body) == 32 << 20
    until(lambda: in_flight(server) == 2, 'one has ended')
    for connection in connections:
        connection.close()
    settles(server)


def test_storms_of_aborts_errors_and_timeouts_leave_no_slot_taken(nginx, held):
    server = nginx(slots(200), workers=2, server=PROBE + held.location() + f'''
        location /hold/slow {{ proxy_pass http://127.0.0.1:{held.origin.port};
                               proxy_read_timeout 50ms; }}
        location /hold/fail {{ proxy_pass http://127.0.0.1:1; }}
        location /hold/page {{ proxy_pass http://127.0.0.1:1; error_page 502 /probe; }}''')
    for _ in range(3):
        connections = []
        for path in ('/hold', '/hold/slow', '/hold/fail', '/hold/page'):
            connections += open_many(server, 25, path)
        until(lambda: in_flight(server, 200) >= 25, 'the storm is on')
        for connection in connections[:90]:
            connection.close()
        for connection in connections[90:]:
            assert connection.receive().status in (204, 502)
            connection.close()
        settles(server, 200)
    held.go.set()


def test_http2_streams_that_are_cut_off(nginx, held):
    server = nginx(slots())
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; ' + PROBE + held.location())
    server.reload()
    urls = [f'http://127.0.0.1:{server.other_port}/hold/{n}' for n in range(8)]
    client = subprocess.Popen(['nghttp', '-n', *urls])
    until(lambda: in_flight(server) == 8, 'eight streams are open')
    client.kill()
    client.wait()
    settles(server)


def test_slots_of_requests_that_end_in_the_workers_of_before(nginx, held):
    server = nginx(slots(), server=PROBE + held.location())
    connections = open_many(server, 4)
    until(lambda: in_flight(server) == 4, 'four are under way')
    server.process.send_signal(signal.SIGHUP)
    until(lambda: len(server.children()) == 2, 'a new worker runs beside the old one')
    # The old worker may be about to release the slot of the last look.
    until(lambda: in_flight(server) == 4, 'four are under way still')
    held.go.set()
    assert [connection.receive().status for connection in connections] == [200] * 4
    settles(server)


def test_slots_of_a_killed_worker_come_back_with_their_lease(nginx, held):
    server = nginx(slots(lease='2s'), server=PROBE + held.location())
    server.expect_death = True
    connections = open_many(server, 5)
    until(lambda: in_flight(server) == 5, 'five are under way')
    os.kill(int(server.children()[0]), signal.SIGKILL)
    until(server.ready, 'another worker runs')
    settles(server)
    for connection in connections:
        connection.close()


def test_slots_of_several_policies_and_of_denied_requests(nginx, held):
    text = slots(5) + policy('few', 3) + '\n'
    server = nginx(text, server=PROBE + held.location())
    assert [server.request('/probe').status for _ in range(6)] == [204] * 3 + [429] * 3
    assert server.request('/probe').one('RateLimit').split(', ')[0] == '"slots";r=5'
