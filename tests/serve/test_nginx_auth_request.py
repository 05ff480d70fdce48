"""examples/nginx-auth-request does what its README says, with the nginx that is installed."""
import json

import pytest

from support import proxies
from support.environment import ROOT
from support.processes import free_port
from support.raw_server import Upstream

EXAMPLE = ROOT / 'examples/nginx-auth-request'
ME = [('X-API-Key', 'me')]


@pytest.fixture
def example(serve, tmp_path):
    """(the example's nginx with other ports, its decision server)"""
    # One test stops it: then the port is nobody's.
    server = serve(proxies.policies(EXAMPLE), doors={'http': f'127.0.0.1:{free_port()}'})
    port = free_port()
    proxy = proxies.nginx(tmp_path, proxies.with_ports(
        (EXAMPLE / 'nginx.conf').read_text(),
        {8080: port, 8081: server.port, 8082: free_port()}), port)
    yield proxy, server
    proxy.stop()


def test_the_fields_reach_the_client(example):
    proxy, _ = example
    denied = proxies.spend_all_of_ten(lambda path: proxy.request(path, headers=ME), '/v1/things',
                                      b'hello\n')
    assert json.loads(denied.body)['status'] == 429
    assert proxy.request('/v1/things', headers=[('X-API-Key', 'you')]).status == 200


def test_the_upstream_finds_no_other_key_than_headgate(serve, tmp_path):
    seen = []
    text = (EXAMPLE / 'nginx.conf').read_text()
    with Upstream(lambda method, path, headers, body: (seen.append(headers), (200, [], b''))[1]) as upstream:
        port, server = free_port(), serve(proxies.policies(EXAMPLE))
        text = text.replace('proxy_pass http://127.0.0.1:8082', f'proxy_pass http://127.0.0.1:{upstream.port}')
        proxy = proxies.nginx(tmp_path, proxies.with_ports(
            text, {8080: port, 8081: server.port, 8082: free_port()}), port)
        try:
            for n in range(11):
                proxy.request('/v1/things', headers=[('X-API-Key', 'me'), ('X-API-Key', f'{n}')])
        finally:
            proxy.stop()
    keys = [[value for name, value in headers if name.lower() == 'x-api-key'] for headers in seen]
    assert all(len(key) == 1 for key in keys), keys
    assert all(keys.count(key) <= 10 for key in keys), keys


def test_requests_with_bodies(example):
    proxy, _ = example
    statuses = [proxy.request('/login', 'POST', body=b'user=me' * 10000).status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert proxy.request('/login').status == 200  # only POST counts


def test_what_is_free_has_no_fields(example):
    proxy, _ = example
    assert [proxy.request('/').status for _ in range(20)] == [200] * 20
    assert proxy.request('/').all('RateLimit') == []


@pytest.mark.parametrize('headers', [
    [('X-Forwarded-Uri', '/free'), ('X-Forwarded-Method', 'GET'), ('X-Forwarded-For', '9.9.9.9')],
    [('X-Original-URI', '/free'), ('X-Original-Method', 'GET'), ('X-Original-URL', 'http://a/b'),
     ('X-Original-Host', 'other')],
    [('X-Real-IP', '9.9.9.9'), ('Forwarded', 'for=9.9.9.9')],
])
def test_clients_cannot_speak_for_the_proxy(example, headers):
    proxy, _ = example
    statuses = [proxy.request('/login', 'POST', headers=headers).status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_paths_are_judged_as_nginx_understands_them(example):
    proxy, _ = example
    for n, path in enumerate(['/v1/a', '/v1//a', '/x/../v1/a', '/%761/a', '/./v1/a?b', '/v1/%2e/']):
        assert proxy.request(path, headers=ME).r == 9 - n
    assert proxy.request('/v1/%zz', headers=ME).status == 400  # from nginx itself


def test_requests_fail_if_the_decision_server_is_gone(example):
    proxy, server = example
    assert proxy.request('/').status == 200
    server.kill()
    assert proxy.request('/').status == 500


def test_unless_nginx_is_configured_to_go_on(serve, tmp_path):
    port = free_port()
    text = proxies.with_ports((EXAMPLE / 'nginx.conf').read_text(),
                            {8080: port, 8081: free_port(), 8082: free_port()})
    assert text.count('internal;') == 1
    text = text.replace('internal;', 'internal; error_page 502 504 = @open;')
    text = text.replace('location @denied {', 'location @open { return 204; } location @denied {')
    proxy = proxies.nginx(tmp_path, text, port)
    try:
        assert proxy.request('/v1/things').body == b'hello\n'
    finally:
        proxy.stop()
