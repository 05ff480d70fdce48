"""examples/nginx does what its README says."""
import pathlib

import pytest

from support import proxies
from support.environment import MODULE
from support.nginx import NGINX, Nginx
from support.processes import free_port, until

EXAMPLE = pathlib.Path(__file__).parents[2] / 'examples/nginx'


@pytest.fixture
def example(tmp_path):
    """The example, with other ports."""
    port, api_port = free_port(), free_port()
    text = (EXAMPLE / 'nginx.conf').read_text()
    (tmp_path / 'nginx.conf').write_text(
        text.replace('127.0.0.1:8080', f'127.0.0.1:{port}')
            .replace('127.0.0.1:8081', f'127.0.0.1:{api_port}'))
    (tmp_path / 'headgate.yaml').write_text(proxies.policies(EXAMPLE))

    class Example(Nginx):
        def __init__(self):
            self.directory, self.port, self.process = tmp_path, port, None

        def command(self, *arguments):
            return [NGINX, '-p', f'{tmp_path}/', '-e', 'error.log',
                    '-c', f'{tmp_path}/nginx.conf',
                    '-g', f'load_module {MODULE}; user root;', *arguments]

    server = Example()
    yield server.start()
    server.stop()


def test_readme(example):
    key = [('X-API-Key', 'me')]
    for n in range(10):
        response = example.request('/v1/things', headers=key)
        assert (response.status, response.body) == (200, b'hello\n')
        assert response.one('RateLimit-Policy') == '"burst";q=10;w=3600, "daily";q=1000;w=86400'
        assert response.one('RateLimit').startswith(f'"burst";r={9 - n};t=')
    denied = example.request('/v1/things', headers=key)
    assert denied.status == 429
    assert denied.one('Retry-After') == denied.one('RateLimit').split(';t=')[1].split(',')[0]
    assert example.request('/v1/things', headers=[('X-API-Key', 'you')]).status == 200

    assert [example.request('/login').status for _ in range(4)] == [200, 200, 200, 429]
    assert b'Please try again later' in example.request('/login').body
    assert [example.request('/next/').status for _ in range(3)] == [200] * 3
    assert example.request('/health').all('RateLimit') == []
    counts = example.metrics()
    assert counts['headgate_decisions_total{policy="login",outcome="denied"}'] == 2
    assert counts['headgate_decisions_total{policy="next",outcome="shadow-denied"}'] == 2

    example.stop()
    example.start()
    assert example.request('/login').status == 429
    log = (example.directory / 'access.log').read_text()
    assert '"GET /login HTTP/1.1" 429 limits=denied policy=login left=0\n' in log


def test_refunds(example):
    you = [('X-API-Key', 'you')]
    assert [example.request('/v1/broken', headers=you).status for _ in range(12)] == [503] * 12
    # A refund is made when the response has been sent, possibly after the next request of the client.
    until(lambda: example.metrics()['headgate_refunds_total{policy="burst"}'] == 12,
                  'all refunds are made')
    assert example.request('/v1/things', headers=you).r == 9
