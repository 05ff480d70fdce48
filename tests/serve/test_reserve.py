"""Reservations: units that are taken ahead, and corrected when their need is known."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.http_client import Connection
from support.policies import YEAR
from support.processes import free_port
from support.resp import Client

# A window of a year gives nothing back while a test runs.
POLICIES = f'''
version: 1
policies:
  - {{name: tokens, quota: 1000, window: {YEAR}s, unit: tokens,
     cost: {{reserve: 100, settle: {{response-json: usage.total_tokens}}}}}}
  - {{name: daily, quota: 5000, window: {YEAR}s, unit: tokens, key: []}}
  - {{name: slots, quota: 1, algorithm: concurrency}}
'''
# The same, without some policies and costs.
RELOADED = f'''
version: 1
policies:
  - {{name: tokens, quota: 1000, window: {YEAR}s, unit: tokens}}
'''


class Api:
    def __init__(self, connection):
        self.connection = connection

    def post(self, path, body, expect=200):
        response = self.connection.request(path, 'POST', body=json.dumps(body).encode())
        assert response.status == expect, response
        return json.loads(response.body)

    def reserve(self, *checks, expect=200, **members):
        return self.post('/v1/reserve', {'checks': checks, **members}, expect)

    def settle(self, reservation, expect=200, **costs):
        return self.post('/v1/settle', {'reservation': reservation, 'costs': costs}, expect)

    def left(self, policy, key=''):
        answer = self.post('/v1/decide', {'checks': [{'policy': policy, 'key': key}], 'op': 'peek'})
        return answer['results'][0]['r']


@pytest.fixture
def server(serve):
    return serve(POLICIES)


@pytest.fixture
def api(server):
    with Connection(server.port) as connection:
        yield Api(connection)


def check(policy, key='', **more):
    return {'policy': policy, 'key': key, **more}


def test_a_reservation_answers_as_a_decision_and_is_corrected_once(api):
    answer = api.reserve(check('tokens', 'a', cost=600), check('daily', cost=600))
    reservation = answer.pop('reservation')
    assert answer == {
        'admitted': True,
        'results': [{'policy': 'tokens', 'admitted': True, 'r': 400, 'reset': 12614400, 'wait': 0,
                     'wait_ns': 0},
                    {'policy': 'daily', 'admitted': True, 'r': 4400, 'reset': 27751680, 'wait': 0,
                     'wait_ns': 0}],
        'fields': {
            'RateLimit-Policy':
                f'"tokens";q=1000;qu="tokens";w={YEAR}, "daily";q=5000;qu="tokens";w={YEAR}',
            'RateLimit': '"tokens";r=400;t=12614400, "daily";r=4400;t=27751680'}}
    assert api.settle(reservation, tokens=300, daily=700) == {'settled': True}
    assert (api.left('tokens', 'a'), api.left('daily')) == (700, 4300)
    assert api.settle(reservation, tokens=0, daily=0) == {'settled': False}
    assert (api.left('tokens', 'a'), api.left('daily')) == (700, 4300)


def test_a_denial_takes_nothing_and_has_no_reservation(api):
    answer = api.reserve(check('tokens', 'a', cost=1001), check('daily', cost=1))
    assert not answer['admitted'] and 'reservation' not in answer
    assert api.left('daily') == 5000


def test_without_a_cost_the_policy_says_what_to_reserve(api):
    api.reserve(check('tokens', 'a'), check('daily'))
    assert (api.left('tokens', 'a'), api.left('daily')) == (900, 4999)


def test_what_has_no_cost_stays_charged_and_slots_are_released(api):
    reservation = api.reserve(check('tokens', 'a'), check('slots', 'a'))['reservation']
    assert not api.reserve(check('slots', 'a'))['admitted']
    assert api.settle(reservation) == {'settled': True}
    assert api.left('tokens', 'a') == 900
    assert api.reserve(check('slots', 'a'))['admitted']


TAKES_NOTHING = {
    'would have denied': 'quota: 5, mode: shadow',
    'unlimited': 'quota: 5, overrides: [{ids: [a], quota: unlimited}]',
    'off': 'quota: 5, mode: "off"',
    'without Redis': 'quota: 5, sharing: exact, on-outage: allow',
}


@pytest.mark.parametrize('policy', TAKES_NOTHING.values(), ids=TAKES_NOTHING.keys())
def test_the_cost_of_a_policy_that_took_nothing_is_ignored(serve, policy):
    """Its caller cannot know that, and the slot of another policy has to be released."""
    server = serve(f'''
version: 1
store: {{table: {{memory: 1MiB}}, redis: {{nodes: ["127.0.0.1:{free_port()}"]}}}}
policies:
  - {{name: nothing, window: {YEAR}s, key: ['header:x'], {policy}}}
  - {{name: slots, quota: 1, algorithm: concurrency, key: ['header:x'], sharing: none}}
''')
    with Connection(server.port) as connection:
        api = Api(connection)
        checks = check('nothing', 'a', cost=6), check('slots', 'a')
        for _ in range(2):
            reservation = api.reserve(*checks)['reservation']
            assert api.settle(reservation, nothing=4) == {'settled': True}
            assert api.settle(reservation, nothing=4) == {'settled': False}


def test_faults_say_what_and_where(api):
    reservation = api.reserve(check('tokens', 'a'))['reservation']
    body = json.dumps({'reservation': reservation, 'costs': {'dayly': 1}})
    at = body.index('"dayly"')
    assert api.settle(reservation, expect=400, dayly=1)['detail'] == (
        f"byte {at}: there is no policy 'dayly'; did you mean 'daily'?")
    assert api.settle('00', expect=400) == {
        'type': 'about:blank', 'title': 'Bad Request', 'status': 400, 'offset': 16,
        'detail': 'byte 16: the reservation is not a text that /v1/reserve answered'}
    assert api.reserve(check('tokens'), op='spend', expect=400)['detail'].endswith(
        "unknown member 'op'; expected checks")
    assert api.reserve(check('nothing'), expect=404)
    assert api.reserve(check('tokens', 'k' * 25000), expect=413)
    assert api.settle(reservation, tokens=-1, expect=422)
    assert api.settle(reservation, tokens=1) == {'settled': True}, 'no fault has settled it'


def test_the_longest_reservation_can_be_settled(api):
    keys = [str(i) * (130 // len(str(i))) for i in range(10, 138)]
    reservation = api.reserve(*(check('tokens', key, cost=1) for key in keys))['reservation']
    assert api.settle(reservation, tokens=0) == {'settled': True}
    assert api.left('tokens', keys[0]) == 1000


def test_what_could_not_be_settled_is_not_reserved(serve):
    """The reservation has the key of a policy with a candidate twice, and values of a list with spaces between."""
    server = serve(f'''
version: 1
policies:
  - {{name: two, quota: 10, window: {YEAR}s, key: ['header:x'], candidate: {{quota: 5}}}}
  - {{name: slots, quota: 1, algorithm: concurrency, key: ['header:x']}}
''', doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'})
    long = [('two', 'k' * 20000), ('slots', 'a,' * 12000)]
    with Connection(server.port) as connection, Client(server.ports['resp']) as redis:
        api = Api(connection)
        for policy, key in long:
            left = api.left(policy, key)
            assert 'too long for a reservation' in api.reserve(check(policy, key), expect=413)['detail']
            assert 'too long for a reservation' in redis.command('HG.RESERVE', policy, key, 1)
            assert api.left(policy, key) == left
        for policy, key in [('two', 'k' * 16000), ('slots', 'a,' * 10000), ('slots', 'k' * 24000)]:
            reservation = api.reserve(check(policy, key))['reservation']
            assert api.settle(reservation, **{policy: 0}) == {'settled': True}
            reservation = redis.command('HG.RESERVE', policy, key, 1)[5]
            assert redis.command('HG.SETTLE', reservation, 0) == 1
            assert api.left(policy, key) in (10, 1)


def test_a_reload_between_changes_nothing(server, api):
    reservation = api.reserve(check('tokens', 'a', cost=600), check('daily', cost=10))['reservation']
    assert 'in force' in server.reload(RELOADED)
    assert api.settle(reservation, tokens=100, daily=5) == {'settled': True}
    assert api.left('tokens', 'a') == 900
    assert api.settle(reservation, tokens=0) == {'settled': False}


def test_what_no_policy_in_force_can_correct_is_not_settled(server, api):
    reservation = api.reserve(check('daily', cost=10))['reservation']
    assert 'in force' in server.reload(RELOADED)
    for _ in range(2):
        assert api.settle(reservation, expect=404, daily=4)['detail'] == "there is no policy 'daily'"
    assert 'in force' in server.reload(POLICIES.replace('quota: 5000', 'quota: 6000'))
    assert api.settle(reservation, expect=404, daily=4)['detail'] == (
        "policy 'daily' has not the quota that was reserved from")
    assert 'in force' in server.reload(POLICIES)
    assert api.settle(reservation, daily=4) == {'settled': True}
    assert api.left('daily') == 4996
    assert api.settle(reservation, daily=4) == {'settled': False}


def test_a_token_bucket_is_settled(serve):
    """Its rate is not one of units per window in whole seconds."""
    bucket = '{name: bucket, burst: 5, count: 7, period: 1000h, key: []}'
    server = serve(f'version: 1\npolicies: [{bucket}]', doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'})
    with Connection(server.port) as connection, Client(server.ports['resp']) as redis:
        api = Api(connection)
        reservation = api.reserve(check('bucket', cost=5))['reservation']
        assert api.settle(reservation, bucket=2) == {'settled': True}
        assert api.left('bucket') == 3
        reservation = redis.command('HG.RESERVE', 'bucket', '', 3)[5]
        assert redis.command('HG.SETTLE', reservation, 1) == 1
        assert api.left('bucket') == 2


def test_units_of_another_algorithm_are_not_given_back(server, api):
    reservation = api.reserve(check('tokens', 'a', cost=600))['reservation']
    fixed = POLICIES.replace('name: tokens,', 'name: tokens, algorithm: fixed-window,')
    assert 'in force' in server.reload(fixed)
    assert api.post('/v1/decide', {'checks': [check('tokens', 'a', cost=600)]})['admitted']
    assert api.settle(reservation, expect=404, tokens=0)
    assert api.left('tokens', 'a') == 400


def test_two_servers_with_one_table_settle_once(serve, tmp_path):
    store = f'store: {{table: {{memory: 1MiB, file: {tmp_path}/table}}}}\npolicies:'
    servers = [serve(POLICIES.replace('policies:', store)) for _ in range(2)]
    with Connection(servers[0].port) as one, Connection(servers[1].port) as other:
        one, other = Api(one), Api(other)
        reservation = one.reserve(check('tokens', 'a', cost=600))['reservation']
        assert other.settle(reservation, tokens=100) == {'settled': True}
        assert [api.settle(reservation, tokens=0)['settled'] for api in (one, other)] == [False] * 2
        assert one.left('tokens', 'a') == 900


def test_what_one_server_counted_without_redis_only_it_settles(serve):
    policies = f'''
version: 1
store: {{redis: {{nodes: ["127.0.0.1:{free_port()}"]}}}}
policies: [{{name: slots, quota: 1, algorithm: concurrency, lease: 1h, key: []}}]
'''
    one, other = (serve(policies, doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'})
                  for _ in range(2))
    with Connection(one.port) as first, Connection(other.port) as second, \
            Client(other.ports['resp']) as redis:
        here, there = Api(first), Api(second)
        reservation = here.reserve(check('slots'))['reservation']
        assert there.reserve(check('slots'))['admitted'], 'each counts alone'
        assert 'try again there' in there.settle(reservation, expect=503)['detail']
        assert str(redis.command('HG.SETTLE', reservation, 1)).startswith('TRYAGAIN another server')
        assert not there.reserve(check('slots'))['admitted'], 'its own slot is still taken'
        assert here.settle(reservation) == {'settled': True}
        assert here.settle(reservation) == {'settled': False}
        there.settle(reservation, expect=503)
        assert not there.reserve(check('slots'))['admitted']
        assert here.reserve(check('slots'))['admitted']


def test_many_at_the_same_time_never_reserve_more_than_there_is(server):
    def one(_):
        with Connection(server.port) as connection:
            api = Api(connection)
            answer = api.reserve(check('tokens', 'a', cost=90))
            if answer['admitted']:
                settled = [api.settle(answer['reservation'], tokens=80)['settled'] for _ in range(3)]
                assert settled == [True, False, False]
            return answer['admitted']

    with ThreadPoolExecutor(64) as pool:
        used = 80 * sum(pool.map(one, range(64)))
    assert 11 * 80 <= used <= 1000
    with Connection(server.port) as connection:
        assert Api(connection).left('tokens', 'a') == 1000 - used


def test_resp(serve):
    server = serve(POLICIES, doors={'resp': '127.0.0.1:0'})
    with Client(server.ports['resp']) as redis:
        *figures, reservation = redis.command('HG.RESERVE', 'tokens', 'a', 600)
        assert figures == [1, 1000, 400, 12614400000, 0]
        assert redis.command('HG.RESERVE', 'tokens', 'a', 600)[5] is None
        assert redis.command('HG.SETTLE', reservation, 100) == 1
        assert redis.command('HG.SETTLE', reservation, 0) == 0
        assert redis.command('HG.PEEK', 'tokens', 'a')[2] == 900


def test_resp_does_not_settle_what_no_policy_in_force_can_correct(serve):
    server = serve(POLICIES, doors={'resp': '127.0.0.1:0'})
    with Client(server.ports['resp']) as redis:
        reservation = redis.command('HG.RESERVE', 'daily', '', 10)[5]
        assert 'in force' in server.reload(RELOADED)
        assert str(redis.command('HG.SETTLE', reservation, 4)) == 'ERR no policy is named "daily"'
        assert 'in force' in server.reload(POLICIES.replace('quota: 5000', 'quota: 6000'))
        assert str(redis.command('HG.SETTLE', reservation, 4)) == (
            'ERR policy "daily" has not the quota that was reserved from')
        assert 'in force' in server.reload(POLICIES)
        assert redis.command('HG.SETTLE', reservation, 4) == 1
        assert redis.command('HG.PEEK', 'daily', '')[2] == 4996
