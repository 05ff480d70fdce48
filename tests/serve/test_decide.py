"""POST /v1/decide."""
import json

import pytest

from support.http_client import Connection

POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 3, window: 60s}
  - {name: daily, quota: 5, window: 1d, key: []}
  - {name: slots, quota: 2, algorithm: concurrency, unit: concurrent-requests}
  - {name: shadow, quota: 1, window: 60s, mode: shadow}
  - {name: 'off', quota: 1, window: 60s, mode: 'off'}
  - {name: some, quota: 1, window: 60s, overrides: [{ids: ["192.0.2.1"], quota: unlimited}]}
'''


@pytest.fixture
def decide(serve):
    """Decisions of a new server: decide({'policy': ..., 'key': ...}, ..., op=...) -> its JSON."""
    with Connection(serve(POLICIES).port) as connection:
        def decide(*checks, expect=200, raw=None, **members):
            body = raw if raw is not None else json.dumps({'checks': checks, **members})
            response = connection.request('/v1/decide', 'POST', body=body.encode())
            assert response.status == expect, response
            assert response.one('Content-Type') == (
                'application/json' if expect == 200 else 'application/problem+json')
            return json.loads(response.body)
        yield decide


def check(policy, key='', **more):
    return {'policy': policy, 'key': key, **more}


def test_a_quota_is_spent_and_reported(decide):
    assert decide(check('burst', 'a', cost=1), op='spend') == {
        'admitted': True,
        'results': [{'policy': 'burst', 'admitted': True, 'r': 2, 'reset': 40, 'wait': 0,
                     'wait_ns': 0}],
        'fields': {'RateLimit-Policy': '"burst";q=3;w=60', 'RateLimit': '"burst";r=2;t=40'}}
    assert decide(check('burst', 'a', cost=2))['results'][0]['r'] == 0
    denied = decide(check('burst', 'a'))
    result = denied['results'][0]
    assert (denied['admitted'], result['admitted'], result['r']) == (False, False, 0)
    assert 0 < result['wait_ns'] <= 20_000_000_000
    assert result['wait'] == result['reset'] == -(-result['wait_ns'] // 10**9)
    assert denied['fields'] == {
        'RateLimit-Policy': '"burst";q=3;w=60', 'RateLimit': f'"burst";r=0;t={result["wait"]}',
        'Retry-After': str(result['wait'])}
    assert decide(check('burst', 'b'))['admitted']


def test_a_denial_that_no_waiting_helps_has_no_wait(decide):
    denied = decide(check('burst', 'a', cost=4))
    assert denied['results'][0] == {'policy': 'burst', 'admitted': False, 'r': 3, 'reset': None,
                                    'wait': None, 'wait_ns': None}
    assert 'Retry-After' not in denied['fields']


def test_all_or_none(decide):
    assert decide(check('daily', cost=5))['admitted']
    denied = decide(check('burst', 'a', cost=2), check('daily'))
    assert denied['admitted'] is False
    assert [(r['policy'], r['admitted']) for r in denied['results']] == [
        ('burst', True), ('daily', False)]
    assert denied['fields']['RateLimit'].startswith('"burst";r=3')
    assert decide(check('burst', 'a', cost=3))['admitted']  # nothing was taken


def test_a_batch_answers_in_its_own_order(decide):
    answer = decide(check('slots', 'x'), check('burst', 'b'), check('burst', 'a'), check('daily'))
    assert [r['policy'] for r in answer['results']] == ['slots', 'burst', 'burst', 'daily']
    assert answer['results'][0] == {'policy': 'slots', 'admitted': True, 'r': 1, 'reset': None,
                                    'wait': 0, 'wait_ns': 0}


def test_a_peek_takes_nothing(decide):
    for _ in range(2):
        looked = decide(check('burst', 'a'), op='peek')
        assert (looked['admitted'], looked['results'][0]['r']) == (True, 3)
    assert decide(check('burst', 'a', cost=3))['admitted']
    assert decide(check('burst', 'a'), op='peek')['admitted']  # a peek of cost 0 is never denied
    assert not decide(check('burst', 'a', cost=1), op='peek')['admitted']


def test_what_was_spent_can_be_given_back(decide):
    assert decide(check('burst', 'a', cost=3))['results'][0]['r'] == 0
    assert decide(check('burst', 'a', cost=2), op='refund')['results'][0]['r'] == 2


def test_slots_are_released(decide):
    assert [decide(check('slots', 'a'))['admitted'] for _ in range(3)] == [True, True, False]
    assert decide(check('slots', 'a'), op='release')['results'][0]['r'] == 1
    assert [decide(check('slots', 'a'))['admitted'] for _ in range(2)] == [True, False]


def test_policies_that_do_not_limit(decide):
    for name, key in (('off', 'a'), ('some', '192.0.2.1')):
        for _ in range(3):
            answer = decide(check(name, key))
            assert answer['admitted'] and answer['fields'] == {}
            assert answer['results'] == [{'policy': name, 'admitted': True, 'r': None,
                                          'reset': None, 'wait': 0, 'wait_ns': 0}]
    assert [decide(check('some', '192.0.2.2'))['admitted'] for _ in range(2)] == [True, False]


def test_a_shadow_policy_never_denies(decide):
    answers = [decide(check('shadow', 'a'), check('burst', 'a')) for _ in range(2)]
    assert [a['admitted'] for a in answers] == [True, True]
    assert [a['results'][0]['admitted'] for a in answers] == [True, False]
    assert 'shadow' not in answers[1]['fields']['RateLimit']


def test_keys_are_the_requests_own(decide, serve):
    """The key of an address is that of a request from this address, in every spelling."""
    server = serve('version: 1\npolicies: [{name: burst, quota: 3, window: 60s}]')
    with Connection(server.port) as connection:
        auth = connection.request('/auth', headers=[('X-Forwarded-For', '2001:db8::1')])
        assert auth.r == 2
        body = json.dumps({'checks': [check('burst', '2001:DB8::2')]}).encode()
        decided = json.loads(connection.request('/v1/decide', 'POST', body=body).body)
        assert decided['results'][0]['r'] == 1


@pytest.mark.parametrize('raw, status, detail, offset', [
    ('', 400, 'expected an object', 0),
    ('{"checks": [{"policy": "burst", "kye": 1}]}', 400, "did you mean 'key'?", 32),
    ('{"checks": [{"policy": "burst"}], "op": "refunds"}', 400, "did you mean 'refund'?", 40),
    ('{"checks": [{"policy": "burst"}], "op": 1}', 400, 'expected a string', 40),
    ('{"checks": []}', 400, 'at least one check', 11),
    ('{"checks": [{"policy": "burst", "cost": -1}]}', 422, 'whole number', 40),
    ('{"checks": [{"policy": "burst", "cost": 0.5}]}', 422, 'whole number', 40),
    ('{"checks": [{"policy": "burst", "cost": 1000000000000000}]}', 422, '999999999999999', 40),
    ('{"checks": [{"policy": "brust"}]}', 404,
     "check 0: there is no policy 'brust'; did you mean 'burst'?", None),
    ('{"checks": [{"policy": "daily"}, {"policy": "nothing like it"}]}', 404,
     "check 1: there is no policy 'nothing like it'", None),
    ('{"checks": [{"policy": "daily"}, {"policy": "daily"}]}', 400, 'asked twice', None),
])
def test_faults_are_reported_with_their_place(decide, raw, status, detail, offset):
    document = decide(raw=raw, expect=status)
    assert detail in document['detail']
    assert document['type'] == 'about:blank'
    assert document.get('offset') == offset
    assert decide(check('daily', cost=5))['admitted']  # nothing was taken


def test_quotas_survive_a_kill(serve, tmp_path):
    policies = f'''
version: 1
store: {{table: {{memory: 1MiB, file: {tmp_path}/table}}}}
policies: [{{name: daily, quota: 5, window: 1d}}]
'''
    body = json.dumps({'checks': [check('daily', 'a', cost=2)]}).encode()
    for left in (3, 1):
        server = serve(policies)
        with Connection(server.port) as connection:
            decided = json.loads(connection.request('/v1/decide', 'POST', body=body).body)
            assert decided['results'][0]['r'] == left
        server.kill()
