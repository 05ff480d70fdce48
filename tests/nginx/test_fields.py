"""RateLimit and RateLimit-Policy on every response that a policy matches, from every part of nginx."""
import subprocess

import pytest

from support import http2
from support.environment import ROOT
from support.http_client import Connection
from support.policies import FIELD, ONE, YEAR, policies, policy
from support.processes import until


def fields(response):
    """(RateLimit-Policy, r), each exactly once."""
    assert len(response.all('RateLimit')) == 1, response
    return response.one('RateLimit-Policy'), response.r


def test_static_head_conditional_and_missing_files(nginx):
    server = nginx(ONE)
    (server.directory / 'html/file.txt').write_text('content')
    first = server.request('/file.txt')
    assert (first.status, first.body, fields(first)) == (200, b'content', (FIELD, 999))
    assert first.one('Retry-After') is None

    unchanged = server.request('/file.txt', headers=[('If-None-Match', first.one('ETag'))])
    assert (unchanged.status, fields(unchanged)) == (304, (FIELD, 998))
    head = server.request('/file.txt', 'HEAD')
    assert (head.status, head.one('Content-Length'), fields(head)) == (200, '7', (FIELD, 997))
    part = server.request('/file.txt', headers=[('Range', 'bytes=0-2')])
    assert (part.status, part.body, fields(part)) == (206, b'con', (FIELD, 996))
    missing = server.request('/none')
    assert (missing.status, fields(missing)) == (404, (FIELD, 995))
    refused = server.request('/file.txt', 'POST', body=b'x')
    assert (refused.status, fields(refused)) == (405, (FIELD, 994))


@pytest.mark.parametrize('form', ['ratelimit', 'draft-03', 'draft-07', 'x-ratelimit'])
def test_a_range_that_the_file_does_not_have(nginx, form):
    server = nginx(policies(policy(quota=1000), fields=form, cors='{expose-headers: true}'), server='''
        location / { }
        location /page/ { alias html/; error_page 416 /page.txt; }''')
    (server.directory / 'html/file.txt').write_text('content')
    (server.directory / 'html/page.txt').write_text('no such range')

    def names(response):
        return [k for k, _ in response.headers if 'ratelimit' in k.lower() or k.startswith('Access-Control')]
    expected = names(server.request('/file.txt'))
    for path in ('/file.txt', '/page/file.txt'):
        refused = server.request(path, headers=[('Range', 'bytes=99999-')])
        assert (refused.status, names(refused)) == (416, expected), path


def test_members_have_the_window_of_the_policy(nginx):
    server = nginx(policies(policy('a', 100, '1m'), policy('b', 10, '250ms'),
                            policy('c', 7, '1h', unit='content-bytes')))
    response = server.request('/none')
    assert response.one('RateLimit-Policy') == \
        '"a";q=100;w=60, "b";q=10;w=1, "c";q=7;qu="content-bytes";w=3600'
    # 99 at 100 per minute; 9 at 10 per quarter of a second, rounded up to a whole second; 6 at 7 per hour.
    assert response.one('RateLimit') == '"a";r=99;t=60, "b";r=9;t=1, "c";r=6;t=3086'


def test_return_is_limited_like_everything_else(nginx):
    server = nginx(policies(policy(quota=1)), server='location / { return 200 "hello\\n"; }')
    first = server.request()
    assert (first.status, first.body, first.r) == (200, b'hello\n', 0)
    assert server.request().status == 429


@pytest.mark.at_once
def test_return_outside_of_locations_is_told_but_cannot_be_denied(nginx):
    server = nginx(policies(policy(quota=1)), server='return 301 https://example.com/;')
    for _ in range(2):
        response = server.request()
        assert (response.status, response.r) == (301, 0)
        assert response.one('Retry-After') is None
        assert response.one('Location') == 'https://example.com/'
    assert [line[2] for line in server.access(2)] == ['admitted', 'denied']


@pytest.mark.at_once
def test_errors_in_the_request_itself(nginx):
    server = nginx(ONE, server='client_max_body_size 10; large_client_header_buffers 2 1k;')
    with Connection(server.port) as connection:
        connection.send(b'GET / HTTP/1.1\r\n\r\n')  # no Host
        response = connection.receive()
        assert (response.status, fields(response)) == (400, (FIELD, 999))
    large = server.request('/', 'POST', body=b'x' * 11)
    assert (large.status, fields(large)) == (413, (FIELD, 998))
    long_header = server.request('/', headers=[('X', 'x' * 2000)])
    assert (long_header.status, fields(long_header)) == (400, (FIELD, 997))
    assert server.request('/none').r == 996


@pytest.mark.at_once
@pytest.mark.parametrize('page', ['/page.txt', '@page'])
def test_error_pages_of_what_has_no_location_are_no_denials(nginx, page):
    server = nginx(policies(policy(quota=2)), server=f'''
        error_page 400 403 413 414 {page}; client_max_body_size 10; large_client_header_buffers 2 1k;
        if ($arg_refused) {{ return 403; }}
        rewrite ^/changed /limited last;
        location / {{ return 200; }}
        location = /page.txt {{ return 200 "page"; }}
        location @page {{ return 200 "page"; }}
        location = /free {{ headgate off; error_page 404 /limited; return 404; }}
        location = /rewritten {{ headgate off; rewrite ^ /limited last; }}''')
    lines = [b'GET /?refused=1 HTTP/1.1\r\nHost: a\r\n\r\n',
             b'GET / HTTP/1.1\r\n\r\n',
             b'GET / HTTP/1.1\r\nHost: u@a\r\n\r\n',
             b'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n']
    if page == '/page.txt':  # nginx has no named location for a request without a path
        lines += [b'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n',
                  b'GET /' + b'x' * 3000 + b' HTTP/1.1\r\nHost: a\r\n\r\n']
    for n, line in enumerate(lines):
        with Connection(server.port) as connection:
            connection.send(line)
            response = connection.receive()
        assert response.status in (400, 403, 413, 414) and response.body == b'page', line
        assert (response.r, response.one('Retry-After')) == (max(1 - n, 0), None), line
    for path in ('/', '/changed', '/free', '/rewritten'):  # as all others
        assert server.request(path).status == 429, path


@pytest.mark.parametrize('status', ['=', '=200'])
def test_an_error_page_that_is_an_answer_of_its_own_is_limited(nginx, status):
    server = nginx(policies(policy(quota=2)), server=f'''
        error_page 418 {status} @other; if ($arg_other) {{ return 418; }}
        location / {{ return 200 "page"; }} location @other {{ return 200 "other"; }}''')
    answers = [server.request('/?other=1') for _ in range(3)]
    assert [(answer.status, answer.r) for answer in answers] == [(200, 1), (200, 0), (429, 0)]
    assert answers[0].body == b'other'


@pytest.mark.at_once
def test_an_error_page_with_a_status_of_errors_is_no_denial(nginx):
    server = nginx(policies(policy(quota=2)), server="""
        error_page 418 =403 @other; if ($arg_other) { return 418; }
        location / { return 200; } location @other { return 200 "other"; }""")
    answers = [server.request('/?other=1') for _ in range(3)]
    assert [(answer.status, answer.r, answer.body) for answer in answers] == [(403, r, b'other') for r in (1, 0, 0)]
    assert server.request('/').status == 429


@pytest.mark.at_once
def test_requests_whose_path_is_not_to_be_made_out(nginx):
    server = nginx(policies(policy(quota=1000, name='all'),
                            policy(quota=1000, name='paths', match='[{path: "/*"}]'),
                            policy(quota=1000, name='gets', match='[{method: GET}]'),
                            policy(quota=1000, name='host', match='[{host: a}]')),
                   server='location / { return 200; }')
    lines = {b'GET /%zz HTTP/1.1': 'gets', b'GET /a%00b HTTP/1.1': 'gets', b'GET /../a HTTP/1.1':
             'gets', b'CONNECT a:443 HTTP/1.1': '', b'OPTIONS * HTTP/1.1': '', b'NONSENSE': '',
             b'GET / HTTP/9.1': '', b'\x16\x03\x01\x02': ''}
    for n, (line, also) in enumerate(lines.items(), 1):
        with Connection(server.port) as connection:
            connection.send(line + b'\r\nHost: a\r\n\r\n')
            response = connection.receive()
        assert response.status in (400, 405, 505), line
        names = [member.split(';')[0] for member in response.one('RateLimit').split(', ')]
        assert names[0] == '"all"' and ('"gets"' in names) == (also == 'gets'), line
        assert '"paths"' not in names, line
        assert response.r == 1000 - n, line
    assert server.request().r == 1000 - len(lines) - 1


@pytest.mark.at_once
def test_chunked_body_beyond_the_limit(nginx, upstream):
    origin = upstream()
    server = nginx(policies(policy(quota=1000, cost='request-bytes', unit='content-bytes')),
                   server=f'''client_max_body_size 10;
                   location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}''')
    with Connection(server.port) as connection:
        connection.send(b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
                        b'14\r\n' + b'x' * 20 + b'\r\n0\r\n\r\n')
        response = connection.receive()
    assert response.status == 413
    assert len(response.all('RateLimit')) == 1
    assert origin.requests == []


UPLOADS = policies(policy(quota=1000, cost='request-bytes', unit='content-bytes',
                          match='[{path: "/up*"}]'))
CHUNKED = b' HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'


def test_only_bodies_that_a_policy_counts_are_waited_for(nginx):
    server = nginx(UPLOADS, server='location / { return 200; }')
    with Connection(server.port) as connection:
        connection.send(b'POST /other' + CHUNKED)  # no chunk yet
        assert connection.receive().status == 200


def test_a_body_that_breaks_off_is_charged_as_far_as_it_came(nginx):
    server = nginx(UPLOADS, server='location / { return 200; }')
    with Connection(server.port) as connection:
        connection.send(b'POST /up' + CHUNKED + b'14\r\n' + b'x' * 20 + b'\r\n')
    until(lambda: server.request('/up').r == 980, 'what came is charged')


def test_proxied_and_bad_gateway(nginx, upstream):
    origin = upstream(lambda method, path, *_: (int(path[1:4]), [], b'body'))
    server = nginx(ONE, server=f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location /gone {{ proxy_pass http://127.0.0.1:1; }}''')
    for n, status in enumerate((200, 201, 302, 404, 503)):
        response = server.request(f'/{status}')
        assert (response.status, fields(response)) == (status, (FIELD, 999 - n))
    gone = server.request('/gone')
    assert (gone.status, fields(gone)) == (502, (FIELD, 994))


def test_retransmission_to_another_upstream_is_charged_once(nginx, upstream):
    dead = upstream(lambda *_: (None, [], b''))
    good = upstream()
    server = nginx(ONE, http=f'''upstream both {{ server 127.0.0.1:{dead.port} max_fails=0;
                                 server 127.0.0.1:{good.port} backup; }}''',
                   server='location / { proxy_pass http://both; }')
    assert fields(server.request()) == (FIELD, 999)
    assert fields(server.request()) == (FIELD, 998)
    assert len(dead.requests) == len(good.requests) == 2


def test_websocket(nginx, upstream):
    origin = upstream(lambda *_: (101, [('Upgrade', 'websocket'), ('Connection', 'upgrade')], b''))
    server = nginx(ONE, server=f'''location / {{
        proxy_pass http://127.0.0.1:{origin.port}; proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }}''')
    with Connection(server.port) as connection:
        response = connection.request(headers=[('Upgrade', 'websocket'), ('Connection', 'upgrade')])
        assert (response.status, fields(response)) == (101, (FIELD, 999))
        connection.send(b'over the upgraded connection')
        assert connection.take(28) == b'over the upgraded connection'
    assert server.access(1)[0][1:3] == ['101', 'admitted']


def test_upgrades_as_in_the_manual(nginx, upstream):
    origin = upstream(lambda m, path, headers, *_:
                      (101, [('Connection', 'upgrade'), ('Upgrade', 'websocket')], b'')
                      if any(name.lower() == 'upgrade' for name, _ in headers) else (200, [], b'page'))
    manual = (ROOT / 'docs/nginx.md').read_text().split('### Upgrades')[1]
    maps, location = manual.split('```nginx')[1].split('```')[0].split('server {')
    location = location.rsplit('}', 1)[0].replace('...', f'proxy_pass http://127.0.0.1:{origin.port};')
    server = nginx(ONE, http=maps, server=location)
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; {location}')
    server.reload()
    for protocol, status in (('websocket', 101), ('WebSocket', 101), ('h2c', 200), ('websocket, h2c', 200)):
        headers = [('Connection', 'upgrade, http2-settings'), ('Upgrade', protocol), ('HTTP2-Settings', 'AAMAAABk')]
        assert server.request('/', headers=headers).status == status, protocol
    assert http2.status(server.other_port, headers=[('Upgrade', 'websocket')]) == 200


def test_http10(nginx):
    server = nginx(ONE, server='location / { return 200 "hello"; }')
    response = server.request(version='1.0')
    assert (response.body, fields(response)) == (b'hello', (FIELD, 999))


def test_http2(nginx):
    server = nginx(policies(policy(quota=2)), server='location / { return 200 "hello"; }')
    server.write(server=f'''listen 127.0.0.1:{server.other_port} http2;
                            location / {{ return 200 "hello"; }}''')
    server.reload()

    def request():
        done = subprocess.run(
            ['curl', '-sS', '-i', '--http2-prior-knowledge', '-m', '10',
             f'http://127.0.0.1:{server.other_port}/'], capture_output=True, check=True, text=True)
        return done.stdout

    first = request()
    assert first.startswith('HTTP/2 200')
    assert f'\nratelimit-policy: "burst";q=2;w={YEAR}\n' in first
    assert '\nratelimit: "burst";r=1;t=' in first
    request()
    denied = request()
    assert denied.startswith('HTTP/2 429')
    assert 'retry-after: ' in denied and '"violated-policies":["burst"]' in denied


def test_http2_body_without_length(nginx, upstream):
    origin = upstream()
    server = nginx(policies(policy(quota=100, cost='request-bytes', unit='content-bytes')))
    server.write(server=f'''listen 127.0.0.1:{server.other_port} http2;
                            location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}''')
    server.reload()
    done = subprocess.run(
        ['curl', '-sS', '-i', '--http2-prior-knowledge', '-m', '10', '-T', '-',
         f'http://127.0.0.1:{server.other_port}/'],
        input=b'x' * 30, capture_output=True, check=True)
    assert b'ratelimit: "burst";r=70;t=' in done.stdout
    done = subprocess.run(
        ['curl', '-sS', '-i', '--http2-prior-knowledge', '-m', '10',
         f'http://127.0.0.1:{server.other_port}/'], capture_output=True, check=True)
    assert b'ratelimit: "burst";r=70;t=' in done.stdout


def test_nothing_in_trailers_and_nothing_where_it_is_off(nginx, upstream):
    origin = upstream(lambda *_: (200, [('Content-Type', 'text/html')], b'from upstream'))
    server = nginx(ONE, server=f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location /free {{ headgate off; return 200; }}
        location /chunked {{ proxy_pass http://127.0.0.1:{origin.port}/;
                             sub_filter from "much longer, and so without a length"; }}''')
    chunked = server.request('/chunked', headers=[('TE', 'trailers')])
    assert chunked.one('Transfer-Encoding') == 'chunked'  # and the client refuses trailers
    assert fields(chunked) == (FIELD, 999)
    free = server.request('/free')
    assert (free.all('RateLimit'), free.all('RateLimit-Policy')) == ([], [])
    assert server.request().r == 998
    assert server.access(3)[1][2:] == ['off', '-', '-']


def test_match_sees_the_path_that_the_client_asked_for(nginx):
    server = nginx(policies(policy(match='[{path: "/api/*", method: [GET], host: example.org}]',
                                   quota=100)),
                   server='''rewrite ^/api/v1/(.*) /v1/$1; rewrite ^/other/ /api/here;
                             location /v1/ { return 200 "$uri"; }
                             location / { return 200; }''')

    def r(path, method='GET', host='example.org'):
        response = server.request(path, method, host=host)
        return response.r if response.all('RateLimit') else None

    assert r('/api/v1/x') == 99      # nginx rewrites before it chooses a location
    assert r('/a/../api/%76%31/x?y=1') == 98
    assert r('//api//x') == 97
    assert r('/other/x') is None     # although it was rewritten to /api/here
    assert r('/api/x', method='HEAD') is None
    assert r('/api/x', host='example.com') is None
    assert r('/api/x', host='EXAMPLE.org:8080') == 96


def test_match_sees_the_path_of_http2_too(nginx):
    rewritten = 'rewrite ^/api/(.*) /v1/$1; location / { return 200 "$uri?$args"; }'
    server = nginx(policies(policy(match='[{path: "/api/*"}]', key='[query:k]')))
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; {rewritten}')
    server.reload()
    for k, r in (('a', 4), ('b', 4), ('a', 3)):
        done = subprocess.run(
            ['curl', '-sS', '-i', '--http2-prior-knowledge', '--path-as-is', '-m', '10',
             f'http://127.0.0.1:{server.other_port}/x/../%61pi/y?k={k}'], capture_output=True,
            check=True, text=True)
        assert f'ratelimit: "burst";r={r};t=' in done.stdout, done.stdout
        assert done.stdout.endswith(f'/v1/y?k={k}')


def test_upstream_header_of_the_request_is_not_ours_to_change(nginx, upstream):
    seen = []
    origin = upstream(lambda m, p, headers, b: (seen.append(headers), (200, [], b''))[1])
    server = nginx(ONE, server=f'location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}')
    server.request(headers=[('X-Mine', 'a'), ('X-Mine', 'b')])
    assert [v for k, v in seen[0] if k == 'X-Mine'] == ['a', 'b']
    assert not [k for k, _ in seen[0] if k.lower().startswith('ratelimit')]


@pytest.mark.parametrize('fields_setting, names', [('none', set()),
                                                   ('[ratelimit]', {'ratelimit',
                                                                    'ratelimit-policy'})])
def test_fields_setting(nginx, fields_setting, names):
    server = nginx(policies(policy(), fields=fields_setting))
    seen = {k.lower() for k, _ in server.request('/none').headers if 'ratelimit' in k.lower()}
    assert seen == names


def test_report_when_denied(nginx):
    server = nginx(policies(policy(quota=1), report_when='denied'))
    assert server.request('/none').all('RateLimit') == []
    denied = server.request('/none')
    assert (denied.status, denied.r) == (429, 0)
