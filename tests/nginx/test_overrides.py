"""headgate_overrides and headgate_admin_token_file: other quotas for single clients of a running nginx, what
they have left, and giving it back; over all workers."""
import contextlib
import json
import os
import re
import signal
import socket
import time

import pytest

from support.admin import ADMIN, ask, change, listed, metric, put, quota, run, state
from support.environment import PATIENCE
from support.http_client import Connection
from support.policies import policies, policy
from support.processes import until
from support.raw_server import Slow

BOTH = policies(policy('burst', 3, '1h', key="['header:x-key']"),
                policy('slow', 100, '1h', key="['header:x-key', path]", match='[{path: /slow}]'),
                policy('everyone', 100000, '1h', key='[]'))
GATE = 'headgate_config headgate.yaml; headgate on; headgate_overrides overrides;'
PAGES = '''
location /headgate/ { headgate off; headgate_dashboard; %s add_header X-Worker $pid always; }
location /who { headgate off; add_header X-Worker $pid always; return 200 "hello"; }
location / { add_header X-Worker $pid always; return 200 "hello"; }
'''


@pytest.fixture
def start(nginx, admin_token):
    """Starts an nginx that has a dashboard with the admin token, and a file of overrides."""
    def started(policies=BOTH, gate=GATE, server='', run=True, **options):
        pages = PAGES % f'headgate_admin_token_file {admin_token};'
        made = nginx(policies, gate=gate, server=pages + server, run=False, **options)
        made.base = '/headgate'
        return made.start() if run else made
    return started


@pytest.fixture
def spread(start):
    """Starts an nginx whose `port` gives each connection to one of its workers, at random."""
    def started(workers=3, **options):
        server = start(run=False, workers=workers, **options)
        pages = server.parts['server']
        server.write(http=f'server {{ listen 127.0.0.1:{server.other_port} reuseport; {pages} }}')
        server.start()
        server.port = server.other_port
        return server
    return started


@contextlib.contextmanager
def each_worker(server):
    """A connection to each worker, by its process id."""
    with contextlib.ExitStack() as opened:
        workers = {}

        def another():
            connection = opened.enter_context(Connection(server.port))
            workers.setdefault(connection.request('/who').one('X-Worker'), connection)
            return len(workers) == server.workers
        until(another, 'all workers have answered')
        yield list(workers.values())


def limit(connection, key):
    """The quota that the response's fields say."""
    fields = connection.request('/', headers=[('X-Key', key)]).one('RateLimit-Policy')
    found = re.search(r'"burst";q=(\d+)', fields or '')
    return found and int(found[1])


def test_all_workers_have_an_override_without_a_reload(spread):
    server = spread()
    with each_worker(server) as workers:
        before = set(server.children())
        for key, value in (('a', 50), ('b', 60)):
            put(server, f'burst/{key}', quota=value)
            until(lambda: [limit(one, key) for one in workers] == [value] * 3, 'all workers have it')
            assert [limit(one, 'c') for one in workers] == [3] * 3
        assert [json.loads(one.request('/headgate/v1/overrides').body)['overrides'] for one in workers] == \
            [listed(server)] * 3
        put(server, 'burst/b', quota='unlimited')
        until(lambda: [limit(one, 'b') for one in workers] == [None] * 3, 'it is replaced')
        change(server, 'DELETE', 'burst/a')
        until(lambda: [limit(one, 'a') for one in workers] == [3] * 3, 'it is removed')
    assert set(server.children()) == before


def test_a_change_takes_less_than_a_second(spread):
    server = spread()
    with each_worker(server) as workers:
        for value in range(10, 15):
            began = time.monotonic()
            put(server, 'burst/a', quota=value)
            until(lambda: [limit(one, 'a') for one in workers] == [value] * 3, 'all workers have it')
            took = time.monotonic() - began
            if took < 1:
                return
    raise AssertionError(f'{took} s')


def test_requests_in_flight_keep_what_has_decided_them(start):
    waiting = socket.create_server(('127.0.0.1', 0))  # it never answers
    server = start(policies=policies(
        '  - {name: slots, algorithm: concurrency, quota: 2, unit: concurrent-requests, key: ["header:x-key"]}',
        policy('late', 100, '1h', key="['header:x-key']", cost='{response-header: x-cost}')),
        server=f'location /held {{ proxy_pass http://127.0.0.1:{waiting.getsockname()[1]}; }}')
    with waiting, contextlib.ExitStack() as opened:
        held = [opened.enter_context(Connection(server.port)) for _ in range(2)]
        for n, connection in enumerate(held):
            connection.send(b'GET /held HTTP/1.1\r\nHost: a\r\nX-Key: a\r\n\r\n')
            until(lambda: state(server, 'slots/a')['r'] == 1 - n, 'it is in flight')
        for value in range(3, 10):
            put(server, 'slots/a', quota=value)
            put(server, 'late/a', quota=100 + value)
        assert (state(server, 'slots/a')['quota'], state(server, 'slots/a')['r']) == (9, 7)
        change(server, 'DELETE', 'slots/a')
        assert state(server, 'slots/a')['r'] == 0
    until(lambda: state(server, 'slots/a')['r'] == 2, 'their slots are free')


def test_it_outlives_reloads_and_restarts(start):
    server = start(workers=2)
    made = [put(server, 'burst/a', quota=50, reason='launch') | {'fault': None}]
    server.reload()
    assert (quota(server, 'burst/a'), listed(server)) == (50, made)
    server.write(policies=policies(policy('other', 5)))
    server.reload()
    assert [one['fault'] for one in listed(server)] == ["there is no policy 'burst'"]
    assert metric(server, 'headgate_overrides_left_out') == {'': 1}
    server.write(policies=BOTH)
    server.stop()
    server.start()
    assert (quota(server, 'burst/a'), listed(server)) == (50, made)


def test_it_ends_in_every_worker(spread):
    server = spread()
    put(server, 'burst/b', quota=40, **{'for': '2h'})
    made = put(server, 'burst/a', quota=50, **{'for': '3s'})
    assert made['until'] == made['since'] + 3
    with each_worker(server) as workers:
        until(lambda: [limit(one, 'a') for one in workers] == [3] * 3, 'it has ended')
        until(lambda: [limit(one, 'b') for one in workers] == [40] * 3, 'the other has not')
    until(lambda: 'an override has ended: {"policy":"burst","key":"a","quota":50' in server.log, 'it is logged')
    assert server.log.count('an override has ended') == 1, 'by one of the workers'


def test_the_log_says_who_did_what(start):
    server = start()
    put(server, 'burst/a', quota=50, window='1m', reason='launch\nday', **{'for': '2h'})
    change(server, 'DELETE', 'burst/a')
    state(server, 'burst/a', 'DELETE', ADMIN)
    for line in (r'127\.0\.0\.1 sets the override \{"policy":"burst","key":"a","quota":50,"window":"1m",'
                 r'"since":\d+,"until":\d+,"by":"127\.0\.0\.1","reason":"launch\\u000aday"\}',
                 r'127\.0\.0\.1 removes the override \{"policy":"burst","key":"a","quota":50,',
                 r"127\.0\.0\.1 asks for a full quota of policy 'burst' for key 'a'"):
        assert len(re.findall(rf'\[notice\] .*{line}', server.log)) == 1, server.log


def test_the_metrics_and_the_dashboard_have_them(start):
    server = start()
    for key in 'abc':
        put(server, f'burst/{key}', quota=50)
    put(server, 'everyone/', quota=60)
    assert metric(server, 'headgate_overrides') == {'policy="burst"': 3, 'policy="everyone"': 1}
    assert metric(server, 'headgate_overrides_refused_total') == {'': 0}
    shown = json.loads(ask(server, '/v1/policies').text)['policies']
    assert {one['name']: one['overrides'] for one in shown} == {'burst': 3, 'slow': 0, 'everyone': 1}
    assert json.loads(ask(server, '/v1/overrides').text)['file'] == f'{server.directory}/overrides'


def spend(server, key, times=1, path='/'):
    with Connection(server.port) as connection:
        return [connection.request(path, headers=[('X-Key', key)]).status for _ in range(times)]


def test_a_state_says_what_is_left_and_a_reset_gives_it_back(spread):
    server = spread()
    assert spend(server, 'a', 4) == [200, 200, 200, 429]
    with each_worker(server) as workers:
        for one in workers:
            seen = json.loads(one.request('/headgate/v1/state/burst/a').body)
            assert (seen['policy'], seen['key'], seen['admitted'], seen['r']) == ('burst', 'a', False, 0)
            assert 0 < seen['wait'] <= 1200 and seen['full'] > 3590
    given = state(server, 'burst/a', 'DELETE', ADMIN)
    assert (given['admitted'], given['r'], given['full']) == (True, 3, 0)
    assert spend(server, 'a', 4) == [200, 200, 200, 429]


def test_the_last_denial_is_remembered_over_workers_and_reloads(spread):
    server = spread()
    with each_worker(server) as workers:
        assert [workers[0].request('/', headers=[('X-Key', 'a')]).status for _ in range(4)][-1] == 429
        for one in workers:
            last = json.loads(one.request('/headgate/v1/state/burst/a').body)['last_denial']
            assert last.pop('ago') < 60 and last.pop('wait') in range(1100, 1201)
            assert last == {'enforced': True, 'cost': 1, 'r': 0, 'quota': 3}
            assert json.loads(one.request('/headgate/v1/state/everyone/').body)['last_denial'] is None
    state(server, 'burst/a', 'DELETE', ADMIN)
    put(server, 'burst/a', quota=50)
    server.reload()
    assert re.search(r'\(an override\).*; last denied \d+ s ago: cost 1, 0 of 3 requests left, a wait of ',
                     run(server, 'peek', 'burst', 'a'))
    assert re.match(r'No policy denies this key now\. Last denied by policy burst \d+ s ago\.\n',
                    run(server, 'why', 'burst', 'a'))


def test_the_commands_say_it_in_words(start, admin_token):
    server = start(workers=2)
    assert run(server, 'override', 'list') == 'There are no overrides.\n'
    line = run(server, 'override', 'set', 'burst', 'a', '50', '--for', '2h', '--reason', 'demo',
               token_file=admin_token)
    assert re.fullmatch(r'burst, key a: 50, until .* UTC \(demo\)\n', line)
    until(lambda: run(server, 'override', 'list') == line, 'all workers have it')
    until(lambda: run(server, 'peek', 'burst', 'a') ==
          'burst, key a: admits; 50 of 50 requests per 1h left (an override)\n', 'it is in force')
    assert run(server, 'override', 'remove', 'burst', 'a', token_file=admin_token) == 'removed: ' + line
    with each_worker(server) as workers:
        until(lambda: not any(json.loads(one.request('/headgate/v1/state/burst/a').body)['override'] for one in workers),
              'all workers have removed it')
    assert spend(server, 'a', 4)[-1] == 429
    assert re.fullmatch(r'burst, key a: denies for \d+ s .*more, until .* UTC; 0 of 3 requests per 1h left, '
                        r'full again in \d+ s.*\n', run(server, 'peek', 'burst', 'a'))
    assert re.match(r'Denied by burst for \d+ s .*more, until', run(server, 'why', 'burst', 'a'))
    assert run(server, 'reset', 'burst', 'a', token_file=admin_token).startswith(
        'burst, key a: admits; 3 of 3 requests per 1h left')
    assert run(server, 'why', 'burst', 'a').startswith('No policy denies this key now. Last denied by policy burst ')
    server.base = '/headgate/'
    assert run(server, 'peek', 'burst', 'a').startswith('burst, key a: admits;')


@pytest.mark.parametrize('key', ['a b', 'x/y', 'x%2Fy', '100%', '?&#', '"quoted\\"', 'ümlaut', '..', 'a/../b', '//',
                                 ';', "<b>'", 'a\x1bb', '\u2014', '+', 'x' * 500])
def test_keys_may_have_any_characters(start, admin_token, key):
    server = start()
    run(server, 'override', 'set', 'burst', key, '50', token_file=admin_token)
    assert [one['key'] for one in listed(server)] == [key]
    assert json.loads(run(server, 'peek', '--json', 'burst', key))['quota'] == 50
    assert json.loads(run(server, 'reset', '--json', 'burst', key, token_file=admin_token))['key'] == key
    run(server, 'override', 'remove', 'burst', key, token_file=admin_token)
    assert listed(server) == []


def test_a_path_is_what_nginx_has_understood(start):
    server = start()
    for path in ('v1/state/burst/%2e%2e/..', 'v1/overrides/../state/burst/a', '../headgate/v1/state/burst/a'):
        assert ask(server, '/' + path).status == 404, path
    assert ask(server, '/v1/state/burst/a').status == 200


def test_only_the_admin_token_changes_anything(start, nginx):
    server = start()
    for token in (None, 'wrong-wrong-wrong-wrong', ADMIN[:-1], ADMIN + 'x'):
        for method, path in (('PUT', 'overrides'), ('DELETE', 'overrides'), ('DELETE', 'state')):
            refused = ask(server, f'/v1/{path}/burst/a', method, '{"quota": 1}' if method == 'PUT' else None, token)
            assert refused.status == 401, refused.text
            assert refused.headers['WWW-Authenticate'] == 'Bearer realm="headgate"'
            assert 'headgate_admin_token_file' in json.loads(refused.text)['detail']
    assert 'headgate: wrong admin tokens: 1, client: 127.0.0.1' in server.log
    assert server.metrics('/headgate/metrics')['headgate_wrong_tokens_total{door="nginx"}'] == 9
    assert listed(server) == []
    own = [('X-Headgate-Token', ADMIN), ('Authorization', 'Basic xyz')]
    assert server.request('/headgate/v1/state/burst/a', 'DELETE', headers=own).status == 200

    without = nginx(BOTH, gate=GATE, server=PAGES % '')
    without.base = '/headgate'
    assert 'headgate_admin_token_file FILE' in put(without, 'burst/a', 403, quota=1)['detail']
    assert '--admin-token-file FILE' in state(without, 'burst/a', 'DELETE', ADMIN, 403)['detail']
    assert state(without, 'burst/a')['r'] == 3


def test_guesses_of_the_token_are_slow_and_disturb_nobody(start):
    """200 connections that guess at once: a worker answers one in 10 ms, and closes each of them."""
    server = start()
    guess = (b'DELETE /headgate/v1/state/burst/a HTTP/1.1\r\nHost: a\r\n'
             b'Authorization: Bearer guess-guess-guess-guess\r\n\r\n')
    with contextlib.ExitStack() as opened:
        began = time.monotonic()
        guessers = [opened.enter_context(Connection(server.port)) for _ in range(200)]
        for one in guessers:
            one.send(guess)
        until(lambda: server.metrics('/headgate/metrics')['headgate_wrong_tokens_total{door="nginx"}'] == 200,
              'all guesses are counted')
        assert server.request().status == 200
        for one in guessers:
            refused = one.receive()
            assert (refused.status, refused.one('Connection')) == (401, 'close')
        assert time.monotonic() - began > 1.9
    assert ask(server, '/v1/state/burst/a', 'DELETE', None, ADMIN).status == 200


def test_without_a_file_there_is_none(start):
    server = start(gate='headgate_config headgate.yaml; headgate on;')
    assert 'expected headgate_overrides FILE in nginx.conf' in put(server, 'burst/a', 409, quota=1)['detail']
    assert json.loads(ask(server, '/v1/overrides').text) == {'file': None, 'overrides': []}
    assert state(server, 'burst/a', 'DELETE', ADMIN)['r'] == 3


@pytest.mark.parametrize('path, override, status, words', [
    ('brust/a', {'quota': 1}, 404, "there is no policy 'brust'; did you mean 'burst'?"),
    ('burst', {'quota': 1}, 404, 'expected /headgate/v1/overrides/POLICY/KEY'),
    ('burst/%ff', {'quota': 1}, 422, 'the key is not UTF-8'),
    ('slow/a', {'quota': 1}, 422, "key 'a' does not have 2 parts"),
    ('burst/a', {}, 400, "'quota' is missing"),
    ('burst/a', {'quota': -1}, 400, 'byte 10: expected a quota of 0 to 999999999999999'),
    ('burst/a', {'quota': 1, 'reason': 'x' * 16384}, 413, 'expected a body of at most 16384 bytes'),
])
def test_bad_overrides_say_what_was_expected(start, path, override, status, words):
    server = start()
    assert words in change(server, 'PUT', path, override, status)['detail']
    assert listed(server) == []


def test_a_body_may_come_in_pieces_and_through_a_file(start):
    server = start(server='client_body_buffer_size 8; client_body_in_file_only off;')
    put(server, 'burst/a', quota=7, reason='a body that is longer than the buffer of nginx')
    with Connection(server.port) as connection:
        connection.send(f'PUT /headgate/v1/overrides/burst/b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {ADMIN}\r\n'
                        'Transfer-Encoding: chunked\r\n\r\n'.encode())
        for piece in (b'{"quo', b'ta": 8', b'}'):
            connection.send(b'%x\r\n%s\r\n' % (len(piece), piece))
        connection.send(b'0\r\n\r\n')
        assert connection.receive('PUT').status == 200
        assert connection.request('/headgate/v1/state/burst/b').status == 200
    assert [quota(server, f'burst/{key}') for key in 'ab'] == [7, 8]


def test_other_methods_are_refused(start):
    server = start()
    for path, method in (('/v1/state/burst/a', 'PUT'), ('/v1/overrides', 'DELETE'), ('/v1/overrides/burst/a', 'GET'),
                         ('/v1/overrides/burst/a', 'POST')):
        assert ask(server, path, method, '{}', ADMIN).status == 405
    assert ask(server, '/v1/state/burst/a', 'HEAD').status == 200
    assert "there is no policy 'brust'; did you mean 'burst'?" in state(server, 'brust/a', status=404)['detail']
    assert 'expected /headgate/v1/state/POLICY/KEY' in state(server, 'burst', status=404)['detail']
    assert 'there is no override' in change(server, 'DELETE', 'burst/a', status=404)['detail']


def test_serve_and_nginx_share_overrides_and_a_table(start, serve, admin_token):
    server = start(gate=GATE + 'headgate_memory 1m table;', workers=2)
    files = server.directory
    other = serve(BOTH + f'store: {{table: {{memory: 1MiB, file: {files}/table}}}}\n',
                  arguments=('--admin-token-file', admin_token, '--overrides-file', files / 'overrides'))
    put(server, 'burst/a', quota=50)
    put(other, 'burst/b', quota=40)
    for one in (server, other):
        until(lambda: [quota(one, f'burst/{key}') for key in 'ab'] == [50, 40], 'both are there')
    until(lambda: re.search(r'\[notice\].*overrides was changed by another process; overrides now: ', server.log),
          'nginx has logged it')
    assert spend(server, 'c', 4)[-1] == 429
    assert state(other, 'burst/c')['r'] == 0
    assert state(other, 'burst/c', 'DELETE', ADMIN)['r'] == 3
    assert spend(server, 'c', 4) == [200, 200, 200, 429]
    assert state(server, 'burst/c', 'DELETE', ADMIN)['r'] == 3
    assert state(other, 'burst/c')['r'] == 3
    change(server, 'DELETE', 'burst/b')
    until(lambda: quota(other, 'burst/b') == 3, 'it is removed there, too')


def test_a_file_with_faults_changes_nothing(spread):
    server = spread()
    put(server, 'burst/a', quota=50)
    file = server.directory / 'overrides'
    with each_worker(server) as workers:
        until(lambda: [limit(one, 'a') for one in workers] == [50] * 3, 'all workers have it')
        (server.directory / 'next').write_text('{"overrides":[{"policy":1}]}')
        os.rename(server.directory / 'next', file)
        until(lambda: metric(server, 'headgate_overrides_refused_total') == {'': 1}, 'it is counted')
        assert [limit(one, 'a') for one in workers] == [50] * 3
    assert re.search(r'\[error\].*overrides: byte 24: expected a string; the overrides before it stay in force',
                     server.log)
    assert 'byte 24' in put(server, 'burst/b', 503, quota=1)['detail']

    server.reload_refused()
    assert re.search(r'\[emerg\].*overrides: byte 24: expected a string', server.log)
    until(lambda: metric(server, 'headgate_refused_reloads_total') == {'': 1}, 'it is counted')
    assert quota(server, 'burst/a') == 50
    accepted, said = server.test()
    assert not accepted and 'byte 24: expected a string' in said
    file.unlink()
    until(lambda: quota(server, 'burst/a') == 3, 'no file means no overrides')


def test_workers_of_before_a_reload_report_nothing(start):
    """One that still has a request in progress follows the file, too."""
    with Slow() as origin:
        server = start(server=f'location = /hold {{ headgate off; proxy_pass {origin.url}; }}')
        origin.hold()
        with Connection(server.port) as held:
            held.send(b'GET /hold HTTP/1.1\r\nHost: a\r\n\r\n')
            assert origin.begun.acquire(timeout=PATIENCE)
            before, = server.children()
            server.process.send_signal(signal.SIGHUP)
            until(lambda: f'{before}#{before}: gracefully shutting down' in server.log, 'it is to exit')
            for n in range(1, 9):  # each worker looks every quarter of a second, so the one of before, too
                (server.directory / 'next').write_text('{' * n)
                os.rename(server.directory / 'next', server.directory / 'overrides')
                after, = set(server.children()) - {before}
                until(lambda: len(re.findall(f'{after}#{after}: headgate: .* stay in force', server.log)) == n,
                      'the new worker has seen it')
            assert before in server.children()
            assert server.log.count('stay in force') == 8
            assert metric(server, 'headgate_overrides_refused_total') == {'': 8}
        origin.go.set()


def test_a_folder_that_workers_cannot_write_is_named(start):
    server = start(run=False, gate=GATE.replace('overrides overrides', 'overrides folder/overrides'))
    passed, said = server.test()
    assert not passed and re.search(r'folder/overrides: expected a folder \S*/folder, which is not there', said)
    folder = server.directory / 'folder'
    folder.mkdir()
    server.start()
    folder.rename(server.directory / 'away')
    said = put(server, 'burst/a', 503, quota=1)['detail']
    assert re.search(r'folder/overrides: cannot be changed: No such file or directory', said)


def test_ten_thousand_can_be_used(start):
    all_of_them = [{'policy': 'burst', 'key': f'key {i}', 'quota': 10 + i} for i in range(10_000)]
    server = start(run=False)
    (server.directory / 'overrides').write_text(json.dumps({'overrides': all_of_them}))
    server.start()
    assert quota(server, 'burst/key%209999') == 10_009
    put(server, 'burst/key%209999', quota=5)
    assert [quota(server, f'burst/key%20{n}') for n in (9999, 0)] == [5, 10]
    assert 'there are 10000 overrides already' in put(server, 'burst/other', 409, quota=1)['detail']
    assert len(listed(server)) == 10_000
    assert metric(server, 'headgate_overrides') == {'policy="burst"': 10_000}


@pytest.mark.parametrize('gate, server, said', [
    ('headgate_overrides a;', '', '"headgate_overrides" needs "headgate_config FILE"'),
    (GATE + 'headgate_overrides other;', '', 'directive is duplicate'),
    (GATE, 'location /x/ { headgate_admin_token_file TOKEN; }',
     '"headgate_admin_token_file" needs "headgate_dashboard" in its location'),
    (GATE, 'location /x/ { headgate_dashboard; headgate_admin_token_file none; }',
     "none: can't be read: No such file or directory; expected a file whose first line is the token"),
    (GATE, 'location /x/ { headgate_dashboard; headgate_admin_token_file headgate.yaml; }',
     'expected a token of at least 16 characters'),
])
def test_bad_directives_are_refused(nginx, admin_token, gate, server, said):
    accepted, output = nginx(BOTH, gate=gate, server=server.replace('TOKEN', str(admin_token)), run=False).test()
    assert not accepted and said in output


def test_a_killed_worker_s_successor_has_them(start):
    server = start()
    server.expect_death = True
    put(server, 'burst/a', quota=50)
    worker, = server.children()
    os.kill(int(worker), signal.SIGKILL)
    until(lambda: server.children() not in ([], [worker]), 'another worker is there')
    assert limit_of(server, 'a') == 50


def limit_of(server, key):
    with Connection(server.port) as connection:
        return limit(connection, key)


def test_without_a_master(start):
    server = start(main='master_process off;', run=False)

    def answers():
        with contextlib.suppress(OSError):
            return server.request('/headgate/healthz').status == 200
    server.ready = answers
    server.start()
    put(server, 'burst/a', quota=50)
    assert limit_of(server, 'a') == 50
    (server.directory / 'overrides').unlink()
    until(lambda: limit_of(server, 'a') == 3, 'it follows the file')
