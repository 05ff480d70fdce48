"""Overrides that are made while the server runs: /v1/overrides, and headgate override."""
import json
import re

import pytest

from support.admin import change, listed, metric, put, quota, run
from support.http_client import request
from support.processes import until

POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 3, window: 60s, overrides: [{ids: [10.0.0.9, 10.1.0.0/16], quota: 7}]}
  - {name: users, quota: 2, window: 1h, key: ["header:x-user", path], match: [{path: /users}]}
  - {name: slots, quota: 1, algorithm: concurrency, unit: concurrent-requests, match: [{path: /slots}]}
  - {name: everyone, quota: 10, window: 1h, key: [], match: [{path: /all}]}
'''


@pytest.fixture
def start(serve, tmp_path, admin_token):
    """Starts a server; all have the same file of overrides."""
    def started(policies=POLICIES, *arguments):
        return serve(policies, arguments=('--admin-token-file', admin_token, '--overrides-file',
                                          tmp_path / 'overrides', *arguments))
    return started


def auth(server, address, path='/'):
    return request(server.port, '/auth', headers={'X-Forwarded-For': address, 'X-Forwarded-Uri': path,
                                                  'X-Forwarded-Method': 'GET'})


def test_an_override_is_in_force_at_once_and_the_fields_stay_honest(start):
    server = start()
    assert auth(server, '10.0.0.2').headers['RateLimit-Policy'] == '"burst";q=3;w=60'
    made = put(server, 'burst/10.0.0.2', quota=50, window='1m', reason='demo')
    assert made.pop('by').startswith('127.0.0.1')
    assert made.pop('since') > 1_700_000_000
    assert made == {'policy': 'burst', 'key': '10.0.0.2', 'quota': 50, 'window': '1m', 'until': None,
                    'reason': 'demo'}
    answer = auth(server, '10.0.0.2')
    assert answer.headers['RateLimit-Policy'] == '"burst";q=50;w=60'
    # What a field promises is kept: r more requests pass, and the first that is denied says when.
    left = int(re.search(r'r=(\d+)', answer.headers['RateLimit'])[1])
    assert 31 <= left < 49, 'one of three units was a third of the quota'
    assert all(auth(server, '10.0.0.2').status == 200 for _ in range(left))
    assert auth(server, '10.0.0.3').headers['RateLimit-Policy'].startswith('"burst";q=3;'), 'others stay'

    put(server, 'burst/10.0.0.3', quota='unlimited')
    assert 'RateLimit' not in auth(server, '10.0.0.3').headers
    put(server, 'burst/10.0.0.4', quota=0)
    assert (auth(server, '10.0.0.4').status, auth(server, '10.0.0.5').status) == (429, 200)

    change(server, 'DELETE', 'burst/10.0.0.2')
    assert auth(server, '10.0.0.2').headers['RateLimit-Policy'].startswith('"burst";q=3;')


def test_it_takes_the_place_of_those_of_the_policy_file(start):
    server = start()
    assert (quota(server, 'burst/10.0.0.9'), quota(server, 'burst/10.1.2.3')) == (7, 7)
    put(server, 'burst/10.0.0.9', quota=5)
    put(server, 'burst/10.1.2.3', quota=4)
    assert [quota(server, f'burst/{key}') for key in ('10.0.0.9', '10.1.2.3', '10.1.2.4')] == [5, 4, 7]
    # Another spelling of a key is the same key.
    put(server, 'burst/%3A%3Affff%3A10.1.2.3', quota=6)
    assert quota(server, 'burst/10.1.2.3') == 6
    assert len(listed(server)) == 2
    change(server, 'DELETE', 'burst/10.1.2.3')
    assert (quota(server, 'burst/10.1.2.3'), len(listed(server))) == (7, 1)


def test_every_kind_of_key_and_policy_can_have_one(start):
    server = start()
    put(server, 'users/ann%2C%2Fusers', quota=1)
    put(server, 'slots/10.0.0.2', quota=2)
    put(server, 'everyone/', quota=20, window='2h')
    assert quota(server, 'users/ann,/users') == 1
    assert quota(server, 'slots/10.0.0.2') == 2
    assert auth(server, '10.0.0.2', '/all').headers['RateLimit-Policy'].count('"everyone";q=20;w=7200') == 1


def test_it_outlives_a_restart_and_a_reload(start):
    first = start()
    put(first, 'burst/10.0.0.2', quota=50)
    put(first, 'users/ann%2C%2Fusers', quota=9)
    assert 'in force now' in first.reload(POLICIES)
    assert quota(first, 'burst/10.0.0.2') == 50
    assert 'in force now' in first.reload('version: 1\npolicies: [{name: burst, quota: 4, window: 60s}]')
    assert (quota(first, 'burst/10.0.0.2'), quota(first, 'burst/10.0.0.3')) == (50, 4)
    assert [one['fault'] for one in listed(first)] == [None, "there is no policy 'users'"]
    assert metric(first, 'headgate_overrides') == {'policy="burst"': 1}
    assert metric(first, 'headgate_overrides_left_out') == {'': 1}
    first.kill()

    second = start()
    assert quota(second, 'burst/10.0.0.2') == 50
    assert quota(second, 'users/ann,/users') == 9, 'kept while its policy was away'
    assert [one['fault'] for one in listed(second)] == [None, None]


def test_an_override_without_a_policy_can_be_removed(start):
    server = start()
    put(server, 'users/ann%2C%2Fusers', quota=9)
    server.reload('version: 1\npolicies: [{name: burst, quota: 4, window: 60s}]')
    change(server, 'DELETE', 'users/ann%2C%2Fusers')
    assert listed(server) == []


def test_it_ends(start):
    server = start()
    made = put(server, 'burst/10.0.0.2', quota=50, **{'for': '1s'})
    assert made['until'] == made['since'] + 1
    put(server, 'burst/10.0.0.3', quota=40, **{'for': '2h'})
    server.until(r'an override has ended: \{"policy":"burst","key":"10\.0\.0\.2","quota":50')
    assert (quota(server, 'burst/10.0.0.2'), quota(server, 'burst/10.0.0.3')) == (3, 40)
    assert [one['key'] for one in listed(server)] == ['10.0.0.3']
    server.kill()
    assert [one['key'] for one in listed(start())] == ['10.0.0.3']


def test_two_processes_see_the_same(start):
    one, other = start(), start()
    put(one, 'burst/10.0.0.2', quota=50)
    put(other, 'burst/10.0.0.3', quota=40)
    for server in (one, other):
        until(lambda: len(listed(server)) == 2, 'both overrides are there')
        assert (quota(server, 'burst/10.0.0.2'), quota(server, 'burst/10.0.0.3')) == (50, 40)
    change(one, 'DELETE', 'burst/10.0.0.3')
    until(lambda: quota(other, 'burst/10.0.0.3') == 3, 'it is removed there, too')


def test_the_log_says_who_did_what(start):
    server = start()
    put(server, 'burst/10.0.0.2', quota=50, window='1m', reason='launch\nday', **{'for': '2h'})
    server.until(r'127\.0\.0\.1\S* sets the override \{"policy":"burst","key":"10\.0\.0\.2","quota":50,'
                 r'"window":"1m","since":\d+,"until":\d+,"by":"127\.0\.0\.1\S*","reason":"launch\\u000aday"\}$')
    change(server, 'DELETE', 'burst/10.0.0.2')
    server.until(r'127\.0\.0\.1\S* removes the override \{"policy":"burst","key":"10\.0\.0\.2","quota":50,')


def test_only_the_admin_token_changes_them(start, serve, tmp_path):
    server = start()
    change(server, 'PUT', 'burst/10.0.0.2', {'quota': 1}, 401, 'wrong-wrong-wrong-wrong')
    change(server, 'DELETE', 'burst/10.0.0.2', status=401, token='wrong-wrong-wrong-wrong')
    without = serve(POLICIES, arguments=('--overrides-file', tmp_path / 'overrides'))
    assert '--admin-token-file' in put(without, 'burst/10.0.0.2', 403, quota=1)['detail']
    assert listed(server) == []


def test_without_a_file_there_is_none(serve, admin_token, tmp_path):
    server = serve(POLICIES, arguments=('--admin-token-file', admin_token))
    assert '--overrides-file FILE' in put(server, 'burst/10.0.0.2', 409, quota=1)['detail']
    assert listed(server) == []
    beside = serve(POLICIES + f'store: {{table: {{file: {tmp_path}/table, memory: 1MiB}}}}\n',
                   arguments=('--admin-token-file', admin_token))
    put(beside, 'burst/10.0.0.2', quota=1)
    assert 'burst' in (tmp_path / 'table.overrides').read_text()


@pytest.mark.parametrize('path, override, status, words', [
    ('brust/10.0.0.2', {'quota': 1}, 404, "there is no policy 'brust'; did you mean 'burst'?"),
    ('burst', {'quota': 1}, 404, 'expected /v1/overrides/POLICY/KEY'),
    ('burst/ann', {'quota': 1}, 422, "key 'ann' is not an address; expected one like 10.0.0.2"),
    ('burst/%ff', {'quota': 1}, 422, 'the key is not UTF-8'),
    ('users/ann', {'quota': 1}, 422, "key 'ann' does not have 2 parts"),
    ('slots/10.0.0.2', {'quota': 1, 'window': '1m'}, 422, "expected a quota without a window"),
    ('burst/10.0.0.2', {}, 400, "'quota' is missing"),
    ('burst/10.0.0.2', {'quota': -1}, 400, 'byte 10: expected a quota of 0 to 999999999999999'),
    ('burst/10.0.0.2', {'quota': 1, 'fro': '1h'}, 400, "byte 13: unknown member 'fro'; did you mean 'for'?"),
    ('burst/10.0.0.2', {'quota': 1, 'for': 'soon'}, 400, "for 'soon' is not a duration"),
])
def test_bad_overrides_say_what_was_expected(start, path, override, status, words):
    server = start()
    assert words in change(server, 'PUT', path, override, status)['detail']
    assert listed(server) == []


def test_one_that_is_not_there_cannot_be_removed(start):
    assert change(start(), 'DELETE', 'burst/10.0.0.2', status=404)['detail'] == \
        "there is no override of policy 'burst' for key '10.0.0.2'"


def test_a_file_with_faults_is_refused(serve, headgate, start, tmp_path):
    server = start()
    put(server, 'burst/10.0.0.2', quota=50)
    (tmp_path / 'overrides').write_text('{"overrides":[{"policy":1}]}')
    server.until(r'overrides: byte 24: expected a string; the overrides before it stay in force')
    assert quota(server, 'burst/10.0.0.2') == 50
    assert 'byte 24' in put(server, 'burst/10.0.0.3', 503, quota=1)['detail']
    (tmp_path / 'p.yaml').write_text(POLICIES)
    done = headgate('serve', '--config', 'p.yaml', '--http', '127.0.0.1:0', '--overrides-file',
                    tmp_path / 'overrides')
    assert (done.returncode, done.stderr) == (1, f'{tmp_path}/overrides: byte 24: expected a string\n')


def test_ten_thousand_can_be_used(start, tmp_path):
    all_of_them = [{'policy': 'burst', 'key': f'10.2.{i // 250}.{i % 250}', 'quota': 10 + i}
                   for i in range(10_000)]
    (tmp_path / 'overrides').write_text(json.dumps({'overrides': all_of_them}))
    server = start()
    assert quota(server, 'burst/10.2.39.249') == 10_009
    put(server, 'burst/10.2.39.249', quota=5)
    assert (quota(server, 'burst/10.2.39.249'), quota(server, 'burst/10.2.0.0')) == (5, 10)
    assert 'there are 10000 overrides already' in put(server, 'burst/10.3.0.1', 409, quota=1)['detail']
    assert len(listed(server)) == 10_000
    assert metric(server, 'headgate_overrides') == {'policy="burst"': 10_000}


def test_the_command_says_it_in_words(start, admin_token):
    server = start()
    assert run(server, 'override', 'list') == 'There are no overrides.\n'
    line = run(server, 'override', 'set', 'burst', '10.0.0.2', '50', '--window', '1m', '--for', '2h', '--reason',
               'demo', token_file=admin_token)
    assert re.fullmatch(r'burst, key 10\.0\.0\.2: 50 per 1m, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(demo\)\n',
                        line)
    assert run(server, 'override', 'set', 'everyone', '', 'unlimited', token_file=admin_token) == \
        'everyone, key (everyone): unlimited\n'
    assert run(server, 'override', 'list') == line + 'everyone, key (everyone): unlimited\n'
    as_json = json.loads(run(server, 'override', 'list', '--json'))
    assert [one['quota'] for one in as_json['overrides']] == [50, 'unlimited']
    assert run(server, 'override', 'remove', 'burst', '10.0.0.2', token_file=admin_token) == 'removed: ' + line
    assert run(server, 'override', 'set', 'burst', '10.0.0.3', '7', '--for', '999999999999999s',
               token_file=admin_token) == 'burst, key 10.0.0.3: 7\n'
    run(server, 'override', 'remove', 'burst', '10.0.0.3', token_file=admin_token)
    server.reload('version: 1\npolicies: [{name: burst, quota: 4, window: 60s}]')
    assert run(server, 'override', 'list') == \
        "everyone, key (everyone): unlimited; without effect: there is no policy 'everyone'\n"


def test_its_errors_say_what_was_expected(start, admin_token):
    server = start()
    assert 'expected headgate override set POLICY KEY QUOTA' in run(server, 'override', 'set', 'burst', status=2)
    assert 'expected headgate override list' in run(server, 'override', 'list', 'burst', status=2)
    assert 'QUOTA "many" is not an integer' in run(server, 'override', 'set', 'burst', 'a', 'many', status=2)
    assert '--for' in run(server, 'override', 'list', '--for', '1h', status=2)
    assert '--admin-token-file' in run(server, 'override', 'set', 'burst', '10.0.0.2', '5', status=1)
    assert "did you mean 'burst'?" in run(server, 'override', 'set', 'brust', 'a', '5', status=1,
                                          token_file=admin_token)
    assert 'there is no override' in run(server, 'override', 'remove', 'burst', '10.0.0.2', status=1,
                                         token_file=admin_token)
