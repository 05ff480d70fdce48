"""ANY /auth, as bytes."""
import json

import pytest

from support.http_client import Connection

POLICIES = '''
version: 1
client-address: {trusted-proxies: [10.0.0.1]}
policies:
  - {name: burst, quota: 2, window: 60s, match: [{path: "/v1/*"}]}
  - {name: writes, quota: 1, window: 60s, status: 503, match: [{method: POST, host: api.example}]}
  - {name: tried, quota: 1, window: 60s, mode: shadow, match: [{path: "/next"}]}
  - {name: by-path, quota: 100, window: 60s, key: [path], match: [{path: "/p/*"}]}
  - {name: by-header, quota: 100, window: 60s, key: ["header:authorization"],
     match: [{path: "/h"}]}
'''


@pytest.fixture
def auth(serve):
    """Requests /auth of a new server, as a proxy does: auth(uri, method, address, ...)."""
    with Connection(serve(POLICIES).port) as connection:
        def auth(uri='/', method='GET', address='192.0.2.1', headers=(), path='/auth',
                 sent_with='GET', body=b''):
            return connection.request(path, sent_with, [
                ('X-Forwarded-Uri', uri), ('X-Forwarded-Method', method),
                ('X-Forwarded-Proto', 'http'), ('X-Forwarded-Host', 'api.example'),
                ('X-Forwarded-For', address), *headers], body)
        yield auth


def test_admissions_and_denials_have_their_fields(auth):
    for r in (1, 0):
        response = auth('/v1/a')
        assert (response.status, response.body) == (200, b'')
        assert response.one('RateLimit-Policy') == '"burst";q=2;w=60'
        assert response.r == r
        assert response.one('Retry-After') is None
    response = auth('/v1/a')
    assert response.status == 429
    t = response.one('Retry-After')
    assert response.one('RateLimit') == f'"burst";r=0;t={t}'
    assert response.one('Content-Type') == 'application/problem+json'
    assert json.loads(response.body)['violated-policies'] == ['burst']
    assert auth('/v1/a', headers=[('Accept', 'text/html')]).body == b''
    assert auth('/v1/a', address='192.0.2.2').status == 200
    assert auth('/other').all('RateLimit') == []


@pytest.mark.parametrize('sent_with', ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PURGE'])
def test_any_method_may_be_used(auth, sent_with):
    assert auth('/v1/a', sent_with=sent_with, body=b'a body' * 100).r == 1
    assert auth('/v1/a', sent_with='HEAD').r == 0


def test_a_denial_has_the_policys_status_or_that_of_the_query(auth):
    assert auth('/', 'POST').status == 200
    assert auth('/', 'POST').status == 503
    denied = auth('/', 'POST', path='/auth?deny=403')
    assert denied.status == 403
    assert denied.one('X-Headgate-Status') == '503'
    assert denied.one('X-Headgate-Verdict') == 'denied'
    assert denied.one('X-Headgate-Policy') == 'writes'
    assert denied.one('X-Headgate-Remaining') == '0'
    assert denied.one('Retry-After')
    assert json.loads(denied.body)['status'] == 503
    admitted = auth('/v1/a', path='/auth?deny=403')
    assert admitted.status == 200
    assert admitted.one('X-Headgate-Status') is None
    assert admitted.one('X-Headgate-Verdict') == 'admitted'
    assert admitted.one('X-Headgate-Policy') is None
    assert admitted.one('X-Headgate-Remaining') == '1'
    assert auth('/none', path='/auth?deny=403').one('X-Headgate-Verdict') == 'off'
    assert [auth('/next', path='/auth?deny=403').one('X-Headgate-Verdict') for _ in range(2)] == [
        'admitted', 'shadow-denied']
    # Without `deny` in the query there are no such fields.
    assert auth('/', 'POST').all('X-Headgate-Status') == []


@pytest.mark.parametrize('deny', ['', '200', '399', '600', '4030', '4o3', '-403'])
def test_a_denial_is_no_success(auth, deny):
    response = auth('/v1/a', path=f'/auth?deny={deny}')
    assert response.status == 400
    assert 'expected a status from 400 to 599' in json.loads(response.body)['detail']
    assert auth('/v1/a').r == 1


def test_what_follows_the_proxys_own_query_may_be_the_clients(auth):
    assert auth('/v1/a', path='/auth?deny=403&deny=x&k=1').status == 200
    assert auth('/v1/a', path='/auth?k=1&x').status == 200
    assert auth('/v1/a', path='/auth?k=1&deny=404').status == 404


def test_paths_are_judged_as_upstreams_understand_them(auth):
    for uri in ('/p/a', '/p//a', '/p/./a?x=1', '/p/b/../a', '/%70/%61', 'http://api.example/p/a'):
        response = auth(uri)
        assert response.all('X-Headgate-Note') == []
    assert auth('/p/a').r == 93


def test_a_malformed_uri_is_charged_and_noted(auth):
    for r, uri in ((99, '/p/%zz'), (98, '/p/%zz'), (99, '/x#/../p/a'), (98, '/p/a#1')):
        response = auth(uri)
        assert (response.r, response.one('X-Headgate-Note')) == (r, 'malformed-uri')


def test_a_request_without_a_uri(serve):
    with Connection(serve().port) as connection:
        response = connection.request('/auth')
        assert (response.status, response.r) == (200, 99)
        assert response.one('X-Headgate-Note') == 'no-uri'


def test_contradictions_are_refused(auth):
    response = auth('/v1/a', headers=[('X-Original-URI', '/free')])
    assert response.status == 400
    assert 'name different URIs' in json.loads(response.body)['detail']
    assert auth('/v1/a', headers=[('X-Original-Method', 'PUT')]).status == 400
    assert auth('/v1/a', headers=[('X-Original-URI', '/v1/a')]).r == 1


def test_the_peer_is_the_last_address_that_the_proxy_added(auth):
    assert auth('/v1/a', address='9.9.9.9, 192.0.2.1').r == 1
    assert auth('/v1/a', address='8.8.8.8, 192.0.2.1').r == 0
    assert auth('/v1/a', address='192.0.2.1, 10.0.0.1').status == 429  # a trusted proxy
    assert auth('/v1/a', address='9.9.9.9', headers=[('X-Real-IP', '192.0.2.1')]).r == 1
    assert auth('/v1/a', address='8.8.8.8', headers=[('X-Real-IP', '192.0.2.1')]).r == 0


def test_clients_keep_their_own_authorization(serve, tmp_path):
    token = 'a-secret-of-some-length'
    (tmp_path / 'token').write_text(token)
    server = serve(POLICIES, arguments=('--token-file', tmp_path / 'token'))
    with Connection(server.port) as connection:
        def left(*headers):
            return connection.request('/auth', headers=[('X-Forwarded-Uri', '/h'), *headers]).r

        own = ('X-Headgate-Token', token)
        assert left(own, ('Authorization', 'Basic one')) == 99
        assert left(own, ('Authorization', 'Basic one')) == 98
        assert left(own, ('Authorization', 'Basic two')) == 99
        # A token in Authorization is the proxy's, and no key of a client.
        assert left(('Authorization', f'Bearer {token}')) == 99
        assert left(own) == 98


def test_forms_of_the_fields(serve):
    server = serve('''
version: 1
fields: [draft-03]
problem-details: false
policies: [{name: burst, quota: 1, window: 60s}]
''')
    with Connection(server.port) as connection:
        assert connection.request('/auth').one('RateLimit-Remaining') == '0'
        denied = connection.request('/auth')
        assert (denied.status, denied.body) == (429, b'')
        assert denied.one('RateLimit-Reset') == denied.one('Retry-After')


def test_pages_of_other_origins_may_read_the_fields(serve):
    cors = POLICIES + 'cors: {expose-headers: true, preflights: free}\nfields: [ratelimit, x-ratelimit]\n'
    with Connection(serve(cors).port) as connection:
        def auth(method, uri, *headers):
            return connection.request('/auth', 'GET', [('X-Forwarded-Uri', uri), ('X-Forwarded-Method', method),
                                                       ('X-Forwarded-Host', 'api.example'), *headers])
        asked = ('Origin', 'https://app.example'), ('Access-Control-Request-Method', 'PUT')
        preflight = auth('OPTIONS', '/v1/a', *asked)
        assert (preflight.status, preflight.all('RateLimit')) == (200, [])
        assert preflight.all('Access-Control-Expose-Headers') == []
        response = auth('PUT', '/v1/a', *asked)
        assert response.r == 1
        assert response.all('Access-Control-Expose-Headers') == [
            'RateLimit-Policy, RateLimit, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, '
            'Retry-After']
        assert auth('OPTIONS', '/v1/a').r == 0
