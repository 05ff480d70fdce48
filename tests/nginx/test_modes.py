"""Shadow policies, dry runs, variables, metrics, keys."""
import re
import socket
import tempfile

from support.environment import PATIENCE
from support.http_client import Connection
from support.policies import YEAR, policies, policy

METRICS = 'location /metrics { headgate off; headgate_metrics; }'
HELLO = 'location / { return 200 "hello"; }'


def test_dry_run_decides_and_counts_but_never_denies(nginx):
    server = nginx(policies(policy(quota=2)), server=f'headgate_dry_run on; {HELLO} {METRICS}')
    for _ in range(5):
        response = server.request()
        assert response.status == 200
        assert not [k for k, _ in response.headers if k.lower() in ('ratelimit', 'retry-after')]
    lines = server.access(5)
    assert [line[2:4] for line in lines] == [['admitted', '-']] * 2 + [['shadow-denied', 'burst']] * 3
    counts = server.metrics()
    assert counts['headgate_decisions_total{policy="burst",outcome="admitted"}'] == 2
    assert counts['headgate_decisions_total{policy="burst",outcome="shadow-denied"}'] == 3
    assert counts['headgate_decisions_total{policy="burst",outcome="denied"}'] == 0


def test_dry_run_is_inherited_and_overridden(nginx):
    server = nginx(policies(policy(quota=1)), http='headgate_dry_run on;',
                   server='location /dry { return 200; } '
                          'location /wet { headgate_dry_run off; return 200; }')
    assert [server.request(p).status for p in ('/dry', '/dry', '/wet')] == [200, 200, 429]


def test_the_variable_names_the_policy_that_would_have_denied(nginx):
    waits = policy('short', 1, '1h'), policy('long', 1, '1d'), policy('open', 9)
    for mode in ('enforce', 'shadow'):
        server = nginx(policies(*(each + f'\n    mode: {mode}' for each in waits)), server=HELLO)
        server.request()
        server.request()
        assert server.access(2)[1][3] == 'long'
    server = nginx(policies(*waits), server='headgate_dry_run on; ' + HELLO)
    server.request()
    server.request()
    assert server.access(2)[1][2:4] == ['shadow-denied', 'long']


def test_a_shadow_policy_is_not_told(nginx):
    server = nginx(policies(policy('real', 10), policy('trial', 1, mode='shadow')), server=HELLO)
    for n in range(3):
        response = server.request()
        assert (response.status, response.r) == (200, 9 - n)
        assert response.one('RateLimit-Policy') == f'"real";q=10;w={YEAR}'
    assert [line[2:] for line in server.access(3)] == [
        ['admitted', '-', '9'], ['shadow-denied', 'trial', '8'], ['shadow-denied', 'trial', '7']]


def test_variables(nginx):
    server = nginx(policies(policy(quota=1, match='[{path: "/limited*"}]')), server='''
        location / { return 200 "$headgate_verdict,$headgate_policy,$headgate_remaining"; }
        location /free { headgate off;
                         return 200 "$headgate_verdict,$headgate_policy,$headgate_remaining"; }''')
    assert server.request('/limited').body == b'admitted,,0'
    assert server.request('/other').body == b'off,,'
    assert server.request('/free').body == b'off,,'
    assert server.request('/limited').status == 429
    assert [line[2:] for line in server.access(4)] == [
        ['admitted', '-', '0'], ['off', '-', '-'], ['off', '-', '-'], ['denied', 'burst', '0']]


def test_variables_without_any_policy_file(nginx):
    server = nginx(policies(policy()), gate='', server='location / { return 200; } ' + METRICS)
    assert server.request().all('RateLimit') == []
    assert server.access(1)[0][2:] == ['off', '-', '-']
    assert server.request('/metrics').status == 404


SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? '
                    r'(\d+)$')


def test_metrics_are_prometheus_text(nginx):
    name = r'a "quoted" \\ {name}'.replace('\\\\', '\\')
    server = nginx(policies(policy("'" + name + "'", 10, match='[{path: /x}]')),
                   server=HELLO + METRICS,
                   gate='headgate_config headgate.yaml; headgate on; headgate_memory 64k;')
    server.request('/x')
    response = server.request('/metrics')
    assert response.one('Content-Type').startswith('text/plain; version=0.0.4')
    assert response.all('RateLimit') == []
    types, seen = {}, set()
    for line in response.body.decode().splitlines():
        if line.startswith('# TYPE '):
            _, _, family, kind = line.split(' ')
            assert family not in types
            types[family] = kind
        elif not line.startswith('# HELP '):
            match = SAMPLE.match(line)
            assert match, line
            assert match[1] in types and (match[1].endswith('_total') ==
                                          (types[match[1]] == 'counter'))
            assert line.rsplit(' ', 1)[0] not in seen
            seen.add(line.rsplit(' ', 1)[0])
    assert response.body.endswith(b'\n')
    assert r'headgate_decisions_total{policy="a \"quoted\" \\ {name}",outcome="admitted"} 1' in \
        response.body.decode()
    counts = server.metrics()
    assert counts['headgate_table_live_cells'] == 1
    assert counts['headgate_table_memory_bytes'] == 64 << 10
    assert counts['headgate_table_cells'] > 3000
    assert server.request('/metrics', 'POST').status == 405


def test_keys(nginx):
    server = nginx(policies(policy(quota=2, key='[header:x-key, query:k, cookie:c, method]')),
                   server=HELLO)

    def r(path='/', method='GET', **headers):
        response = server.request(path, method, [(k.replace('_', '-'), v) for k, v in headers.items()])
        return response.r if response.status != 429 else None

    assert [r(x_key='a') for _ in range(3)] == [1, 0, None]
    assert r(X_KEY='b') == 1
    assert r() == 1                      # no header: the empty string
    assert r('/?k=a') == 1
    assert r('/?k=b&a=k') == 1
    assert r(Cookie='x=1; c=a') == 1
    assert r(method='HEAD') == 1
    assert r(x_key='a') is None


def test_addresses_behind_proxies(nginx):
    server = nginx(policies(policy(quota=2),
                            client_address='{trusted-proxies: [127.0.0.1]}'),
                   server=HELLO)

    def r(**headers):
        return server.request(headers=[(k.replace('_', '-'), v) for k, v in headers.items()]).r

    assert r(X_Forwarded_For='192.0.2.1') == 1
    assert r(X_Forwarded_For='6.6.6.6, 192.0.2.1') == 0
    assert r(Forwarded='for="[2001:db8::1]:80"') == 1
    assert r(Forwarded='for="[2001:db8::2]"') == 0   # the same /64
    assert r() == 1


def test_clients_of_a_unix_socket_have_no_address(nginx):
    with tempfile.TemporaryDirectory() as directory:  # a path of a socket has at most 107 bytes
        path = f'{directory}/socket'
        server = nginx(policies(policy(quota=2)), server=HELLO + f' listen unix:{path};')

        def request(*headers):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE)
                client.connect(path)
                return Connection(client).request(headers=headers)

        assert [request().status for _ in range(3)] == [200, 200, 429]
        assert request(('X-Forwarded-For', '192.0.2.1')).status == 429  # not a trusted proxy
        assert server.request().r == 1
        server.stop()


def test_client_addresses_that_the_realip_module_found(nginx):
    server = nginx(policies(policy(quota=2)),
                   http='set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;', server=HELLO)
    assert [server.request(headers=[('X-Real-IP', ip)]).r for ip in
            ('192.0.2.1', '192.0.2.1', '192.0.2.2', '2001:db8::1')] == [1, 0, 1, 1]
