"""One quota for several decision servers and nginx."""
import datetime
import json
import zoneinfo

import pytest

from load import Load, Nginx, Server, ask
from support.http_client import Connection, read_metrics
from support.policies import YEAR
from support.processes import until
from support.resp import Client, encode

PAGE = 'location / { return 200 "page"; } location = /metrics { headgate off; headgate_metrics; }'


def policies(redis, *each, options=''):
    return (f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{nodes: ["{redis.node}"], '
            f'timeout: 5s{options}}}}}\npolicies:\n' + ''.join(f'  - {{{one}}}\n' for one in each))


@pytest.mark.parametrize('algorithm', ('linear', 'fixed-window', 'moving-window',
                                       'sliding-window-counter'))
def test_two_servers_and_nginx_admit_one_quota_exactly(redis, serve, nginx, algorithm):
    text = policies(redis(), f'name: p, quota: 500, window: {YEAR}s, key: [], algorithm: {algorithm}')
    servers = [serve(text), serve(text)]
    gate = nginx(text, server='location / { return 200 "page"; }', workers=2)
    doors = [Server(server, key='') for server in servers] + [Nginx(gate)]
    before = Load([Nginx(gate)], threads=1, requests=1).join()  # that nginx is asked at all
    load = Load(doors, threads=3, requests=100).join()
    assert before.admitted + load.admitted == 500
    assert load.denied == 401


def test_the_fields_are_those_of_all_servers(redis, serve):
    text = policies(redis(), f'name: p, quota: 10, window: {YEAR}s')
    servers = [serve(text), serve(text)]
    left = [ask(servers[i % 2]).r for i in range(4)]
    assert left == [9, 8, 7, 6]


@pytest.mark.parametrize('algorithm', ('linear', 'moving-window'))
def test_a_candidate_is_in_force_for_the_same_keys_on_all_machines(redis, serve, algorithm):
    text = policies(redis(), f'name: p, quota: 20, window: {YEAR}s, algorithm: {algorithm}, '
                             'candidate: {quota: 30, share: 50%}')
    servers = [serve(text), serve(text)]
    # The candidate is in force for a (from 35 % on), and not for b (from 73 % on).
    for key, quota in (('a', 30), ('b', 20)):
        load = Load([Server(server, key=key) for server in servers], threads=2, requests=10).join()
        assert (load.admitted, load.denied) == (quota, 40 - quota)
    metrics = [read_metrics(server.port) for server in servers]

    def counted(policy, outcome):
        return sum(one[f'headgate_decisions_total{{policy="{policy}",outcome="{outcome}"}}'] for one in metrics)

    assert (counted('p', 'denied'), counted('p', 'shadow-denied')) == (20, 20)
    assert (counted('p (candidate)', 'denied'), counted('p (candidate)', 'shadow-denied')) == (10, 10)


@pytest.mark.parametrize('module', (False, True), ids=('scripts', 'module'))
def test_windows_of_a_calendar_are_shared(redis, serve, module):
    text = policies(redis(module=module), 'name: p, rate: 5/month, time-zone: Europe/Berlin')
    servers = [serve(text), serve(text)]
    assert [ask(servers[i % 2]).r for i in range(5)] == [4, 3, 2, 1, 0]
    now = datetime.datetime.now(zoneinfo.ZoneInfo('Europe/Berlin'))
    month = (now.replace(day=1) + datetime.timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0,
                                                                       microsecond=0)
    denied = ask(servers[1])
    assert denied.status == 429
    assert 0 <= month.timestamp() - now.timestamp() - int(denied.one('Retry-After')) + 1 < 30


def test_sharing_none_counts_at_each_server_and_all_or_none_over_both(redis, serve):
    server = redis()
    text = policies(server, f'name: shared, quota: 6, window: {YEAR}s',
                    f'name: own, quota: 4, window: {YEAR}s, sharing: none')
    one, other = serve(text), serve(text)
    assert [ask(one).status for _ in range(5)] == [200] * 4 + [429]
    assert [ask(other).status for _ in range(3)] == [200, 200, 429]
    fields = ask(other).one('RateLimit')
    assert 'shared";r=0' in fields and 'own";r=2' in fields


@pytest.mark.parametrize('module', (False, True), ids=('scripts', 'module'))
@pytest.mark.parametrize('algorithm', ('linear', 'moving-window'))
def test_a_reservation_is_settled_once_by_whichever_server(redis, serve, module, algorithm):
    store = redis(module=module)
    text = policies(store, f'name: p, quota: 1000, window: {YEAR}s, algorithm: {algorithm}')
    servers = [serve(text, doors={'resp': '127.0.0.1:0'}) for _ in range(2)]
    with Client(servers[0].ports['resp']) as one, Client(servers[1].ports['resp']) as other:
        left = one.command('HG.RESERVE', 'p', 'k', 600)[2]
        assert left == 400
        reservation = one.command('HG.RESERVE', 'p', 'k', 300)[5]
        assert other.command('HG.SETTLE', reservation, 200) == 1
        assert [each.command('HG.SETTLE', reservation, 0) for each in (one, other)] == [0, 0]
        assert one.command('HG.PEEK', 'p', 'k')[2] == 200
        late = other.command('HG.RESERVE', 'p', 'k', 100)[5]
        store.kill()
        assert other.command('HG.SETTLE', late, 0).startswith('TRYAGAIN ')
        store.start()


@pytest.mark.parametrize('module', (False, True), ids=('scripts', 'module'))
@pytest.mark.parametrize('law', ('linear', 'fixed-window', 'moving-window', 'concurrency, lease: 1h'))
def test_a_reservation_is_settled_though_redis_stands_still_for_a_moment(redis, serve, module, law):
    """A request that comes then is answered without Redis. Servers that are stopped for a second get another try."""
    store = redis(module=module)
    window = '' if 'lease' in law else f'window: {YEAR}s, '
    text = policies(store, f'name: p, quota: 1000, {window}algorithm: {law}').replace('timeout: 5s', 'timeout: 50ms')
    server = serve(text, doors={'resp': '127.0.0.1:0', 'http': '127.0.0.1:0'}, arguments=('--threads', '1'))

    def settles():
        reserved = hasty.command('HG.RESERVE', 'p', 'k', 1)
        store.freeze()
        hasty.command('HG.PEEK', 'p', 'k', 1)
        body = json.dumps({'reservation': reserved[5], 'costs': {'p': 0}}).encode()
        patient.send(b'POST /v1/settle HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
                     b'Content-Length: %d\r\n\r\n' % len(body) + body)
        hasty.command('PING')
        store.thaw()
        settled = patient.receive()
        return settled.body == b'{"settled":true}\n' and hasty.command('HG.PEEK', 'p', 'k', 0)[2] == reserved[2] + 1
    with Client(server.ports['resp']) as hasty, Connection(server.port) as patient:
        until(settles, 'the reservation is settled')


def test_slots_are_shared_and_released(redis, serve):
    """The decision server has no end of a request: a slot is given back by name."""
    text = policies(redis(), 'name: p, quota: 1, algorithm: concurrency, key: [path], '
                             'match: [{path: /x}]')
    one, other = serve(text), serve(text)

    def decide(server, op='spend'):
        body = f'{{"checks": [{{"policy": "p", "key": "k"}}], "op": "{op}"}}'
        answer = ask(server, '/v1/decide', 'POST', [('Content-Type', 'application/json')],
                     body.encode())
        return answer.body.startswith(b'{"admitted":true')

    assert decide(one)
    assert not decide(other)
    decide(other, 'refund')
    assert decide(other)


def test_nginx_releases_slots_in_redis(redis, nginx):
    """The next request may come before the slot is free again, since the release is not waited for."""
    gate = nginx(policies(redis(), 'name: p, quota: 1, algorithm: concurrency, lease: 1h'), server=PAGE)
    for _ in range(20):
        until(lambda: gate.request('/').status == 200, 'the slot is free')


def test_every_door_of_the_decision_server_shares(redis, serve):
    text = policies(redis(), f'name: p, quota: 10, window: {YEAR}s')
    one = serve(text, doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'})
    other = serve(text)
    assert Load([Server(other)], threads=1, requests=1).join().admitted == 1
    with Client(one.ports['resp']) as client:
        client.send(encode('HG.DECIDE', 'p', 'k', 2) + encode('PING') + encode('HG.DECIDE', 'p', 'k'))
        assert client.reply()[:3] == [1, 10, 7]
        assert client.reply() == 'PONG'
        assert client.reply()[:3] == [1, 10, 6]
    assert Load([Server(one)], threads=2, requests=5).join().admitted == 6


def test_the_metrics_show_the_link(redis, serve, nginx):
    text = policies(redis(), f'name: p, quota: 10, window: {YEAR}s')
    server = serve(text)
    gate = nginx(text, server=PAGE)
    assert ask(server).status == gate.request('/').status == 200
    for metrics in (read_metrics(server.port), gate.metrics()):
        assert metrics['headgate_redis_up'] == 1
        assert metrics['headgate_redis_round_trips_total'] >= 1
        assert metrics['headgate_redis_timeouts_total'] == 0
        assert metrics['headgate_decisions_without_redis_total{policy="p"}'] == 0


def test_a_reload_changes_policies_and_not_redis(redis, serve):
    first = redis()
    server = serve(policies(first, f'name: p, quota: 10, window: {YEAR}s'))
    assert ask(server).r == 9
    assert 'in force' in server.reload(policies(first, f'name: p, quota: 20, window: {YEAR}s'))
    assert ask(server).r == 17, 'one of ten units is two of twenty'
    assert 'refused' in server.reload(policies(redis(), 'name: p, rate: 1/s'))
    assert any('store: redis is not as this server has it' in line for line in server.seen)
    assert ask(server).r == 16


def test_a_reload_of_nginx_may_change_redis(redis, nginx):
    gate = nginx(policies(redis(), f'name: p, quota: 10, window: {YEAR}s'), server=PAGE)
    assert gate.request('/').r == 9
    gate.write(policies=policies(redis(), f'name: p, quota: 10, window: {YEAR}s'))
    gate.reload()
    assert gate.request('/').r == 9
    assert 'store: redis is not the one of before: quotas that machines share are full again' in gate.log
    assert gate.metrics('/metrics')['headgate_tables_changed_total'] == 1


def test_a_reload_of_nginx_says_that_shared_quotas_begin_anew(redis, nginx):
    server = redis()
    text = policies(server, f'name: p, quota: 10, window: {YEAR}s')
    gate = nginx(text, server=PAGE)
    alone = f'version: 1\nstore: {{table: {{memory: 1MiB}}}}\npolicies: [{{name: p, quota: 10, window: {YEAR}s}}]\n'
    for changed, anew in ((policies(server, f'name: p, quota: 12, window: {YEAR}s'), 0),
                          (policies(server, f'name: p, quota: 12, window: {YEAR}s', options=', prefix: "b:"'), 1),
                          (alone, 2), (text, 3), (text, 3)):
        gate.write(policies=changed)
        gate.reload()
        assert gate.metrics('/metrics')['headgate_tables_changed_total'] == anew


def test_a_password_file_that_is_missing_is_an_error_at_start(redis, nginx, tmp_path):
    gate = nginx(policies(redis(), 'name: p, rate: 1/s', options=', password-file: none'), run=False)
    accepted, says = gate.test()
    assert not accepted
    assert 'store: redis: password-file' in says and 'No such file' in says
