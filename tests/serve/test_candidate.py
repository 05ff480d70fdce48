"""A policy with a candidate, through the doors of the decision server."""
import json
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE
from support.http_client import Connection, read_metrics, request
from support.policies import YEAR
from support.resp import Client

# The candidate is in force for the key b (from 20 % on), and not for a (from 90 % on).
POLICIES = f'''
version: 1
partition-key: plain
policies:
  - {{name: burst, quota: 2, window: {YEAR}s, key: ["header:x-user"],
     candidate: {{quota: 4, share: 50%}}}}
  - {{name: other, quota: 9, window: {YEAR}s, key: ["header:x-user"]}}
'''


@pytest.fixture
def server(serve, tmp_path):
    token = tmp_path / 'token'
    token.write_text('may-give-quotas-back\n')
    token.chmod(0o600)
    return serve(POLICIES, doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'},
                 arguments=('--admin-token-file', token, '--overrides-file', tmp_path / 'overrides'))


def post(server, path, body):
    with Connection(server.port) as connection:
        answer = connection.request(path, 'POST', body=json.dumps(body).encode())
    assert answer.status == 200, answer
    return json.loads(answer.body)


def decide(server, key, policy='burst', **members):
    return post(server, '/v1/decide', {'checks': [{'policy': policy, 'key': key}], **members})


def left(server, key, policy='burst'):
    return decide(server, key, policy, op='peek')['results'][0]['r']


def spend_all(server, key):
    """How often a key was admitted before it was denied."""
    for times in range(10):
        if not decide(server, key)['admitted']:
            return times
    raise AssertionError(f'{key} was never denied')


def run(server, command, *words):
    return subprocess.run([HEADGATE, command, '--url', f'http://127.0.0.1:{server.port}', *words],
                          capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)


def test_each_key_gets_the_numbers_in_force_for_it(server):
    first = decide(server, 'b')
    assert first['results'][0]['policy'] == 'burst'
    assert first['results'][0]['r'] == 3
    assert first['fields']['RateLimit-Policy'] == f'"burst";q=4;w={YEAR};pk=:Yg==:'
    assert first['fields']['RateLimit'].startswith('"burst";r=3;')
    assert spend_all(server, 'b') == 3
    assert spend_all(server, 'a') == 2
    denied = decide(server, 'b')
    assert denied['fields']['RateLimit'].startswith('"burst";r=0;')


def test_both_count(server):
    for key in ('a', 'b'):
        spend_all(server, key)
    metrics = read_metrics(server.port)

    def counted(policy):
        return [metrics[f'headgate_decisions_total{{policy="{policy}",outcome="{outcome}"}}']
                for outcome in ('admitted', 'denied', 'shadow-denied')]

    assert counted('burst') == [2 + 2, 1, 3]
    assert counted('burst (candidate)') == [3 + 4, 1, 0]


def test_a_candidate_is_listed(server):
    listed = json.loads(request(server.port, '/v1/policies').text)['policies']
    assert [(one['name'], one.get('candidate_of'), one.get('share'), one['quota']) for one in listed] == [
        ('burst', None, None, 2), ('burst (candidate)', 'burst', 50, 4), ('other', None, None, 9)]
    spend_all(server, 'a')
    top = json.loads(request(server.port, '/v1/top').text)
    assert {(one['policy'], one['key']) for one in top['busiest']} == {
        ('burst', 'a'), ('burst (candidate)', 'a')}
    assert 'burst (candidate)' in run(server, 'top').stdout


def test_redis_clients_get_the_numbers_in_force(server):
    with Client(server.ports['resp']) as client:
        assert client.command('HG.DECIDE', 'burst', 'b')[:3] == [1, 4, 3]
        assert client.command('HG.DECIDE', 'burst', 'a')[:3] == [1, 2, 1]
        assert client.command('HG.DECIDE', 'burst', 'a')[:3] == [1, 2, 0]
        assert client.command('HG.DECIDE', 'burst', 'a')[:3] == [0, 2, 0]
        assert client.command('HG.PEEK', 'burst (candidate)', 'a')[:3] == [1, 4, 1]
        assert client.command('HG.REFUND', 'burst', 'a')[:3] == [1, 2, 1]
        assert client.command('HG.PEEK', 'burst (candidate)', 'a')[:3] == [1, 4, 2]


def test_a_reservation_is_of_both(server):
    answer = post(server, '/v1/reserve', {'checks': [{'policy': 'burst', 'key': 'b', 'cost': 2}]})
    assert [left(server, 'b', name) for name in ('burst', 'burst (candidate)')] == [2, 2]
    settled = post(server, '/v1/settle', {'reservation': answer['reservation'], 'costs': {'burst': 1}})
    assert settled == {'settled': True}
    assert left(server, 'b') == 3
    assert decide(server, 'b')['admitted']
    shadow = [line for line in request(server.port, '/metrics').text.splitlines()
              if line.startswith('headgate_decisions_total') and 'outcome="shadow-denied"' in line]
    assert [line.rpartition(' ')[2] for line in shadow] == ['0'] * 3, 'given back to both'


def test_one_client_is_looked_at_and_helped_under_the_policys_name(server, tmp_path):
    spend_all(server, 'b')
    state = json.loads(request(server.port, '/v1/state/burst/b').text)
    assert (state['policy'], state['quota'], state['enforced'], state['admitted']) == ('burst', 4, True, False)
    own = json.loads(request(server.port, '/v1/state/burst%20(candidate)/a').text)
    assert (own['policy'], own['quota'], own['enforced'], own['r']) == ('burst (candidate)', 4, False, 4)
    why = run(server, 'why', 'burst', 'b')
    assert why.stdout.startswith('Denied by burst for '), why
    assert 'candidate' not in why.stdout
    token = ('--admin-token-file', str(tmp_path / 'token'))
    assert run(server, 'reset', *token, 'burst', 'b').returncode == 0
    assert left(server, 'b') == 4
    assert decide(server, 'b')['admitted']
    assert run(server, 'override', 'set', *token, 'burst', 'b', '7').returncode == 0
    assert left(server, 'b') == 5, 'a quarter of it is spent'
    refused = run(server, 'override', 'set', *token, 'burst (candidate)', 'b', '7')
    assert refused.returncode == 1
    assert "expected policy 'burst'" in refused.stderr


def test_envoy_gets_the_numbers_in_force(server):
    def ask(key):
        with Connection(server.port) as connection:
            answer = connection.request('/json', 'POST', body=json.dumps({
                'domain': 'headgate', 'descriptors': [
                    {'entries': [{'key': 'policy', 'value': 'burst'}, {'key': 'key', 'value': key}]}]}).encode())
        return answer.status, json.loads(answer.body)['statuses'][0]

    for key, quota in (('a', 2), ('b', 4)):
        status, said = ask(key)
        assert (status, said['limitRemaining']) == (200, quota - 1)
        assert (said['currentLimit']['name'], said['currentLimit']['requestsPerUnit']) == ('burst', quota)
        assert [ask(key)[0] for _ in range(quota)] == [200] * (quota - 1) + [429]


def test_proxies_get_the_policys_name(server):
    with Connection(server.port) as connection:
        for key, quota in (('a', 2), ('b', 4)):
            answers = [connection.request('/auth', headers=[('X-User', key)]) for _ in range(quota + 1)]
            assert [answer.status for answer in answers] == [200] * quota + [429]
            told = connection.request('/auth?deny=403', headers=[('X-User', key)])
            assert (told.status, told.one('X-Headgate-Policy')) == (403, 'burst')
            assert all('candidate' not in answer.head for answer in answers)
            assert json.loads(answers[-1].body)['violated-policies'] == ['burst']
