"""The response to a denied client."""
import json

from support.http_client import Connection
from support.policies import YEAR, policies, policy
from support.processes import until

NONE_LEFT = policies(policy(quota=1))


def exhausted(server, **kwargs):
    assert server.request(**kwargs).status != 429
    return server


def test_problem_document(nginx):
    server = exhausted(nginx(policies(policy(quota=1), policy('shared', 1, key='[]'))))
    denied = server.request()
    assert denied.status == 429
    assert denied.one('Content-Type') == 'application/problem+json'
    assert json.loads(denied.body) == {
        'type': 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        'title': 'Request cannot be satisfied as assigned quota has been exceeded',
        'status': 429, 'violated-policies': ['burst', 'shared']}
    wait = denied.one('Retry-After')
    assert YEAR - 60 < int(wait) <= YEAR
    assert denied.one('RateLimit') == f'"burst";r=0;t={wait}, "shared";r=0;t={wait}'
    assert denied.one('Content-Length') == str(len(denied.body))


def test_accept(nginx):
    server = exhausted(nginx(NONE_LEFT))

    def kind(*accept):
        denied = server.request(headers=[('Accept', value) for value in accept])
        assert (denied.status, denied.r) == (429, 0) and denied.one('Retry-After')
        return denied.one('Content-Type')

    problem = 'application/problem+json'
    assert kind() == kind('*/*') == kind('application/json') == kind(problem) == problem
    assert kind('text/plain', problem) == problem
    assert kind('text/html') == kind('text/html, application/*;q=0') == 'text/html'


def test_head_has_no_body(nginx):
    server = exhausted(nginx(NONE_LEFT))
    with Connection(server.port) as connection:
        denied = connection.request(method='HEAD')
        assert denied.status == 429 and int(denied.one('Content-Length')) > 100
        assert connection.request().status == 429  # nothing was left on the connection


def test_without_problem_details_there_is_no_body(nginx):
    server = exhausted(nginx(policies(policy(quota=1), problem_details='false')))
    denied = server.request()
    assert (denied.status, denied.body, denied.one('Content-Length')) == (429, b'', '0')
    assert denied.one('Content-Type') is None
    assert denied.one('Retry-After') == denied.one('RateLimit').split(';t=')[1]


def test_status_of_the_policy(nginx):
    server = exhausted(nginx(policies(policy(quota=1, status=503))))
    denied = server.request()
    assert denied.status == json.loads(denied.body)['status'] == 503


def test_every_status_is_sent_whatever_it_means_to_nginx(nginx):
    statuses = (400, 408, 418, 444, 494, 495, 496, 497, 498, 499, 500, 599)
    server = nginx(policies(*(policy(f'p{status}', 1, status=status, match=f'[{{path: /{status}}}]')
                              for status in statuses)))
    for status in statuses:
        exhausted(server, path=f'/{status}')
        for accept in ('*/*', 'text/html'):
            denied = server.request(f'/{status}', headers=[('Accept', accept)])
            assert (denied.status, denied.r) == (status, 0) and denied.one('Retry-After')


def test_never_admissible(nginx):
    server = nginx(policies(policy(quota=0)))
    denied = server.request()
    assert denied.status == 429 and denied.one('Retry-After') is None
    assert denied.one('RateLimit') == '"burst";r=0'


def test_connection_outlives_a_denial_with_a_body(nginx):
    server = exhausted(nginx(NONE_LEFT))
    with Connection(server.port) as connection:
        for body in (b'x' * 10, b'', b'y' * 300_000):
            assert connection.request('/', 'POST', body=body).status == 429
        connection.send(b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
                        b'5\r\nhello\r\n0\r\n\r\n')
        assert connection.receive().status == 429
        assert connection.request().status == 429


def test_nginx_closes_after_its_own_page_of_some_statuses(nginx):
    statuses = {400: 'close', 403: 'keep-alive', 413: 'close', 414: 'close', 500: 'close', 501: 'close'}
    server = nginx(policies(*(policy(f'p{status}', 1, status=status, match=f'[{{path: "*/{status}"}}]')
                              for status in statuses)),
                   server='location /page/ { error_page 400 403 413 414 500 501 @page; } '
                          'location @page { return 429 "page"; }')
    for status, connection in statuses.items():
        exhausted(server, path=f'/{status}')
        problem = server.request(f'/{status}')
        page = server.request(f'/{status}', headers=[('Accept', 'text/html')])
        assert (problem.one('Connection'), page.one('Connection')) == ('keep-alive', connection), status
        other = server.request(f'/page/{status}')
        assert (other.body, other.one('Connection')) == (b'page', connection), status


def test_pipelined(nginx):
    server = nginx(policies(policy(quota=3)))
    with Connection(server.port) as connection:
        connection.send(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n' * 5)
        assert [connection.receive().status == 429 for _ in range(5)] == [False] * 3 + [True] * 2


def test_error_page_replaces_the_body_and_nothing_else(nginx, upstream):
    origin = upstream(lambda *_: (200, [('Content-Type', 'text/plain')], b'from upstream'))
    pages = {'static': 'error_page 429 /slow.html;',
             'named': 'error_page 429 @slow;',
             'proxied': 'error_page 429 /proxied;'}
    server = nginx(NONE_LEFT, server=f'''
        location = /slow.html {{ internal; }}
        location @slow {{ default_type text/plain; return 429 "slow down\\n"; }}
        location = /proxied {{ internal; proxy_pass http://127.0.0.1:{origin.port}; }}
        ''' + ''.join(f'location /{name}/ {{ {directive} return 200; }}\n'
                      for name, directive in pages.items()))
    (server.directory / 'html/slow.html').write_text('<p>slow')
    assert server.request('/static/').status == 200
    bodies = {'static': b'<p>slow', 'named': b'slow down\n', 'proxied': b'from upstream'}
    for name, body in bodies.items():
        denied = server.request(f'/{name}/')
        assert (denied.status, denied.body, denied.r) == (429, body, 0), name
        assert denied.one('Retry-After') == denied.one('RateLimit').split(';t=')[1]
    assert [line[2:4] for line in server.access(4)[1:]] == [['denied', 'burst']] * 3


def test_a_denial_is_one_escaped_log_line(nginx):
    server = exhausted(nginx(NONE_LEFT))
    assert server.request('/path%0Awith%1bodd?bytes=\x80%22"').status == 429
    until(lambda: 'denied by policy "burst"' in server.log, 'the denial is logged')
    line, = [line for line in server.log.splitlines() if 'denied by policy' in line]
    assert '[notice]' in line
    assert all(' ' <= c for c in server.log if c != '\n')


def test_expect_continue(nginx):
    server = exhausted(nginx(NONE_LEFT))
    with Connection(server.port) as connection:
        connection.send(b'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n'
                        b'Content-Length: 5\r\n\r\n')
        assert connection.receive().status == 429  # and no 100 (Continue) before it
