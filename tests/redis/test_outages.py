"""Redis is killed, stands still, refuses us, or is a replica."""
import json
import re

import pytest

from load import Load, Nginx, Server, ask
from support.http_client import read_metrics
from support.policies import YEAR
from support.processes import few_threads, free_port, until

# [s] that a request may take beyond the timeout of 100 ms, on a machine with much to do.
SLACK = 2
WITHOUT = 'headgate_decisions_without_redis_total{policy="p"}'
PAGE = 'location / { return 200 "page"; } location = /metrics { headgate off; headgate_metrics; }'


def policies(node, policy, more='', timeout='100ms'):
    return (f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{nodes: ["{node}"], '
            f'timeout: {timeout}{more}}}}}\npolicies:\n  - {{name: p, window: {YEAR}s, {policy}}}\n')


def away(log):
    return sum('Redis is away' in line for line in log)


def test_killed_and_restarted_under_load(redis, serve):
    """Each machine admits its share of the quota meanwhile, and not more."""
    server = redis()
    text = policies(server.node, 'quota: 1000000, key: [], on-outage: {local: 1%}')
    both = [serve(text), serve(text)]
    load = Load([Server(one, key='') for one in both])
    until(lambda: load.asked > 200, 'requests were decided')
    assert load.denied == 0
    server.kill()
    until(lambda: all(read_metrics(one.port)[WITHOUT] > 100 for one in both), 'both decide alone')
    assert all(read_metrics(one.port)['headgate_redis_up'] == 0 for one in both)
    server.start()
    until(lambda: all(read_metrics(one.port)['headgate_redis_up'] == 1 for one in both),
          'both are connected again')
    for one in both:
        one.until('Redis is back after')
    without = sum(read_metrics(one.port)[WITHOUT] for one in both)
    load.stop()
    assert load.denied == 0
    assert load.longest < 0.1 + SLACK
    assert without == sum(read_metrics(one.port)[WITHOUT] for one in both), 'none since it is back'
    assert [away(one.seen) for one in both] == [1, 1]


def test_alone_each_machine_has_its_share_and_no_more(redis, serve):
    server = redis()
    text = policies(server.node, 'quota: 100, key: [], on-outage: {local: 25%}')
    both = [serve(text), serve(text)]
    assert Load([Server(one, key='') for one in both], threads=1, requests=5).join().admitted == 10
    server.kill()
    load = Load([Server(one, key='') for one in both], requests=30).join()
    assert load.admitted == 2 * 25
    assert load.longest < 0.1 + SLACK
    # Redis has lost what it knew. What was counted alone counts no more.
    server.start()
    until(lambda: all(read_metrics(one.port)['headgate_redis_up'] == 1 for one in both), 'it is back')
    assert Load([Server(one, key='') for one in both], requests=30).join().admitted == 100


def test_deny_is_503_and_allow_has_no_fields(redis, serve, nginx):
    server = redis()
    deny = policies(server.node, 'quota: 10, on-outage: deny, status: 403')
    allow = policies(server.node, 'quota: 1, on-outage: allow')
    denies, allows = serve(deny), serve(allow)
    gates = [nginx(deny, server=PAGE), nginx(allow, server=PAGE)]
    server.kill()
    accept = {'Accept': 'application/problem+json'}
    for response in (ask(denies, '/auth', 'GET', accept.items()),
                     gates[0].request('/', 'GET', accept.items())):
        assert response.status == 503
        assert response.one('Retry-After') == '1'
        assert response.one('RateLimit') is None
        problem = json.loads(response.body)
        assert problem['type'].endswith('#temporary-reduced-capacity')
        assert problem['violated-policies'] == ['p']
    for _ in range(3):
        for response in (ask(allows), gates[1].request('/')):
            assert response.status == 200
            assert response.one('RateLimit') is None
    assert gates[0].access(1)[0][1:4] == ['503', 'outage-denied', 'p']
    assert [line[1:4] for line in gates[1].access(3)] == [['200', 'outage-admitted', '-']] * 3
    for metrics in (read_metrics(allows.port), gates[1].metrics()):
        assert metrics[WITHOUT] == 3


def test_a_server_that_stands_still_delays_each_request_by_the_timeout(redis, serve, nginx):
    server = redis()
    text = policies(server.node, 'quota: 1000000, key: []')
    one, gate = serve(text), nginx(text, server=PAGE)
    doors = [Server(one, key=''), Nginx(gate)]
    assert Load(doors, requests=20).join().denied == 0
    server.freeze()
    frozen = Load(doors, requests=50).join()
    assert frozen.denied == 0
    assert frozen.longest < 0.1 + SLACK
    server.thaw()
    until(lambda: read_metrics(one.port)['headgate_redis_up'] == 1, 'it answers again')
    before = read_metrics(one.port)[WITHOUT]
    assert Load(doors, requests=20).join().denied == 0
    assert read_metrics(one.port)[WITHOUT] == before
    assert read_metrics(one.port)['headgate_redis_timeouts_total'] >= 1


def test_slots_are_released_by_name_while_redis_is_away(serve, tmp_path):
    one = serve(f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{nodes: ["unix:{tmp_path}/none"]}}}}\n'
                'policies: [{name: p, quota: 2, key: [], algorithm: concurrency}]\n')

    def call(**op):
        body = json.dumps({'checks': [{'policy': 'p'}], **op}).encode()
        response = ask(one, '/v1/decide', 'POST', [('Content-Type', 'application/json')], body)
        return json.loads(response.body)['admitted']

    assert [call(), call(), call()] == [True, True, False]
    assert [call(op='release') for _ in range(3)] == [True] * 3
    assert [call(), call(), call()] == [True, True, False]


def test_a_wrong_password_is_an_outage_that_says_why(redis, serve, tmp_path):
    server = redis('--requirepass', 'right')
    password = tmp_path / 'password'
    password.write_text('wrong\n')
    one = serve(policies(server.node, 'quota: 5', f', password-file: {password}'))
    assert [ask(one).status for _ in range(6)] == [200] * 5 + [429]
    assert 'WRONGPASS' in one.until('Redis is away.*')[0]
    assert read_metrics(one.port)['headgate_redis_up'] == 0
    assert read_metrics(one.port)[WITHOUT] == 6
    password.write_text('right\n')
    other = serve(policies(server.node, 'quota: 5', f', password-file: {password}'))
    assert ask(other).r == 4


def test_a_reload_reads_the_password_again(redis, serve, tmp_path):
    server = redis('--requirepass', 'first')
    password = tmp_path / 'password'
    password.write_text('first\n')
    text = policies(server.node, 'quota: 5', f', password-file: {password}')
    one = serve(text)
    assert ask(one).r == 4
    server.command('CONFIG', 'SET', 'requirepass', 'second', password='first')
    password.write_text('\n')
    assert 'is refused' in one.reload(text)
    password.write_text('second\n')
    assert 'is in force now' in one.reload(text)
    server.command('CLIENT', 'KILL', 'TYPE', 'normal', password='second')
    until(lambda: ask(one).one('RateLimit'), 'it has connected anew')
    assert not any('WRONGPASS' in line for line in one.seen)


def test_a_replica_is_refused(redis, serve):
    server = redis('--replicaof', '127.0.0.1 1')
    one = serve(policies(server.node, 'quota: 5'))
    assert ask(one).status == 200
    assert 'replica' in one.until('Redis is away.*')[0]


def test_a_server_without_memory_is_an_outage(redis, serve):
    server = redis('--maxmemory', '1', '--maxmemory-policy', 'noeviction')
    one = serve(policies(server.node, 'quota: 5, on-outage: deny'))
    assert ask(one).status == 503
    assert 'OOM' in one.until('Redis is away.*')[0]


def test_top_shows_the_link(redis, serve, headgate):
    server = redis()
    one = serve(policies(server.node, 'quota: 1000000, key: []'))
    url = f'http://127.0.0.1:{one.port}'
    assert ask(one).status == 200
    assert 'Redis answers   decided without it 0/s' in headgate('top', '--url', url).stdout
    server.kill()
    until(lambda: ask(one).status == 200 and read_metrics(one.port)[WITHOUT] > 2, 'it decides alone')
    assert re.search('Redis IS AWAY   decided without it 0?[.]?0*[1-9]', headgate('top', '--url', url).stdout)
    own = serve()
    assert 'Redis' not in headgate('top', '--url', f'http://127.0.0.1:{own.port}').stdout


def test_nothing_listens_there(serve, tmp_path):
    one = serve(policies(f'unix:{tmp_path}/none', 'quota: 3'))
    assert [ask(one).status for _ in range(4)] == [200] * 3 + [429]
    assert 'none' in one.until('Redis is away.*')[0]
    assert away(one.seen) == 1


@pytest.mark.parametrize('threads', (3, 4), ids=('none', 'one of two'))
def test_its_threads_cannot_be_started(redis, serve, threads):
    port = free_port()
    redis('--port', str(port))
    one = serve(policies(f'127.0.0.1:{port}', 'quota: 3'), arguments=('--threads', '2'), prefix=few_threads(threads))
    assert [ask(one).status for _ in range(4)] == [200] * 3 + [429]
    assert "a thread for it can't be started: Resource temporarily unavailable" in one.until('Redis is away.*')[0]
    assert read_metrics(one.port)['headgate_redis_up'] == 0
