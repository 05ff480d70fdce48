"""One client is one key, however it spells itself, at every door that sees requests."""
import http.client
import json

import pytest

from support import http2, spoe
from support.environment import PATIENCE
from support.http_client import Connection
from support.nginx import Nginx
from support.policies import policies, policy
from support.resp import Client as RespClient

QUOTA = 3
POLICIES = policies(
    policy('header', QUOTA, key='[header:x-api-key]', match='[{path: /header}]'),
    policy('token', QUOTA, key='[header:authorization]', match='[{path: /token}]'),
    policy('cookie', QUOTA, key='[cookie:sid]', match='[{path: /cookie}]'),
    policy('query', QUOTA, key='[query:k]', match='[{path: /query}]'),
    policy('argument', QUOTA, key='[query:api_key]', match='[{path: /argument}]'),
    policy('path', QUOTA, key='[path]', match='[{path: "/path/*"}]'),
    policy('match', QUOTA, key='[]', match='[{path: /match, header: {x-plan: free}}]'),
    policy('exact', QUOTA, key='[]', match='[{exact-path: /exact}]'),
    policy('cost', QUOTA, key='[]', match='[{path: /cost}]', cost='{request-header: x-credits}'))


KEY = 'X-Api-Key'
# Spellings of one client: the requests of a list share one quota.
SPELLINGS = {
    'white space': [('/header', [(KEY, value)]) for value in (
        'secret', 'secret\t', '\tsecret', ' secret', 'secret ', '\t \tsecret \t', 'secret\xa0', '\xa0 secret\xa0\xa0')],
    'several lines': [('/header', lines) for lines in (
        [(KEY, 'a'), (KEY, 'b')], [(KEY, 'a, b')], [(KEY, 'a,b')], [(KEY, 'a\t,\tb')],
        [(KEY, 'a,'), ('x-api-KEY', 'b')], [(KEY, 'a'), (KEY, ''), (KEY, 'b')])],
    'empty lines': [('/header', [(KEY, 'secret')] + [(KEY, '')] * n) for n in range(6)],
    'schemes': [('/token', [('Authorization', value)]) for value in (
        'Bearer abc', 'bearer abc', 'BEARER abc', 'Bearer  abc', 'Bearer\tabc', 'x abc', 'Token token="abc", n="1"')],
    'credentials': [('/token', [('Authorization', value)]) for value in (
        'Basic YTpiYg==', 'basic YTpiYg', 'Basic YTpi.Yg=', 'Basic YTpiYh==', 'Basic ,YTpi:Yg', 'x YTpi!Yg==', 'Bearer YT:piYg')],
    'credentials that programs read differently': [('/token', [('Authorization', value)]) for value in (
        'Basic -YTpiYg==', 'Basic Y_TpiYg==', 'Basic =YTpiYg==', 'Basic YTpiYg==x', 'Bearer abc 1', 'Bearer abc,1',
        'Bearer abc;1', '1 Bearer abc', 'aBearer bc', 'abBearer c', 'Bearer abcBearer', 'aBearerbc', 'Bearer "abc"',
        'Bearer abc"', ', abc 1', ', abc 2', 'Basic, YTpiYg==', 'x YTpi-Yg==')],
    'signatures': [('/token', [('Authorization', f'Bearer eyJh.eyJi.{value}')]) for value in (
        'YTpiYg', 'YTpiYg==', 'YT!pi*Yg', '~~~~YTpiYg', 'YTpiYh')],
    'signed cookies': [('/cookie', [('Cookie', f'sid=eyJh.YQ.{value}')]) for value in ('YTpiYg', '!!!!YTpiYg', 'YTpiYh')],
    'cookies that Remix has signed': [('/cookie', [('Cookie', f'sid=ImFiYyI%3D.LZd{value}')]) for value in (
        '%2Bbxrd5y4G/XwkVb4nkZoMzYA', '%2Bbxrd5y4G%2FXwkVb4nkZoMzYA', '-bxr%20d5y4G_XwkVb4nkZoMzYA', '+bxrd%0A5y4G/XwkVb4nkZoMzYA=')],
    'sessions that iron-session has sealed': [('/cookie', [('Cookie', f'sid=Fe26.2*1*a*b**c{version}')]) for version in (
        '~2', '~02', '~2x', '%7E2~y', '')],
    'tokens of Fernet': [('/token', [('Authorization', f'Bearer {value}')]) for value in (
        'gAAAAABrCPNKYTpiPj8_Yg==', 'g!AAAA*ABrCPNKYTpiPj8/Yg==', '~gAAAAABrCPNKYTpiPj8_Yh==')],
    'sessions that ASP.NET has split': [('/cookie', [('Cookie', value)]) for value in (
        'sid=CfDJ8NxYzAb_Qw', 'sid=chunks-1; sidC1=CfDJ8NxYzAb_Qw', 'sid=chunks-02; sidC2=zAb_Qw; sidC1=CfDJ8NxY', 'sid=C%20fDJ8NxYzAb_Qw')],
    'cookies in JSON': [('/cookie', [('Cookie', f'sid=j:{value}')]) for value in ('"abc"', '%20"abc"', '%0a"a%5Cu0062c"', '42')],
    'cookies': [('/cookie', [('Cookie', value)]) for value in (
        'sid=session42', 'sid=%73ession42', 'sid=session%34%32', 'sid="session42"', 'a=b;sid=session42',
        'sid =session42 ; a=b', '\tsid=session42\t', 'sid=session42; sid=%73ession42',
        'sid=session42\xa0', '\xa0sid=session42', 'a=b; %73id=session42', 'SID=session42', '@sid=session42')],
    'cookies that ASP.NET reads otherwise': [('/cookie', [('Cookie', value)]) for value in (
        'sid=1; SID=session42', 'sid=2; a=b,sid=session42', 'sid=session42,3', 'sid=4; x@sid=session42')],
    "cookies that Python's http.cookies reads otherwise": [('/cookie', [('Cookie', value)]) for value in (
        'sid=1; a= sid="session42"', 'sid=2; a=b sid=session42', 'sid= sid="\\163ession42"', 'sid=session42 3', 'sid="session42" a=4')],
    'a cookie behind others': [('/cookie', [('Cookie', 'a=b')] * n + [('Cookie', 'sid=1')])
                               for n in (0, 1, 63, 64, 80)],
    'arguments': [('/query?' + query, []) for query in (
        'k=a%20b', 'k=a+b', '%6b=a+b', 'k=%61%20b', 'x=1&k=a+b&y', 'k=a+b&k=a%20b', 'k=a+b%20',
        'k=%0aa+b+', 'k=a+b%C2%A0', 'k=a+b%C2%AD%E2%A0%80', 'K=a+b', 'k=%u0061+b')],
    'arguments in the path': [(path, []) for path in ('/query?k=a', '/query;k=a', '/query;x=1&K=a', '/query;x=1?k=a')],
    'arguments that upstreams read differently': [(f'/query{rest}', []) for rest in (
        '?K=a&k=1', '?k=2&K=a', ';k=a&x?k=3', '?k=4;k=a', '??k=a&k=5', '%3fk=a&?k=6')],
    'names of arguments': [('/argument?' + name + '=secret', []) for name in (
        'api_key', 'nxtPapi_key', '+api_key', 'api.key', 'api[key', '[api_key]', 'api_key]', 'x=1;api_key')],
    'paths': [(path, []) for path in (
        '/path/login', '/path/Login', '/PATH/LOGIN/', '/path/login;x', '/path/login%2f', '//path//login',
        '/./path/login', '/path/x/../login', '/path/%6cogin', '/path/login;c=d', '/path/login/.',
        '/path/%2e/login', '/path/log%C4%B0n', '/path/login%5c', '/path/login%3Bx', '/path/login%0a', '/path/login%20%0A', '/path/login%20/')],
    'paths that end at a semicolon to some': [(f'/path/login;{n}/{n}', []) for n in range(6)],
    'paths that end at an encoded question mark to some': [(f'/path/login%3f{n}', []) for n in range(6)],
    'paths that begin with a host to some': [(f'//{host}/path/login', []) for host in 'abcdefg'],
    'paths with a slash that is none to some': [(f'/path/x{n}%2fy/../login', []) for n in range(6)],
    'lines of a condition': [('/match', lines) for lines in (
        [('X-Plan', 'free')], [('X-Plan', 'free\t')], [('X-Plan', ' free')], [('X-Plan', 'Free')], [('X-Plan', 'FREE\xa0')],
        [('X-Plan', 'gold')] * 80 + [('X-Plan', 'free')], [('X-Plan', 'free'), ('X-Plan', 'gold')])],
}


@pytest.fixture
def doors(serve, tmp_path, request):
    """The doors by name: each a function that sends a request and returns its status."""
    (tmp_path / 'nginx').mkdir()
    server = Nginx(tmp_path / 'nginx', POLICIES)
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; location / {{ return 200; }}')
    server.start()
    request.addfinalizer(server.stop)
    auth = http.client.HTTPConnection('127.0.0.1', serve(POLICIES).port, timeout=PATIENCE)
    request.addfinalizer(auth.close)
    engine = spoe.Engine(serve(POLICIES, doors={'spoe': '127.0.0.1:0'}).ports['spoe'])
    request.addfinalizer(engine.socket.close)

    def by_auth(path, headers):
        auth.putrequest('GET', '/auth')
        for name, value in [('X-Forwarded-Method', 'GET'), ('X-Forwarded-Uri', path),
                            ('X-Forwarded-For', '192.0.2.1'), *headers]:
            auth.putheader(name, value)
        auth.endheaders()
        response = auth.getresponse()
        response.read()
        return response.status

    return {'HTTP/1.1': lambda path, headers: server.request(path, headers=headers).status,
            'HTTP/2': lambda path, headers: http2.status(server.other_port, path, headers=headers),
            '/auth': by_auth,
            'SPOE': lambda path, headers: engine.ask(
                spoe.request(path, lines=[('host', 'localhost'), *headers])).status or 200}


@pytest.mark.parametrize('kind', SPELLINGS)
def test_spellings_share_one_quota(doors, kind):
    admitted = {name: [request for request in SPELLINGS[kind] * QUOTA if send(*request) == 200]
                for name, send in doors.items() if name != 'HTTP/2'}
    assert {name: len(requests) for name, requests in admitted.items()} == dict.fromkeys(
        admitted, QUOTA), admitted


@pytest.mark.parametrize('kind', SPELLINGS)
def test_http2_shares_the_quota_of_http1(doors, kind):
    first = SPELLINGS[kind][0]
    assert [doors['HTTP/1.1'](*first) for _ in range(QUOTA)] == [200] * QUOTA
    assert {str(request): doors['HTTP/2'](*request) for request in SPELLINGS[kind]} == {
        str(request): 429 for request in SPELLINGS[kind]}


FRAGMENTS = [f'{target}#{rest}' for target, rest in (
    ('/match', '1'), ('/x', '/../match'), ('//h/Match', '//x'), ('/match', '/../../2'), ('/y', '\\..\\match'))]


@pytest.mark.parametrize('targets', [
    FRAGMENTS, [f'/path/login#{n}' for n in range(6)], [f'/query?k=a#{n}' for n in range(6)],
    [f'/query?{n}#&k=a' for n in range(6)]])
def test_a_fragment_passes_no_policy(doors, targets):
    for name in ('/auth', 'SPOE'):
        lines = [('X-Plan', 'free')]
        assert [doors[name](target, lines) for target in targets] == [200] * QUOTA + [429] * (
            len(targets) - QUOTA), name


HOSTS = ('u0@api.example', 'u1:2@api.example', 'x:y@api.example', '%61pi.example', '\xaapi.example', 'h\\x?',
         '.api.example', 'x1..api.example')
NUMBERED = ('node.1', '192.0.2.256', '192.0.2.010', '[::1::2]')
HOST_POLICIES = policies(policy('match', QUOTA, key='[]', match='[{host: api.example, path: /match}]'),
                         policy('host', QUOTA, key='[host]', match='[{path: /key}]'))


@pytest.mark.parametrize('path', ['/match', '/key'])
def test_a_malformed_host_passes_no_policy_of_a_host(serve, path):
    engine = spoe.Engine(serve(HOST_POLICIES, doors={'spoe': '127.0.0.1:0'}).ports['spoe'])
    connection = Connection(serve(HOST_POLICIES).port)
    doors = {'/auth': lambda host: connection.request('/auth', headers=[
                 ('X-Forwarded-Uri', path), ('X-Forwarded-Host', host)]).status,
             'SPOE': lambda host: engine.ask(spoe.request(path, lines=[('host', host)])).status or 200}
    for name, send in doors.items():
        assert [send(host) for host in (*HOSTS, *NUMBERED)] == [400] * len((*HOSTS, *NUMBERED)), name
        assert [send('api.example') for _ in range(QUOTA + 1)] == [200] * QUOTA + [429], name
    connection.close()
    engine.socket.close()


def test_malformed_hosts_share_a_quota_if_no_policy_asks_for_a_host(serve):
    connection = Connection(serve(policies(policy('host', QUOTA, key='[host]'))).port)
    hosts = (*HOSTS, *NUMBERED)
    assert [connection.request('/auth', headers=[('X-Forwarded-Host', host)]).status for host in hosts] == [
        200] * QUOTA + [429] * (len(hosts) - QUOTA)
    connection.close()


TENANTS = [policy(f'tenant{n}', 1000, match=f'[{{host: tenant{n}.example}}]') for n in range(130)]
ROUTES = [policy(f'{way}{n}', 1000, match=f'[{{path: /{way}/*}}]') for n in range(65) for way in 'ab']
PER_ADDRESS = policy('per-address', QUOTA)


@pytest.mark.parametrize('file, path, host, status', [
    (TENANTS, '/x', 'node.1', 400), (TENANTS, '/x', '192.0.2.256', 400), (TENANTS, '/x', '[::1::2]', 400),
    (ROUTES, '//b/a/x', 'h', 503)])
def test_many_policies_hide_none(nginx, serve, file, path, host, status):
    file = policies(*file, PER_ADDRESS)
    server, direct = nginx(file, server='location / { return 200; }'), Connection(serve(file).port)
    doors = {'/auth': lambda path, host: direct.request('/auth', headers=[
                 ('X-Forwarded-Uri', path), ('X-Forwarded-Host', host)]).status,
             'nginx': lambda path, host: server.request(path, host=host).status}  # it closes behind a 400
    for name, send in doors.items():
        assert [send(path, host) for _ in range(QUOTA + 1)] == [status] * (QUOTA + 1), name
        # They charge nothing.
        assert [send('/x', 'other.example') for _ in range(QUOTA + 1)] == [200] * QUOTA + [429], name
    direct.close()
    assert ('more than 128 policies' in server.log) == (status == 503)


NOTATIONS = [('192.0.2.7', '0xc0.0.2.7', '3221225991', '192.0.519', '192.0.0x207.', '[::ffff:192.0.2.7]:80'),
             ('[2001:db8::1]', '[2001:DB8:0::1]', '[2001:db8:0:0:0:0:0:1]:443', '[2001:db8::0.0.0.1]')]


@pytest.mark.parametrize('notations', NOTATIONS)
def test_an_address_as_host_is_one_in_any_notation(nginx, serve, notations):
    file = policies(policy('match', QUOTA, key='[]', match=f'[{{host: "{notations[1]}", path: /match}}]'),
                    policy('host', QUOTA, key='[host]', match='[{path: /key}]'))
    server = nginx(file, server='location / { return 200; }')
    engine = spoe.Engine(serve(file, doors={'spoe': '127.0.0.1:0'}).ports['spoe'])
    connection, direct = Connection(serve(file).port), Connection(server.port)
    doors = {'/auth': lambda path, host: connection.request('/auth', headers=[
                 ('X-Forwarded-Uri', path), ('X-Forwarded-Host', host)]).status,
             'SPOE': lambda path, host: engine.ask(spoe.request(path, lines=[('host', host)])).status or 200,
             'nginx': lambda path, host: direct.request(path, host=host).status}
    for name, send in doors.items():
        for path in '/match', '/key':
            assert [send(path, host) for host in notations] == [200] * QUOTA + [429] * (
                len(notations) - QUOTA), (name, path)
    connection.close()
    direct.close()
    engine.socket.close()


def test_an_exact_path_is_compared_byte_by_byte(doors):
    for name, send in doors.items():
        for _ in range(QUOTA if name != 'HTTP/2' else 0):
            assert send('/exact?x', []) == 200, name
        assert send('/exact', []) == 429, name
        for path in ('/Exact', '//exact', '/./exact', '/%65xact', '/exact/', '/exact;x'):
            assert send(path, []) == 200, (name, path)


def test_costs_are_read_without_white_space(doors):
    del doors['HTTP/2']  # it shares the quota of HTTP/1.1
    for name, send in doors.items():
        for value in ('4\t', '\t4', ' 4 '):  # more than the quota
            assert send('/cost', [('X-Credits', value)]) == 429, (name, value)
        assert send('/cost', [('X-Credits', '3 ')]) == 200, name
        assert send('/cost', [('X-Credits', '1')]) == 429, name


def test_different_clients_have_different_quotas(doors):
    del doors['HTTP/2']
    different = [('/header', [(KEY, value)]) for value in ('a', 'A', 'a;b', 'a b', 'ab', '')]
    different += [('/cookie', [('Cookie', f'sid={value}')]) for value in ('a', 'A', '%2561')]
    different += [(path, []) for path in ('/path/a', '/path/ab', '/path/a/b', '/path/a%20b')]
    for name, send in doors.items():
        for request in different:
            assert [send(*request) for _ in range(QUOTA)] == [200] * QUOTA, (name, request)


@pytest.mark.parametrize('kind', ['white space', 'schemes', 'cookies', 'arguments', 'paths'])
def test_a_replay_of_a_log_has_the_same_keys(headgate, tmp_path, kind):
    requests = [request for request in SPELLINGS[kind] if len(request[1]) <= 1]
    with (tmp_path / 'access.log').open('w') as log:
        for path, headers in requests:
            fields = {'http_' + name.lower().replace('-', '_'): value for name, value in headers}
            log.write(json.dumps({'time': '2026-11-22T12:00:00Z', 'remote_addr': '192.0.2.1', 'status': 200,
                                  'request': f'GET {path} HTTP/1.1', **fields}) + '\n')
    (tmp_path / 'policies.yaml').write_text(POLICIES)
    done = headgate('simulate', '--config', 'policies.yaml', '--format', 'json', '--json', 'access.log')
    assert done.returncode == 0, done.stderr
    policy_name = requests[0][0].split('/')[1].split('?')[0]
    totals = next(one for one in json.loads(done.stdout)['policies'] if one['name'] == policy_name)
    assert (totals['partitions'], totals['admitted'], totals['denied']) == (
        1, QUOTA, len(requests) - QUOTA), done.stdout


def test_keys_by_name_are_the_same_keys(serve, envoy_client):
    server = serve(POLICIES, doors={kind: '127.0.0.1:0' for kind in ('http', 'resp', 'grpc')})
    envoy = envoy_client(server.addresses['grpc'])

    def by_decide(name, key):
        body = json.dumps({'checks': [{'policy': name, 'key': key}]}).encode()
        with Connection(server.port) as connection:
            answer = connection.request('/v1/decide', 'POST', [('Content-Type', 'application/json')], body)
        return json.loads(answer.body)['results'][0]['r']

    def by_resp(name, key):
        client = RespClient(server.ports['resp'])
        left = client.command('HG.DECIDE', name, key)[2]
        client.close()
        return left

    def by_grpc(name, key):
        entries = [{'key': 'policy', 'value': name}, {'key': 'key', 'value': key}]
        status = envoy.decide({'entries': entries}, domain='headgate')['statuses'][0]
        return status.get('limit_remaining', 0)

    for name, keys in {'header': ['secret', ' secret\t', 'secret,'],
                       'token': ['Bearer a', 'bearer  a', 'BEARER a'],
                       'path': ['/path/Login/', '/path//login;x', '/path/login']}.items():
        assert [send(name, key) for send, key in zip((by_decide, by_resp, by_grpc), keys)] == [
            2, 1, 0], name
