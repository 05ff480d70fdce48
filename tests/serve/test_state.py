"""One partition of a running server: GET and DELETE /v1/state, and headgate peek, reset and why."""
import json
import re

import pytest

from support.admin import ADMIN, run, state
from support.http_client import Connection, request

TOKEN = 'correct-horse-battery'
READ = 'may-look-but-not-touch'
POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 3, window: 60s, overrides: [{ids: [10.0.0.9], quota: unlimited}, {ids: [10.0.0.8], quota: 5}]}
  - {name: daily, quota: 10, window: 1d}
  - {name: users, quota: 2, window: 1h, key: ["header:x-user", path]}
  - {name: hidden, quota: 2, window: 1h, key: ["header:x-key"]}
  - {name: smooth, quota: 5, window: 1h, algorithm: exponential, key: [path]}
  - {name: everyone, quota: 10, window: 1h, key: []}
  - {name: slots, quota: 1, algorithm: concurrency, unit: concurrent-requests}
  - {name: strict, quota: 1, window: 10s, denied: {penalty: 15s}}
  - {name: shadow, quota: 1, window: 60s, mode: shadow}
  - {name: 'off', quota: 1, window: 60s, mode: 'off'}
'''


def bearer(token):
    return {'Authorization': f'Bearer {token}'} if token else {}


@pytest.fixture
def token_files(tmp_path):
    made = {}
    for name, text in (('token', TOKEN), ('read', READ), ('admin', ADMIN)):
        made[name] = tmp_path / name
        made[name].write_text(text + '\n')
        made[name].chmod(0o600)
    return made


@pytest.fixture
def server(serve, token_files):
    return serve(POLICIES, arguments=('--admin-token-file', token_files['admin']))


def spend(server, policy, key, times=1, token=None):
    """How many of them were admitted."""
    body = json.dumps({'checks': [{'policy': policy, 'key': key}]})
    with Connection(server.port) as connection:
        return sum(json.loads(connection.request('/v1/decide', 'POST', [*bearer(token).items()],
                                                 body.encode()).body)['admitted']
                   for _ in range(times))


def test_a_state_says_what_is_left_and_takes_nothing(server):
    assert spend(server, 'burst', '10.0.0.2', 2) == 2
    for _ in range(3):
        got = state(server, 'burst/10.0.0.2')
        assert 35_000_000_000 < got.pop('full_ns') <= 40_000_000_000
        assert got.pop('full') in range(35, 41)
        assert got.pop('reset') in range(15, 21)
        assert got == {'policy': 'burst', 'key': '10.0.0.2', 'limited': True, 'enforced': True,
                       'override': False, 'quota': 3, 'unit': 'requests',
                       'window_ns': 60_000_000_000, 'admitted': True, 'r': 1, 'wait': 0, 'wait_ns': 0,
                       'outage': False, 'last_denial': None}
    assert spend(server, 'burst', '10.0.0.2', 2) == 1
    got = state(server, 'burst/10.0.0.2')
    assert (got['admitted'], got['r']) == (False, 0)
    assert 0 < got['wait_ns'] <= 20_000_000_000 and got['wait'] == -(-got['wait_ns'] // 10**9)
    assert 40 < got['full'] <= 60


def test_full_is_when_so_many_requests_pass(server):
    assert spend(server, 'smooth', '/', 6) == 5
    got = state(server, 'smooth/%2F')
    # After an hour five units would pass at once, but only three requests.
    assert 7200 < got['full'] < 8000 and got['full_ns'] == got['full'] * 10**9
    assert f', full again in {got["full"] // 10}' in run(server, 'peek', 'smooth', '/')


def test_a_key_is_found_as_requests_have_it(server):
    assert spend(server, 'users', 'ann,/v1/x') == 1
    assert state(server, 'users/ann%2C%2Fv1%2Fx')['r'] == 1
    assert state(server, 'users/ann,/v1/x')['r'] == 1
    assert spend(server, 'everyone', '') == 1
    assert state(server, 'everyone/')['r'] == 9
    assert spend(server, 'burst', '::ffff:10.0.0.3') == 1
    assert state(server, 'burst/10.0.0.3')['r'] == 2


def test_what_is_not_limited_is_said(server):
    unlimited = state(server, 'burst/10.0.0.9')
    assert (unlimited['limited'], unlimited['override'], unlimited['quota']) == (False, True, None)
    assert (state(server, 'burst/10.0.0.8')['quota'], state(server, 'off/a')['limited']) == (5, False)
    assert state(server, 'shadow/a')['enforced'] is False
    slots = state(server, 'slots/a')
    assert (slots['window_ns'], slots['full'], slots['reset']) == (None, 0, None)
    assert spend(server, 'slots', 'a') == 1
    slots = state(server, 'slots/a')
    assert (slots['admitted'], slots['wait'], slots['full']) == (False, None, None)


def test_a_reset_gives_a_full_quota_and_leaves_a_line_in_the_log(server):
    for policy in ('burst', 'strict', 'slots'):
        assert spend(server, policy, '10.0.0.2', 5) < 5
        given = state(server, f'{policy}/10.0.0.2', 'DELETE', ADMIN)
        assert (given['admitted'], given['full'], given['r']) == (True, 0, given['quota'])
        assert spend(server, policy, '10.0.0.2') == 1
        server.until(rf"127\.0\.0\.1.* asks for a full quota of policy '{policy}' for key '10\.0\.0\.2'")


def test_only_the_admin_token_resets(server, serve, token_files):
    assert 'admin token' in state(server, 'burst/a', 'DELETE', status=401)['detail']
    state(server, 'burst/a', 'DELETE', 'wrong-wrong-wrong-wrong', status=401)
    state(server, 'burst/a', token=ADMIN)
    assert spend(server, 'burst', '10.0.0.1', token=ADMIN) == 1

    without = serve(POLICIES)
    assert '--admin-token-file' in state(without, 'burst/a', 'DELETE', status=403)['detail']
    state(without, 'burst/a')

    guarded = serve(POLICIES, arguments=('--token-file', token_files['token'], '--read-token-file',
                                         token_files['read'], '--admin-token-file', token_files['admin']))
    state(guarded, 'burst/a', status=401)
    state(guarded, 'burst/a', token=READ, status=403)
    state(guarded, 'burst/a', token=TOKEN)
    assert 'admin token' in state(guarded, 'burst/a', 'DELETE', TOKEN, 403)['detail']
    state(guarded, 'burst/a', 'DELETE', ADMIN)
    assert spend(guarded, 'burst', '10.0.0.1', token=ADMIN) == 1


def test_the_tokens_have_to_differ(tmp_path, token_files, headgate):
    token_files['token'].write_text(ADMIN + '\n')
    (tmp_path / 'p.yaml').write_text(POLICIES)
    done = headgate('serve', '--config', 'p.yaml', '--http', '127.0.0.1:0', '--token-file',
                    token_files['token'], '--admin-token-file', token_files['admin'])
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr == (f'headgate: {token_files["token"]}: expected another token than in '
                           f'{token_files["admin"]}, which may do more\n')


def test_bad_paths_say_what_was_expected(server):
    assert state(server, 'brust/a', status=404)['detail'] == \
        "there is no policy 'brust'; did you mean 'burst'?"
    assert '/v1/state/POLICY/KEY' in state(server, 'burst', status=404)['detail']
    answer = request(server.port, '/v1/state/burst/a', 'POST', '{}')
    assert (answer.status, answer.headers['Allow']) == (405, 'GET, HEAD, DELETE')


def test_peek_reset_and_why_say_it_in_words(server, token_files):
    assert spend(server, 'burst', '10.0.0.2', 4) == 3
    line = run(server, 'peek', 'burst', '10.0.0.2')
    assert re.fullmatch(r'burst, key 10\.0\.0\.2: denies for \d+ s more, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC; '
                        r'0 of 3 requests per 1m left, full again in \d+ s; '
                        r'last denied 0 s ago: cost 1, 0 of 3 requests left, a wait of \d+ s\n', line)
    first, burst, *others = run(server, 'why', 'daily', '10.0.0.2').splitlines()
    assert re.fullmatch(r'Denied by burst for \d+ s more, until .* UTC\.', first)
    assert burst.startswith('burst, key 10.0.0.2: denies for ')
    assert [other.split(',')[0] for other in others] == ['daily', 'slots', 'strict', 'shadow']
    assert all(': admits; ' in other for other in others)

    assert '--admin-token-file' in run(server, 'reset', 'burst', '10.0.0.2', status=1)
    assert re.fullmatch(r'burst, key 10\.0\.0\.2: admits; 3 of 3 requests per 1m left; last denied \d+ s ago: .*\n',
                        run(server, 'reset', 'burst', '10.0.0.2', token_file=token_files['admin']))
    assert re.match(r'No policy denies this key now\. Last denied by policy burst \d+ s ago\.\n',
                    run(server, 'why', 'burst', '10.0.0.2'))
    assert run(server, 'why', 'burst', '10.0.0.3').startswith('No policy denies this key now.\n')
    assert run(server, 'peek', 'everyone', '') == \
        'everyone, key (everyone): admits; 10 of 10 requests per 1h left\n'
    assert run(server, 'peek', 'hidden', '') == 'hidden, key (no key): admits; 2 of 2 requests per 1h left\n'


def test_a_limit_of_an_envoy_domain_is_no_override(serve, tmp_path):
    limits = tmp_path / 'shop.yaml'
    limits.write_text('domain: shop\ndescriptors: [{key: b, rate_limit: {unit: year, requests_per_unit: 10}}]\n')
    server = serve(f'version: 1\nenvoy: [{limits}]\n')
    one = state(server, 'shop/b%3Dx')
    assert (one['quota'], one['override']) == (10, False)


def test_the_last_denial_is_remembered(server):
    assert spend(server, 'burst', '10.0.0.2', 3) == 3
    assert state(server, 'burst/10.0.0.2')['last_denial'] is None
    body = json.dumps({'checks': [{'policy': 'burst', 'key': '10.0.0.2', 'cost': 2}]})
    for _ in range(2):
        assert not json.loads(request(server.port, '/v1/decide', 'POST', body).text)['admitted']
    last = state(server, 'burst/10.0.0.2')['last_denial']
    assert last.pop('ago') in range(60) and last.pop('wait') in range(10, 41)
    assert last == {'enforced': True, 'cost': 2, 'r': 0, 'quota': 3}
    assert state(server, 'daily/10.0.0.2')['last_denial'] is None
    assert spend(server, 'shadow', 'a', 2) == 2
    assert state(server, 'shadow/a')['last_denial']['enforced'] is False
    assert '; last denied in shadow mode 0 s ago: ' in run(server, 'peek', 'shadow', 'a')
    assert run(server, 'why', 'shadow', 'a').startswith('No policy denies this key now.\n')
    assert spend(server, 'users', 'ann,/x', 3) == 2
    assert state(server, 'users/ann%2C%2Fx')['last_denial']['r'] == 0


def test_their_json_is_that_of_the_server(server, token_files):
    assert spend(server, 'burst', '10.0.0.2', 4) == 3
    assert json.loads(run(server, 'peek', '--json', 'burst', '10.0.0.2'))['admitted'] is False
    why = json.loads(run(server, 'why', '--json', 'burst', '10.0.0.2'))
    assert why['denied'] is True
    assert [(one['policy'], one['admitted']) for one in why['policies']] == [
        ('burst', False), ('daily', True), ('slots', True), ('strict', True), ('shadow', True)]
    given = json.loads(run(server, 'reset', '--json', 'burst', '10.0.0.2', token_file=token_files['admin']))
    assert (given['r'], given['full']) == (3, 0)


def test_their_errors_name_the_server_and_what_is_wrong(server, headgate):
    url = f'http://127.0.0.1:{server.port}'
    assert run(server, 'peek', 'brust', 'a', status=1) == \
        f"headgate: {url}: there is no policy 'brust'; did you mean 'burst'?\n"
    assert run(server, 'why', 'brust', 'a', status=1) == \
        f"headgate: {url}: there is no policy 'brust'; did you mean 'burst'?\n"
    gone = headgate('peek', '--url', 'http://127.0.0.1:1', 'burst', 'a')
    assert (gone.returncode, gone.stdout) == (1, '')
    assert gone.stderr.startswith('headgate: http://127.0.0.1:1: nothing listens there')


def test_why_takes_a_problem_document(server, tmp_path):
    for _ in range(4):
        denial = request(server.port, '/auth', headers={
            'X-Forwarded-For': '10.0.0.2', 'X-Forwarded-Uri': '/', 'X-Forwarded-Method': 'GET',
            'Accept': 'application/problem+json'})
    assert denial.status == 429, denial.text
    violated = json.loads(denial.text)['violated-policies']
    (tmp_path / 'problem').write_text(denial.text)
    first = run(server, 'why', '--problem', tmp_path / 'problem', '10.0.0.2').splitlines()[0]
    assert re.fullmatch(rf'Denied by {", ".join(violated)}( for \d+ s more, until .* UTC)?\.', first)
    (tmp_path / 'problem').write_text('{"violated-policies":["burst","users"]}')
    assert 'policies burst and users count by different keys, [address] and [header:x-user, path]; ' \
        'expected headgate why POLICY KEY' in run(server, 'why', '--problem', tmp_path / 'problem', 'a', status=1)
    (tmp_path / 'problem').write_text('429')
    assert 'is no problem document' in run(server, 'why', '--problem', tmp_path / 'problem', 'a', status=1)
    assert 'expected only KEY' in run(server, 'why', '--problem', tmp_path / 'problem', 'burst', 'a', status=2)
    assert 'expected headgate why POLICY KEY' in run(server, 'why', 'burst', status=2)
