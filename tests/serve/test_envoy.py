"""The gRPC door behind gRPC's client for Node.js, which shares no code with ours, and POST /json."""
import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess

import pytest

from support.environment import PATIENCE, ROOT
from support.envoy import entries, request

TOKEN = 'a-token-of-some-length'
YEAR = 365 * 86400

CONFIGURATION = '''
domain: shop
descriptors:
  - {key: a, rate_limit: {unit: year, requests_per_unit: 3}}
  - {key: b, rate_limit: {unit: YEAR, requests_per_unit: 10, name: tens}}
  - {key: shadow, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: q1, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: q2, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 2}}
  - {key: none, rate_limit: {unit: year, requests_per_unit: 0}}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: better, rate_limit: {unit: week, requests_per_unit: 2, replaces: [{name: tens}]}}
  - key: plan
    value: basic*
    descriptors:
      - {key: path, rate_limit: {unit: year, requests_per_unit: 5}}
'''
POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 10, window: 10s, key: ["header:x-user"]}
  - {name: slow, quota: 10, window: 10d, key: ["header:x-user"]}
envoy: [%s]
'''


def codes(response):
    return [status['code'] for status in response['statuses']]


def left(response):
    return [status.get('limit_remaining', 0) for status in response['statuses']]


def headers(response):
    return {header['key']: header['value']
            for header in response.get('response_headers_to_add', [])}


@pytest.fixture
def shop(serve, tmp_path):
    """Starts a server with CONFIGURATION: shop(envoy='[file]', doors=..., arguments=...)."""
    def start(envoy=None, **options):
        (tmp_path / 'shop.yaml').write_text(CONFIGURATION)
        envoy = (envoy or '{file: FILE}').replace('FILE', str(tmp_path / 'shop.yaml'))
        options.setdefault('doors', {'grpc': '127.0.0.1:0'})
        return serve(POLICIES % envoy, **options)
    return start


@pytest.fixture
def envoy(shop, envoy_client):
    return envoy_client(shop().addresses['grpc'])


def test_statuses(envoy):
    response = envoy.decide('a=x', 'b=y', 'unknown=z', 'free=w', 'plan=basic-7,path=/')
    assert response['overall_code'] == 'OK'
    assert codes(response) == ['OK'] * 5
    assert left(response) == [2, 9, 0, 4294967295, 4]
    first, second, unknown, free, nested = response['statuses']
    assert first['current_limit'] == {'requests_per_unit': 3, 'unit': 'YEAR'}
    assert second['current_limit'] == {'requests_per_unit': 10, 'unit': 'YEAR', 'name': 'tens'}
    assert 0 < first['duration_until_reset']['seconds'] <= YEAR
    assert 'nanos' not in first['duration_until_reset']
    assert unknown == {'code': 'OK'}
    assert free == {'code': 'OK', 'limit_remaining': 4294967295}
    assert nested['current_limit']['requests_per_unit'] == 5


def test_fields(envoy):
    assert envoy.decide('a=x', 'b=y')['overall_code'] == 'OK'
    said = headers(envoy.decide('a=x', 'b=y', hits_addend=3))
    until = said['Retry-After']
    assert said['RateLimit-Policy'] == f'"a";q=3;w={YEAR}, "tens";q=10;w={YEAR}'
    assert said['RateLimit'] == f'"a";r=0;t={until}, "tens";r=6;t={until}'
    assert said.keys() == {'RateLimit-Policy', 'RateLimit', 'Retry-After'}


def test_every_descriptor_counts(envoy):
    assert left(envoy.decide('a=x', 'b=y', hits_addend=3)) == [0, 7]
    response = envoy.decide('a=x', 'b=y')
    assert response['overall_code'] == 'OVER_LIMIT'
    assert codes(response) == ['OVER_LIMIT', 'OK']
    assert left(response) == [0, 6]


def test_addends(envoy):
    def one(hits, negative=False):
        return {'entries': entries('b=x'), 'hits_addend': {'value': hits},
                'is_negative_hits': negative}
    assert left(envoy.decide(one(4), hits_addend=9)) == [6], 'the descriptor overrides the request'
    assert left(envoy.decide('b=x', hits_addend=0)) == [5], 'unset is 1'
    assert left(envoy.decide(one(0))) == [5], '0 takes nothing'
    assert left(envoy.decide(one(3, negative=True))) == [8]
    assert left(envoy.decide(one(100, negative=True))) == [10]
    response = envoy.decide(one(2**63))
    assert codes(response) == ['OVER_LIMIT']
    assert codes(envoy.decide(one(0))) == ['OVER_LIMIT'], 'exceeded'


def test_the_windows_end_is_named(envoy):
    unused = {'entries': entries('a=unused'), 'hits_addend': {'value': 0}}
    response = envoy.decide(unused)
    assert (codes(response), left(response)) == (['OK'], [3])
    until = response['statuses'][0]['duration_until_reset']['seconds']
    assert 0 < until <= YEAR
    assert headers(response)['RateLimit'].startswith('"a";r=3;t=')
    response = envoy.decide('a=large', hits_addend=4)
    assert codes(response) == ['OVER_LIMIT']
    assert 0 < response['statuses'][0]['duration_until_reset']['seconds'] <= until
    said = headers(response)
    assert said['RateLimit'] == f'"a";r=0;t={said["Retry-After"]}'


def test_shadow_and_quota_mode(envoy):
    assert codes(envoy.decide('shadow=x', hits_addend=5)) == ['OK']
    response = envoy.decide('q1=x', 'q2=x', hits_addend=2)
    assert (response['overall_code'], codes(response)) == ('OK', ['OVER_LIMIT', 'OK'])
    assert envoy.decide('q1=x', 'q2=x')['overall_code'] == 'OVER_LIMIT'


def test_deny_all_and_replaces(envoy):
    response = envoy.decide('none=x')
    assert response['overall_code'] == 'OVER_LIMIT'
    assert 'duration_until_reset' not in response['statuses'][0]
    assert 'Retry-After' not in headers(response)
    response = envoy.decide('b=x', 'better=x')
    assert response['statuses'][0] == {'code': 'OK'}
    assert response['statuses'][1]['current_limit'] == {'requests_per_unit': 2, 'unit': 'WEEK'}


def test_a_limit_of_the_requests_own(envoy):
    own = {'entries': entries('a=x'), 'limit': {'requests_per_unit': 1, 'unit': 3}}
    response = envoy.decide(own, 'a=x')
    assert response['statuses'][0]['current_limit'] == {'requests_per_unit': 1, 'unit': 'HOUR'}
    assert left(response) == [0, 2]
    assert headers(response)['RateLimit'].startswith('"a";r=2;')
    assert codes(envoy.decide(own, 'a=x')) == ['OVER_LIMIT', 'OK']
    own['limit']['unit'] = 9
    said = envoy.call('ShouldRateLimit', request(own))
    assert said['error'] == 'INVALID_ARGUMENT'


def test_policies_by_name(shop, envoy_client):
    """The same bucket through two doors."""
    server = shop(doors={'grpc': '127.0.0.1:0', 'http': '127.0.0.1:0'})
    envoy = envoy_client(server.addresses['grpc'])
    response = envoy.decide('policy=burst,key=alice', domain='headgate', hits_addend=4)
    status = response['statuses'][0]
    assert status['current_limit'] == {'requests_per_unit': 10, 'name': 'burst'}, 'no unit of 10 s'
    assert left(response) == [6]
    connection = http.client.HTTPConnection('127.0.0.1', server.port, timeout=PATIENCE)
    checks = [{'policy': 'burst', 'key': 'alice', 'cost': 6},
              {'policy': 'shop', 'key': 'b=x', 'cost': 2}]
    connection.request('POST', '/v1/decide', json.dumps({'checks': checks}))
    decided = json.loads(connection.getresponse().read())
    connection.close()
    assert decided['admitted'], decided
    assert left(envoy.decide('b=x')) == [7]
    response = envoy.decide('policy=burst,key=alice', domain='headgate', hits_addend=9)
    assert response['overall_code'] == 'OVER_LIMIT'
    assert headers(response)['Retry-After']

    def error(*descriptors):
        return envoy.call('ShouldRateLimit', request(*descriptors, domain='headgate'))['error']
    assert error('policy=nothing,key=x') == 'NOT_FOUND'
    assert error('policy=burst') == 'INVALID_ARGUMENT'


def test_one_policy_and_key_in_several_descriptors(shop, envoy_client):
    """Clients choose the values of descriptors, and Envoy admits a request whose call ends with an error."""
    server = shop(doors={'grpc': '127.0.0.1:0'})
    envoy = envoy_client(server.addresses['grpc'])

    def decide(*keys, **fields):
        descriptors = [f'policy=slow,key={key}' for key in keys]
        response = envoy.decide(*descriptors, domain='headgate', **fields)
        return codes(response), left(response)
    assert decide('x', 'y', 'x', hits_addend=3) == (['OK'] * 3, [4, 7, 4])
    assert decide('x', 'y', 'x', hits_addend=3) == (['OVER_LIMIT', 'OK', 'OVER_LIMIT'], [4, 7, 4]), 'all or none'
    assert decide('x', 'x', hits_addend=2) == (['OK'] * 2, [0, 0])
    huge = {'entries': entries('policy=slow,key=z'), 'hits_addend': {'value': 2 ** 52}}
    assert codes(envoy.decide(huge, huge, domain='headgate')) == ['OVER_LIMIT'] * 2


def test_bad_requests(envoy):
    def error(sent):
        return envoy.call('ShouldRateLimit', sent)
    said = error(request('a=x', domain=''))
    assert said == {'error': 'INVALID_ARGUMENT', 'details': 'rate limit domain must not be empty'}
    assert error(request())['details'] == 'rate limit descriptor list must not be empty'
    assert error(request(*['a=x'] * 129))['error'] == 'INVALID_ARGUMENT'
    assert error(request(','.join(['a=x'] * 65)))['error'] == 'INVALID_ARGUMENT'
    for size in 70_000, 1_000_000:  # of a client's header, and Envoy admits what ends with an error
        assert envoy.call('ShouldRateLimit', request('a=' + 'x' * size)) == {'response': {'overall_code': 'OVER_LIMIT'}}
    assert codes(envoy.decide({'entries': []}, 'a=')) == ['OK', 'OK'], 'and it goes on'
    assert envoy.decide('a=x', domain='elsewhere')['statuses'] == [{'code': 'OK'}]


def test_health(shop, envoy_client):
    server = shop()
    envoy = envoy_client(server.addresses['grpc'])
    service = 'envoy.service.ratelimit.v3.RateLimitService'
    assert envoy.call('Check', {}) == {'response': {'status': 'SERVING'}}
    assert envoy.call('Check', {'service': service}) == {'response': {'status': 'SERVING'}}
    assert envoy.call('Check', {'service': 'other'})['error'] == 'NOT_FOUND'
    assert envoy.call('Watch', {'service': service}) == {'response': {'status': 'SERVING'}}
    assert server.stop() == 0
    assert envoy.receive() == {'response': {'status': 'NOT_SERVING'}}


def test_a_stop_is_told_while_other_doors_finish(shop, envoy_client):
    server = shop(doors={'grpc': '127.0.0.1:0', 'http': '127.0.0.1:0'})
    envoy = envoy_client(server.addresses['grpc'])
    assert envoy.call('Watch', {'service': ''}) == {'response': {'status': 'SERVING'}}
    with socket.create_connection(('127.0.0.1', server.ports['http']), PATIENCE) as http:
        http.sendall(b'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz')
        assert http.recv(4096).startswith(b'HTTP/1.1 200 ')  # the second request was read, too
        server.process.send_signal(signal.SIGTERM)
        assert envoy.receive() == {'response': {'status': 'NOT_SERVING'}}
        assert envoy.receive() == {'ended': True}
        http.sendall(b' HTTP/1.1\r\nHost: a\r\n\r\n')
        assert b'Connection: close' in http.recv(4096)
    assert server.process.wait(PATIENCE) == 0


def test_token(shop, envoy_client, tmp_path):
    (tmp_path / 'token').write_text(TOKEN)
    server = shop(arguments=('--token-file', tmp_path / 'token'))
    envoy = envoy_client(server.addresses['grpc'])

    def shown(**metadata):
        return envoy.call('ShouldRateLimit', request('a=x'), **metadata).get('error')
    assert shown() == 'UNAUTHENTICATED'
    assert shown(authorization=f'Bearer {TOKEN}x') == 'UNAUTHENTICATED'
    assert shown(authorization=TOKEN) == 'UNAUTHENTICATED'
    assert shown(authorization=f'Bearer {TOKEN}') is None
    assert envoy.call('Check', {}) == {'response': {'status': 'SERVING'}}


def test_reload(shop, envoy_client, tmp_path):
    server = shop()
    envoy = envoy_client(server.addresses['grpc'])
    assert left(envoy.decide('a=x')) == [2]
    file = tmp_path / 'shop.yaml'
    policies = server.policy_file.read_text()
    file.write_text(CONFIGURATION.replace('requests_per_unit: 3', 'requests_per_unit: 30'))
    assert 'is in force now' in server.reload(policies)
    assert left(envoy.decide('a=x')) == [28], 'what was counted stays counted'
    file.write_text(CONFIGURATION.replace('unit: year', 'unit: fortnight', 1))
    assert 'is refused' in server.reload(policies)
    assert any('shop.yaml:4:33: invalid rate limit unit' in line for line in server.seen)
    assert left(envoy.decide('a=x')) == [27]


def test_another_algorithm(shop, envoy_client):
    server = shop(envoy='{file: FILE, algorithm: linear}')
    envoy = envoy_client(server.addresses['grpc'])
    assert left(envoy.decide('a=x', hits_addend=3)) == [0]
    response = envoy.decide('a=x')
    assert codes(response) == ['OVER_LIMIT']
    assert YEAR / 3 - 60 <= response['statuses'][0]['duration_until_reset']['seconds'] <= YEAR / 3


def test_unix_socket(shop, envoy_client, tmp_path):
    server = shop(doors={'grpc': f'unix:{tmp_path}/rls.sock'})
    assert left(envoy_client(server.addresses['grpc']).decide('a=x')) == [2]


def test_garbage_on_the_port(shop, envoy_client):
    server = shop()
    for garbage in (b'GET / HTTP/1.1\r\n\r\n', b'\0' * 5000, os.urandom(5000),
                    b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\xff' * 100):
        with socket.create_connection(('127.0.0.1', server.ports['grpc']), PATIENCE) as connection, \
                contextlib.suppress(ConnectionError):
            connection.sendall(garbage)
            with contextlib.suppress(OSError):  # the server may have reset it: not connected
                connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    assert left(envoy_client(server.addresses['grpc']).decide('a=x')) == [2]


def test_a_port_in_use(shop, tmp_path):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        policies = tmp_path / 'none.yaml'
        policies.write_text('version: 1\npolicies: []\n')
        done = subprocess.run([os.environ['HEADGATE'], 'serve', '--config', policies,
                               '--resp', f'unix:{tmp_path}/resp.sock',
                               '--grpc', f'127.0.0.1:{port}'], capture_output=True, text=True,
                              timeout=PATIENCE)
    assert done.returncode == 1
    assert not (tmp_path / 'resp.sock').exists()
    assert f'127.0.0.1:{port} is in use by another program' in done.stderr


def test_example(serve, envoy_client):
    """The descriptors that Envoy sends for each request with examples/envoy/envoy.yaml."""
    file = ROOT / 'examples/envoy/ratelimit.yaml'
    server = serve(f'version: 1\nenvoy: [{file}]\n', doors={'grpc': '127.0.0.1:0'})
    response = envoy_client(server.addresses['grpc']).decide(
        'remote_address=192.0.2.7', 'plan=free,api_key=me', 'path=/search?q%3Dx', domain='api')
    assert response['overall_code'] == 'OK'
    assert left(response) == [999, 999, 4]
    assert response['statuses'][1]['current_limit']['name'] == 'free plan'
    assert headers(response)['RateLimit-Policy'] == (
        '"remote_address=192.0.2.7";q=1000;w=60, "free plan";q=1000;w=86400')


# ---- POST /json

@pytest.fixture
def post(shop):
    server = shop(doors={'http': '127.0.0.1:0'})

    def send(body):
        connection = http.client.HTTPConnection('127.0.0.1', server.port, timeout=PATIENCE)
        connection.request('POST', '/json', body if isinstance(body, str) else json.dumps(body))
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text
    return send


def test_json(post):
    status, text = post({'domain': 'shop', 'descriptors': [
        {'entries': [{'key': 'a', 'value': 'x'}], 'hitsAddend': '2'},
        {'entries': [{'key': 'b', 'value': 'x'}], 'hits_addend': 4}, ]})
    said = json.loads(text)
    assert status == 200
    assert said['overallCode'] == 'OK'
    assert said['statuses'][0]['currentLimit'] == {'requestsPerUnit': 3, 'unit': 'YEAR'}
    assert [one['limitRemaining'] for one in said['statuses']] == [1, 6]
    assert said['statuses'][0]['durationUntilReset'].endswith('s')
    assert {one['key'] for one in said['responseHeadersToAdd']} == {'RateLimit', 'RateLimit-Policy'}
    status, text = post({'domain': 'shop', 'hitsAddend': 9,
                         'descriptors': [{'entries': [{'key': 'a', 'value': 'x'}]}]})
    assert status == 429
    assert json.loads(text)['statuses'][0]['code'] == 'OVER_LIMIT'


def test_json_that_is_refused(post):
    for body in ('', '{', '[]', '{"domain": 5}', '{"domain": "shop"}', '[' * 50000,
                 base64.b64encode(os.urandom(300)).decode()):
        status, text = post(body)
        assert status == 400, (body, text)
        assert text.endswith('\n')
    assert post({'domain': 'shop', 'descriptors': [{'entries': []}], 'later': 1})[0] == 200
