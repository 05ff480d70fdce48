"""examples/cookbook: each file does what it says, behind a real gateway."""
import shutil

import pytest

from support.environment import PATIENCE, ROOT
from support.http_client import Connection
from support.processes import until
from support.raw_server import Slow

COOKBOOK = ROOT / 'examples/cookbook'
FILES = sorted(COOKBOOK.glob('*.yaml'))


@pytest.fixture
def cook(gateway, directory):
    """cook(NAME) starts a gateway with NAME.yaml that believes X-Forwarded-For."""
    def start(name, *arguments, **options):
        text = (COOKBOOK / f'{name}.yaml').read_text()
        trusts = 'trusted-proxies: [127.0.0.1]'
        before, key, after = text.partition('client-address: {')
        text = f'{before}{key}{trusts}, {after}' if key else f'{text}client-address: {{{trusts}}}\n'
        if (COOKBOOK / 'routes.d').exists():
            shutil.copytree(COOKBOOK / 'routes.d', directory / 'routes.d')
        return gateway(text, *arguments, **options)
    return start


def ask(one, path='/', method='GET', address='192.0.2.1', body=b'', **headers):
    named = [(name.replace('_', '-'), value) for name, value in headers.items()]
    with Connection(one.port) as connection:
        return connection.request(path, method, [('X-Forwarded-For', address), *named], body)


def left(response):
    """{policy: r} of RateLimit."""
    members = response.one('RateLimit').split(', ')
    return {name.strip('"'): int(r.removeprefix('r=')) for name, r, *_ in (member.split(';') for member in members)}


def test_each_file_is_in_the_pages():
    for page in ('examples/cookbook/README.md', 'docs/policy-file.md'):
        text = (ROOT / page).read_text()
        assert [file.name for file in FILES if f'{file.name})' not in text] == []


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_check_has_nothing_to_say(file, headgate):
    result = headgate('check', '--quiet', str(file))
    assert (result.returncode, result.stdout, result.stderr) == (0, '', '')


def test_plan_tiers(cook):
    one = cook('plan-tiers')
    pro = {'X_Plan': 'pro', 'X_API_Key': 'k'}
    assert left(ask(one)) == {'anonymous': 9}
    assert [left(ask(one, **pro)).keys() for _ in range(20)] == [{'pro'}] * 20
    assert left(ask(one, X_Plan='free', X_API_Key='f')) == {'free': 59}
    until(lambda: ask(one).status == 429, 'an anonymous client has spent its ten')
    assert ask(one, **pro).status == 200
    assert left(ask(one, address='192.0.2.2')) == {'anonymous': 9}


def test_login(cook):
    one = cook('login')
    assert left(ask(one, '/login?account=a', 'POST')) == {'login from one address': 4, 'login to one account': 19}
    until(lambda: ask(one, '/login?account=b', 'POST').status == 429, 'one address has spent its five')
    again = ask(one, '/login?account=a', 'POST', address='192.0.2.2')
    assert left(again) == {'login from one address': 4, 'login to one account': 18}
    assert ask(one, '/login').one('RateLimit') is None


def test_allowlist(cook):
    one = cook('allowlist')
    assert ask(one, address='10.1.2.3').one('RateLimit') is None
    assert ask(one, '/healthz').one('RateLimit') is None
    assert left(ask(one, '/healthz/../x')) == {'clients': 99}
    assert left(ask(one, address='2001:db8::1')) == {'clients': 99}


def test_per_address(cook):
    one = cook('per-address')
    assert left(ask(one, address='2001:db8:0:1::1')) == {'client': 59, 'site': 299}
    assert left(ask(one, address='2001:db8:0:1::2')) == {'client': 58, 'site': 298}
    assert left(ask(one, address='2001:db8:0:2::1')) == {'client': 59, 'site': 297}
    assert left(ask(one, address='192.0.2.1')) == {'client': 59, 'network': 299}
    assert left(ask(one, address='192.0.2.2')) == {'client': 59, 'network': 298}


def test_routes(cook):
    one = cook('routes')
    assert [left(ask(one, path)) for path in ('/v1/a', '/v1/b', '/v1/b', '/v1/c/d')] == [
        {'route': 59}, {'route': 59}, {'route': 58}, {'route': 59}]
    assert left(ask(one, '/v1/search/x')) == {'search': 9}
    assert [left(ask(one, path, 'POST')) for path in ('/v1/export', '/v1/reports/7/export')] == [
        {'export': 1}, {'export': 0}]
    assert ask(one, '/v1/export', 'POST').status == 429


def test_daily(cook):
    one = cook('daily')
    first = ask(one, X_API_Key='a')
    assert left(first) == {'daily': 999}
    assert first.one('RateLimit-Policy') == '"daily";q=1000;w=86400'
    assert left(ask(one, X_API_Key='b')) == {'daily': 999}


def test_upload_bytes(cook):
    one = cook('upload-bytes')
    assert left(ask(one, method='POST', body=bytes(1000))) == {'uploads': 104857600 - 1000}
    assert ask(one).one('RateLimit') is None


def test_concurrency(cook):
    with Slow() as upstream:
        one = cook('concurrency', url=upstream.url)
        upstream.hold()
        with Connection(one.port) as first, Connection(one.port) as second:
            for connection in (first, second):
                connection.send(b'GET /reports/a HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n')
                assert upstream.begun.acquire(timeout=PATIENCE)
            assert ask(one, '/reports/b').status == 429
            upstream.go.set()
            assert [first.receive().status, second.receive().status] == [200, 200]
        until(lambda: ask(one, '/reports/b').status == 200, 'a slot is free again')


def test_new_number(cook):
    one = cook('new-number', '--metrics', '127.0.0.1:0')
    first = ask(one)
    assert first.one('RateLimit-Policy') == '"api";q=100;w=60'
    assert left(ask(one)) == {'api': 98}
    of_the_tenth = ask(one, address='192.0.2.5')
    assert of_the_tenth.one('RateLimit-Policy') == '"api";q=50;w=60'
    assert left(of_the_tenth) == {'api': 49}
    counted = 'headgate_decisions_total{policy="api (candidate)",outcome="shadow-denied"}'
    for _ in range(49):
        assert ask(one).status == 200
    until(lambda: ask(one).status == 200 and one.metrics()[counted] > 0, 'the new number would have denied')
