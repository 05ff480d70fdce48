"""Requests that a web page of another site can make a browser send."""
import json

import pytest

from support.http_client import Connection, request

DECIDE = b'{"checks": [{"policy": "burst"}]}'
JSON = ('Content-Type', 'application/json')
FOREIGN = [[('Origin', 'http://evil.example')], [('Origin', 'null')],
           [('Sec-Fetch-Site', 'cross-site')], [('Sec-Fetch-Site', 'same-site')]]


@pytest.mark.parametrize('fields', FOREIGN)
@pytest.mark.parametrize('path, method', [('/v1/decide', 'POST'), ('/v1/top', 'GET'), ('/metrics', 'GET'),
                                          ('/v1/policies', 'GET'), ('/auth', 'GET'), ('/json', 'POST')])
def test_a_foreign_page_is_refused(serve, path, method, fields):
    server = serve()
    host = f'127.0.0.1:{server.port}'
    with Connection(server.port) as connection:
        body = DECIDE if method == 'POST' else b''
        answer = connection.request(path, method, [JSON, *fields], body, host=host)
        assert answer.status == 403
        assert b'a page of another site' in answer.body
    with Connection(server.port) as connection:
        left = json.loads(connection.request('/v1/decide', 'POST', [JSON], DECIDE, host=host).body)
        assert left['results'][0]['r'] == 99, 'the page has spent nothing'


def test_a_name_that_points_here_is_refused(serve):
    server = serve()
    with Connection(server.port) as connection:
        for host in ('evil.example', f'evil.example:{server.port}', '127.0.0.1.evil.example', '192.0.2.1'):
            for path in ('/v1/top', '/metrics', '/v1/policies', '/auth'):
                answer = connection.request(path, host=host)
                assert answer.status == 403
                assert b'expected a Host of this machine' in answer.body
        proxied = [('X-Forwarded-For', '192.0.2.1')]
        assert connection.request('/auth', headers=proxied, host=f'evil.example:{server.port}').status == 403
        assert connection.request('/auth', headers=proxied, host='api.example').status == 200
        for host in ('127.0.0.1', f'localhost:{server.port}', 'headgate'):
            assert connection.request('/v1/top', host=host).status == 200


@pytest.mark.parametrize('type', ['text/plain', 'text/plain; application/json', 'multipart/form-data',
                                  'application/x-www-form-urlencoded', 'application/jsonx', ''])
def test_a_body_that_is_not_json_by_its_type_is_refused(serve, type):
    server = serve()
    for path in ('/v1/decide', '/json'):
        with Connection(server.port) as connection:
            answer = connection.request(path, 'POST', [('Content-Type', type)], DECIDE)
            assert answer.status == 415
            assert b'expected Content-Type: application/json' in answer.body
    with Connection(server.port) as connection:
        for good in ([JSON], [('Content-Type', 'Application/JSON; charset=utf-8')], []):
            assert connection.request('/v1/decide', 'POST', good, DECIDE).status == 200


def test_a_token_is_proof_enough(serve, tmp_path):
    """A page does not know it. A proxy with a name of its own may stand in front."""
    (tmp_path / 'token').write_text('correct-horse-battery')
    server = serve(arguments=('--token-file', tmp_path / 'token'))
    with Connection(server.port) as connection:
        for fields in FOREIGN:
            answer = connection.request('/v1/top', headers=[
                *fields, ('Authorization', 'Bearer correct-horse-battery')], host='limits.example')
            assert answer.status == 200


def test_what_has_no_data_is_open(serve):
    server = serve()
    for path in ('/', '/healthz'):
        answer = request(server.port, path, headers={'Host': 'lb.example', 'Sec-Fetch-Site': 'cross-site'})
        assert answer.status == 200
