"""examples/caddy does what its README says, with the Caddy that is installed."""
import json

import pytest

from support import proxies
from support.environment import ROOT
from support.http_client import Connection
from support.processes import free_port
from support.raw_server import Upstream

EXAMPLE = ROOT / 'examples/caddy'
ME = [('X-API-Key', 'me')]


@pytest.fixture
def example(serve, tmp_path):
    """The example's Caddy with other ports; short_port is that of the short form."""
    # One test stops it: then the port is nobody's.
    server = serve(proxies.policies(EXAMPLE), doors={'http': f'127.0.0.1:{free_port()}'})
    port, short, api = free_port(), free_port(), free_port()
    proxy = proxies.caddy(tmp_path, proxies.with_ports(
        (EXAMPLE / 'Caddyfile').read_text(),
        {8080: port, 8081: server.port, 8082: api, 8083: short}), port, short, api)
    proxy.short_port, proxy.decides = short, server
    yield proxy
    proxy.stop()


def test_the_fields_reach_the_client(example):
    denied = proxies.spend_all_of_ten(lambda path: example.request(path, headers=ME),
                                      '/v1/things?x=1', b'hello GET /v1/things?x=1\n')
    assert json.loads(denied.body)['violated-policies'] == ['burst']


def test_the_short_form(example):
    with Connection(example.short_port) as connection:
        for _ in range(10):
            response = connection.request('/v1/things', headers=ME)
            assert (response.status, response.body) == (200, b'hello GET /v1/things\n')
        denied = connection.request('/v1/things', headers=ME)
        assert denied.status == 429
        assert denied.one('RateLimit') == f'"burst";r=0;t={denied.one("Retry-After")}'


@pytest.fixture
def seen(serve, tmp_path):
    """seen(HEADERS): the headers with which the upstream gets a request, in both forms."""
    headers_seen = []

    def respond(method, path, headers, body):
        headers_seen.append(headers)
        return 200, [], b''

    with Upstream(respond) as upstream:
        port, short, api = free_port(), free_port(), free_port()
        ports = {8080: port, 8081: serve(proxies.policies(EXAMPLE)).port, 8083: short}
        text = (EXAMPLE / 'Caddyfile').read_text().replace('reverse_proxy 127.0.0.1:8082',
                                                           f'reverse_proxy 127.0.0.1:{upstream.port}')
        proxy = proxies.caddy(tmp_path, proxies.with_ports(text, {**ports, 8082: api}), port, short, api)

        def ask(headers):
            headers_seen.clear()
            for public in (port, short):
                with Connection(public) as connection:
                    connection.request('/v1/a', headers=headers)
            return headers_seen

        yield ask
        proxy.stop()


def values(headers, name):
    return [value for other, value in headers if other.lower().replace('_', '-') == name]


def test_the_upstream_finds_no_other_key_than_headgate(seen):
    both = seen([('X_API_Key', 'one'), ('X-API-Key', 'two'), *ME])
    assert [values(headers, 'x-api-key') for headers in both] == [['two,me']] * 2


def test_no_upgrade_but_websockets_is_passed_on(seen):
    for lines, passed_on in ((['websocket'], ['websocket']), (['WebSocket'], ['websocket']), (['h2c'], []),
                             (['websocket, h2c'], []), (['websocket', 'h2c'], [])):
        both = seen([('Connection', 'Upgrade, HTTP2-Settings'), ('HTTP2-Settings', 'AAMAAABkAAQAoAAAAAIAAAAA'),
                     *(('Upgrade', line) for line in lines)])
        assert [values(headers, 'upgrade') for headers in both] == [passed_on] * 2, lines


def test_requests_with_bodies(example):
    responses = [example.request('/login', 'POST', body=b'user=me' * 10000) for _ in range(4)]
    assert [r.status for r in responses] == [200, 200, 200, 429]
    assert responses[0].body == b'hello POST /login\n'
    assert example.request('/login').status == 200  # only POST counts


def test_what_is_free_has_no_fields(example):
    assert [example.request('/').status for _ in range(20)] == [200] * 20
    assert example.request('/').all('RateLimit') == []


@pytest.mark.parametrize('path', ['/login', '/login?deny=404', '/login?deny=x'])
@pytest.mark.parametrize('headers', [
    [],
    [('X-Forwarded-Uri', '/free'), ('X-Forwarded-Method', 'GET'), ('X-Forwarded-For', '9.9.9.9')],
    [('X-Original-URI', '/free'), ('X-Original-Method', 'GET'), ('X-Original-URL', 'http://a/b'),
     ('X-Original-Host', 'other')],
    [('X-Real-IP', '9.9.9.9'), ('Forwarded', 'for=9.9.9.9')],
])
def test_clients_cannot_speak_for_the_proxy(example, path, headers):
    for port in (example.port, example.short_port):
        with Connection(port) as connection:
            statuses = [connection.request(path, 'POST', headers=headers).status for _ in range(4)]
            assert statuses == ([200, 200, 200, 429] if port == example.port else [429] * 4)


def test_requests_fail_if_the_decision_server_is_gone(example):
    assert example.request('/').status == 200
    example.decides.kill()
    assert example.request('/').status == 502
