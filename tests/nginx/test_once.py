"""One request of a client is one charge, whatever subrequests and redirects nginx makes; and refunds."""
import base64
import threading

import pytest

from support import http2
from support.environment import PATIENCE
from support.http_client import Connection
from support.policies import ONE, policies, policy


def charged(server, path, *args, **kwargs):
    """Units that this request took, as the remaining units of the next one show."""
    before = server.request('/probe').r
    server.request(path, *args, **kwargs)
    return before - server.request('/probe').r - 1


def test_subrequests_and_internal_redirects(nginx, upstream):
    origin = upstream(lambda m, path, *_: (200, [('X-Accel-Redirect', '/target')], b'')
                      if path == '/accel' else (200, [], b'origin'))
    server = nginx(ONE, server=f'''
        location = /probe {{ return 200; }}
        location = /target {{ internal; return 200 "target"; }}
        location @named {{ return 200 "named"; }}
        location = /auth {{ auth_request /check; return 404; }}
        location = /authed {{ auth_request /check; try_files /none @named; }}
        location = /check {{ internal; proxy_pass http://127.0.0.1:{origin.port}/check; }}
        location = /mirrored {{ mirror /check; try_files /none @named; }}
        location = /added {{ add_before_body /check; add_after_body /check;
                             addition_types *; try_files /page.html =404; }}
        location = /rewritten {{ rewrite ^ /again last; }}
        location = /again {{ rewrite ^ /target last; }}
        location = /accel {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location = /missing {{ error_page 404 = @named; }}
        location = /missing-page {{ error_page 404 /target; }}
        location /index/ {{ index page.html; }}
        location /index/page.html {{ }}''')
    (server.directory / 'html/page.html').write_text('page')
    (server.directory / 'html/index').mkdir()
    (server.directory / 'html/index/page.html').write_text('page')
    answers = {'/authed': b'named', '/mirrored': b'named', '/added': b'originpageorigin',
               '/rewritten': b'target', '/accel': b'target', '/missing': b'named',
               '/missing-page': b'target', '/index/': b'page'}
    for path, body in answers.items():
        response = server.request(path)
        assert response.body == body, path
        assert len(response.all('RateLimit')) == 1 and len(response.all('RateLimit-Policy')) == 1
        assert charged(server, path) == 1, path
    verdicts = {line[0]: line[2] for line in server.access(4 * len(answers))}
    assert set(verdicts.values()) == {'admitted'}


def test_a_denied_request_makes_no_subrequests(nginx, upstream):
    origin = upstream()
    server = nginx(policies(policy(quota=1)), server=f'''
        location / {{ auth_request /check; try_files /page.html =404; }}
        location = /check {{ internal; proxy_pass http://127.0.0.1:{origin.port}; }}''')
    (server.directory / 'html/page.html').write_text('page')
    assert [server.request().status for _ in range(4)] == [200, 429, 429, 429]
    assert len(origin.requests) == 1


def test_refund_by_status(nginx, upstream):
    origin = upstream(lambda m, path, *_: (int(path[1:4]), [], b''))
    server = nginx(policies(policy(quota=1000, refund_on='[5xx, 404]'),
                            policy('all', 1000, key='[]')),
                   server=f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location = /probe {{ return 200; }}
        location = /gone {{ proxy_pass http://127.0.0.1:1; }}
        location = /hidden {{ error_page 502 =200 /probe; proxy_pass http://127.0.0.1:1; }}''')
    assert charged(server, '/200') == 1
    assert charged(server, '/403') == 1
    assert charged(server, '/404') == 0
    assert charged(server, '/503') == 0
    assert charged(server, '/gone') == 0
    assert charged(server, '/hidden') == 1  # the client saw a 200
    response = server.request('/503')           # its own charge is in its fields
    assert response.r == server.request('/probe').r
    # The other policy does not refund.
    assert server.request('/probe').one('RateLimit').count('"all";r=979') == 1


def test_refund_when_the_client_has_gone(nginx, upstream):
    gate = threading.Event()
    arrived = threading.Event()

    def answer(*_):
        arrived.set()
        gate.wait(PATIENCE)
        return 200, [], b''

    origin = upstream(answer)
    server = nginx(policies(policy(quota=1000, refund_on='[499]')), server=f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location = /probe {{ return 200; }}''')
    connection = Connection(server.port)
    connection.send(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    assert arrived.wait(PATIENCE)
    connection.close()
    assert server.access(1)[0][1] == '499'
    gate.set()
    assert server.request('/probe').r == 999


def test_requests_that_overlap_keep_their_own_keys(nginx, upstream):
    gate, arrived = threading.Event(), threading.Event()

    def answer(method, path, *_):
        if path == '/slow':
            arrived.set()
            gate.wait(PATIENCE)
        return 500, [], b''

    origin = upstream(answer)
    server = nginx(policies(policy(quota=1000, refund_on='[500]', key='[header:x-key]'),
                            partition_key='plain'),
                   server=f'''location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}
                              location = /probe {{ return 200; }}''')

    def shown(response):
        pk = response.one('RateLimit').split(';pk=:')[1].rstrip(':')
        assert f';pk=:{pk}:' in response.one('RateLimit-Policy')
        return base64.b64decode(pk).decode()

    with Connection(server.port) as connection:
        connection.send(b'GET /slow HTTP/1.1\r\nHost: a\r\nX-Key: ' + b'slow' * 20 + b'\r\n\r\n')
        assert arrived.wait(PATIENCE)
        for n in range(20):
            assert shown(server.request('/fast', headers=[('X-Key', f'fast{n}' * 20)])) == f'fast{n}' * 20
        gate.set()
        assert shown(connection.receive()) == 'slow' * 20
    server.access(21)
    assert server.request('/probe', headers=[('X-Key', 'slow' * 20)]).r == 999


def test_where_the_main_request_is_free_subrequests_are(nginx, upstream):
    origin = upstream()
    server = nginx(ONE, server=f'''
        location = /probe {{ return 200; }}
        location = /page.html {{ headgate off; auth_request /check; }}
        location = /check {{ proxy_pass http://127.0.0.1:{origin.port}; }}''')
    (server.directory / 'html/page.html').write_text('page')
    free = server.request('/page.html')
    assert (free.status, free.all('RateLimit')) == (200, [])
    assert len(origin.requests) == 1
    assert server.request('/probe').r == 999


def test_a_redirect_from_a_free_location_to_a_limited_one(nginx):
    server = nginx(policies(policy(quota=2)), server='''
        location / { headgate off; try_files /none @app; }
        location @app { return 200 "app"; }
        location /missing { headgate off; error_page 404 /limited; }
        location /limited { return 404 "not here"; }''')
    assert (server.request('/a').r, server.request('/missing').r) == (1, 0)
    assert [server.request(path).status for path in ('/a', '/missing')] == [429, 429]


def test_a_request_that_no_policy_matched_is_not_decided_again(nginx, upstream):
    origin = upstream(lambda m, path, *_: (200, [('X-Accel-Redirect', '/page')], b'')
                      if path == '/accel' else (502, [], b''))
    server = nginx(policies(policy('gets', 1, match='{method: GET}')), server=f'''
        location / {{ proxy_pass http://127.0.0.1:{origin.port};
                      proxy_intercept_errors on; error_page 502 /page; error_page 404 @page; }}
        location = /missing {{ error_page 404 @page; return 404; }}
        location = /page {{ internal; return 200 "page"; }}
        location @page {{ return 200 "page"; }}
        location = /probe {{ return 200; }}''')
    for path, status in (('/failed', 502), ('/accel', 200), ('/missing', 404)):
        for _ in range(2):
            response = server.request(path, 'PUT', body=b'x')
            assert (response.status, response.body, response.all('RateLimit')) == (status, b'page', []), path
    assert [server.request('/probe').status for _ in range(2)] == [200, 429]
    assert [line[2] for line in server.access(8)] == ['off'] * 6 + ['admitted', 'denied']


@pytest.mark.at_once  # otherwise the first answer has no fields
def test_the_page_of_an_internal_location_is_limited(nginx, upstream):
    """nginx answers 404 before it calls the location's handlers, so the page is the first location."""
    origin = upstream()
    server = nginx(policies(policy(quota=3)), server=f'''
        if ($arg_gone) {{ return 404; }}
        rewrite ^/old/ /hidden/new;
        error_page 404 /page;
        location /hidden/ {{ internal; return 200 "hidden"; }}
        location = /page {{ proxy_pass http://127.0.0.1:{origin.port}; }}''')
    first = server.request('/?gone=1')  # directly in server{}: charged, and not denied
    assert (first.status, first.r, first.body) == (404, 2, b'from upstream')
    answers = [server.request('/hidden/') for _ in range(4)]
    assert [(answer.status, answer.r) for answer in answers] == [(404, 1), (404, 0), (429, 0), (429, 0)]
    assert len(origin.requests) == 3
    assert [server.request(path).status for path in ('/?gone=1', '/old/', '/hidden/')] == [404, 429, 429]


def test_a_redirect_does_not_change_the_method(nginx, upstream):
    origin = upstream(lambda *_: (200, [('X-Accel-Redirect', '/limited')], b''))
    location = f'''
        location / {{ headgate off; error_page 404 /limited; return 404; }}
        location = /accel {{ headgate off; proxy_pass http://127.0.0.1:{origin.port}; }}
        location = /limited {{ return 200 "limited"; }}'''
    server = nginx(policies(policy('posts', 4, match='{method: POST}'), policy('gets', 9, match='{method: GET}')),
                   server=location)
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; {location}')
    server.reload()
    assert [server.request(path, 'POST', body=b'x').one('RateLimit').split(';t')[0]
            for path in ('/missing', '/accel')] == ['"posts";r=3', '"posts";r=2']
    assert server.request('/missing').one('RateLimit').startswith('"gets";r=8;')
    assert [http2.status(server.other_port, '/missing', 'POST') for _ in range(3)] == [404, 404, 429]


def test_costs_from_bodies(nginx, upstream):
    origin = upstream()
    server = nginx(policies(policy(quota=1000, cost='request-bytes', unit='content-bytes')),
                   server=f'location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}')
    assert server.request().r == 1000
    assert server.request('/', 'POST', body=b'x' * 100).r == 900
    with Connection(server.port) as connection:
        connection.send(b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
                        b'5\r\nhello\r\n')
        connection.send(b'32\r\n' + b'x' * 50 + b'\r\n0\r\n\r\n')
        assert connection.receive().r == 845
        assert connection.request('/', 'POST', body=b'y' * 900).status == 429
        # Longer than what nginx keeps in memory.
        connection.send(b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
                        b'c350\r\n' + b'z' * 50000 + b'\r\n0\r\n\r\n')
        denied = connection.receive()
        assert (denied.status, denied.one('Retry-After'), denied.r) == (429, None, 845)
    assert server.request().r == 845


def test_cost_from_a_header(nginx):
    server = nginx(policies(policy(quota=100, cost='{request-header: x-cost}')),
                   server='location / { return 200; }')
    assert server.request(headers=[('X-Cost', '10')]).r == 90
    assert server.request(headers=[('X-Cost', 'ten')]).r == 89
    assert server.request().r == 88
    server.write(server='location / { return 200; } location /metrics '
                        '{ headgate off; headgate_metrics; }')
    server.reload()
    assert server.metrics()['headgate_cost_defaulted_total{policy="burst"}'] == 2


def test_two_policies_are_spent_together_or_not_at_all(nginx):
    server = nginx(policies(policy('a', 3), policy('b', 2)), server='location / { return 200; }')
    for _ in range(2):
        assert server.request().status == 200
    for _ in range(3):
        denied = server.request()
        assert denied.status == 429
        assert '"a";r=1;' in denied.one('RateLimit') and '"b";r=0;' in denied.one('RateLimit')
