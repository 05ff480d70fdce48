"""Counts survive reloads, killed workers, restarts, and are shared by several workers."""
import contextlib
import json
import os
import shutil
import signal
import threading

import pytest

from support.environment import MODULE, PATIENCE
from support.http_client import Connection
from support.policies import FIVE, YEAR, policies, policy
from support.processes import until

METRICS = 'location /metrics { headgate off; headgate_metrics; }'
HELLO = 'location / { return 200 "hello"; }' + METRICS
ADMITTED = 'headgate_decisions_total{policy="burst",outcome="admitted"}'
DENIED = 'headgate_decisions_total{policy="burst",outcome="denied"}'


def test_reload_keeps_quotas_and_counters(nginx):
    server = nginx(FIVE, server=HELLO, workers=2)
    for n in range(5):
        assert server.request().r == 4 - n
        server.reload()
    assert server.request().status == 429
    counts = server.metrics()
    assert (counts[ADMITTED], counts[DENIED], counts['headgate_reloads_total']) == (5, 1, 5)


def test_reload_with_other_policies(nginx):
    server = nginx(FIVE, server=HELLO)
    for _ in range(5):
        server.request()
    server.write(policies=policies(policy('new', 3), policy(), policy('more', 100)))
    server.reload()
    denied = server.request()
    assert denied.status == 429 and '"burst";r=0' in denied.one('RateLimit')
    assert '"new";r=3' in denied.one('RateLimit')  # the others were not charged
    counts = server.metrics()
    assert (counts[ADMITTED], counts[DENIED]) == (5, 1)
    server.write(policies=policies(policy('new', 3)))
    server.reload()
    server.write(policies=FIVE)
    server.reload()
    assert server.request().status == 429
    assert server.metrics()[DENIED] == 2


def test_counters_outlive_any_number_of_other_policies(nginx):
    server = nginx(policies(policy(quota=1000)), server=HELLO)
    for n in range(20):
        server.request()
        server.write(policies=policies(policy(f'p{n}', 10, match='[{path: /none}]'),
                                       policy(quota=1000)))
        server.reload()
    assert server.metrics()[ADMITTED] == 20


def test_a_larger_quota_counts_what_was_used(nginx):
    server = nginx(FIVE, server=HELLO)
    for _ in range(5):
        server.request()
    server.write(policies=policies(policy(quota=10)))
    server.reload()
    assert server.request().status == 429  # the state is a time: the whole window is used up


def test_a_refused_reload_keeps_the_old_policies(nginx):
    server = nginx(FIVE, server=HELLO)
    assert server.request().r == 4
    server.write(policies='version: 1\npolicies:\n  - name: burst\n    quotta: 3\n    window: 1s\n')
    server.reload_refused()
    place = f'{server.directory}/headgate.yaml:4:5: '
    assert place in server.log and 'quota' in server.log.split(place)[1].splitlines()[0]
    assert server.request().r == 3
    until_refused(server, 1)

    for fault in ('no_such_directive;', 'location /d/ { headgate_dashboard; headgate_admin_token_file none; }',
                  f'listen 127.0.0.1:{server.other_port} ssl; ssl_certificate none; ssl_certificate_key none;'):
        before = server.metrics()['headgate_refused_reloads_total']
        server.write(policies=FIVE, server=fault)
        server.reload_refused()
        until_refused(server, before + 1)
    assert server.request().r == 2
    server.write(server=HELLO)
    server.reload()
    assert server.request().r == 1
    until_refused(server, 4)


def until_refused(server, count):
    """Returns once so many reloads were refused. nginx counts one after it has logged the reason."""
    until(lambda: server.metrics()['headgate_refused_reloads_total'] == count, 'it is counted')


OF_SIZE = 'headgate_config headgate.yaml; headgate on; headgate_memory %s;'


def test_a_smaller_table_starts_anew_and_says_so(nginx):
    server = nginx(FIVE, server=HELLO)
    server.request()
    server.write(gate=OF_SIZE % '1m')
    server.reload()
    assert server.request().r == 4
    warning, = (line for line in server.log.splitlines()
                if 'quotas kept in the old one are lost' in line)
    assert '[warn]' in warning
    assert server.metrics()['headgate_table_memory_bytes'] == 1 << 20
    assert server.metrics()['headgate_tables_changed_total'] == 1
    server.reload()
    assert server.metrics()['headgate_tables_changed_total'] == 1
    assert server.request().r == 3
    assert server.metrics()[ADMITTED] == 3


WITH_FILE = 'headgate_config headgate.yaml; headgate on; headgate_memory 1m table;'


def test_with_a_file_quotas_outlive_nginx(nginx):
    server = nginx(FIVE, server=HELLO, gate=WITH_FILE)
    assert (server.directory / 'table').stat().st_size == 1 << 20
    assert [server.request().r for _ in range(2)] == [4, 3]
    server.reload()
    assert server.request().r == 2
    server.stop()
    server.start()
    assert server.request().r == 1


def test_the_former_configuration_is_accepted_after_the_tables_file_has_grown(nginx):
    server = nginx(FIVE, server=HELLO, gate=WITH_FILE)
    assert server.request().r == 4
    fault = 'access_log none/access.log;'  # nginx finds it when headgate has read everything
    server.write(gate=WITH_FILE.replace('1m', '4m'), server=HELLO + fault)
    server.reload_refused()
    assert (server.directory / 'table').stat().st_size == 4 << 20
    server.write(gate=WITH_FILE, server=HELLO)
    server.reload()
    assert server.request().r == 3
    assert server.metrics()['headgate_tables_changed_total'] == 0
    warning = f'{server.directory}/table: is a table of 4194304 bytes, and 1048576 were asked for; all of it is used'
    assert warning in server.log
    server.stop()
    accepted, said = server.test()
    assert accepted and warning in said
    server.start()
    assert server.request().r == 2
    (server.directory / 'table').unlink()
    server.reload()
    assert (server.directory / 'table').stat().st_size == 1 << 20
    assert server.request().r == 4
    assert server.metrics()['headgate_tables_changed_total'] == 1


def test_another_name_of_the_tables_file_is_the_same_table(nginx):
    server = nginx(FIVE, server=HELLO, gate=WITH_FILE)
    assert server.request().r == 4
    os.symlink('table', server.directory / 'link')
    for name, left in ('./table', 3), ('link', 2), (server.directory / 'table', 1):
        server.write(gate=WITH_FILE.replace(' table;', f' {name};'))
        server.reload()
        assert server.request().r == left
    assert 'quotas kept in the old one are lost' not in server.log
    assert server.metrics()['headgate_tables_changed_total'] == 0


def test_a_truncated_table_is_replaced_by_memory_that_all_workers_share(nginx):
    server = nginx(policies(policy(quota=100)), server=HELLO, gate=WITH_FILE, workers=2)
    assert server.request().r == 99
    os.truncate(server.directory / 'table', 0)
    threads, results = hammer(server, 4, lambda n: n >= 300)
    for thread in threads:
        thread.join()
    assert set(results) == {200, 429}, set(results)
    assert results.count(200) == 100
    assert server.metrics()['headgate_table_file_lost'] == 1
    server.reload()
    assert server.request().status == 429
    server.stop()
    accepted, said = server.test()
    assert not accepted and 'is not a headgate table' in said


def test_a_new_build_of_the_module_is_taken_over_by_a_reload(nginx, tmp_path):
    module, fresh = tmp_path / 'module.so', tmp_path / 'fresh.so'
    shutil.copy(MODULE, module)
    server = nginx(FIVE, server=HELLO, gate=WITH_FILE, module=module)
    assert server.request().r == 4
    shutil.copy(MODULE, fresh)
    fresh.rename(module)
    server.reload()
    assert server.request().r == 3
    server.reload()
    assert server.request().r == 2


def test_the_file_of_the_policy_file(nginx):
    text = policies(policy(), store='{table: {memory: 1MiB, file: state}}')  # beside it
    server = nginx(text, server=HELLO)
    server.request()
    assert (server.directory / 'state').stat().st_size == 1 << 20
    server.stop()
    server.start()
    assert server.request().r == 3


def test_a_killed_worker_loses_nothing(nginx):
    server = nginx(policies(policy(quota=1000)), server=HELLO)
    server.expect_death = True
    for n in range(10):
        assert server.request().r == 999 - n
        worker, = server.children()
        os.kill(int(worker), signal.SIGKILL)
        until(lambda: server.children() not in ([], [worker]), 'another worker is there')
    assert server.metrics()[ADMITTED] == 10


def hammer(server, clients, done):
    """Statuses that each of several parallel clients got until done(n) with n answers so far."""
    results, lock = [], threading.Lock()

    def run():
        while True:
            with lock:
                if done(len(results)):
                    return
            try:
                status = server.request().status
            except OSError as error:
                status = error
            with lock:
                results.append(status)

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    return threads, results


def test_five_workers_admit_the_quota_exactly(nginx):
    server = nginx(policies(policy(quota=100), policy('other', 100, key='[]')), server=HELLO,
                   workers=5)
    threads, results = hammer(server, 8, lambda n: n >= 400)
    for thread in threads:
        thread.join()
    assert results.count(200) == 100
    assert set(results) == {200, 429}
    counts = server.metrics()
    assert counts[ADMITTED] == 100
    assert counts[DENIED] == len(results) - 100


@pytest.mark.parametrize('gate', ['headgate_config headgate.yaml; headgate on;', WITH_FILE],
                         ids=['memory', 'file'])
def test_ten_reloads_under_load_lose_nothing(nginx, gate):
    server = nginx(policies(policy(quota=300)), server=HELLO, workers=2, gate=gate)
    reloaded = threading.Event()
    threads, results = hammer(server, 4, lambda n: reloaded.is_set() and n >= 400)
    try:
        for _ in range(10):
            server.reload()
    finally:
        reloaded.set()
        for thread in threads:
            thread.join()
    assert set(results) == {200, 429}, set(results)
    assert results.count(200) == 300
    counts = server.metrics()
    assert counts[ADMITTED] == 300
    assert counts[ADMITTED] + counts[DENIED] == len(results)
    assert counts['headgate_reloads_total'] == 10


def test_requests_in_flight_while_reloading_are_refunded(nginx, upstream):
    gate, arrived = threading.Event(), threading.Event()

    def answer(*_):
        arrived.set()
        gate.wait(PATIENCE)
        return 500, [], b''

    origin = upstream(answer)
    server = nginx(policies(policy(refund_on='[5xx]')), server=HELLO +
                   f'location /slow {{ proxy_pass http://127.0.0.1:{origin.port}; }}')
    with Connection(server.port) as connection:
        connection.send(b'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
        assert arrived.wait(PATIENCE)
        old = server.children()
        server.write(policies=policies(policy(refund_on='[5xx]'), policy('new', 1000)))
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len(server.children()) == 2, 'old and new workers run')
        assert server.request().r == 3
        gate.set()
        assert connection.receive().status == 500
    until(lambda: not set(old) & set(server.children()), 'the old worker has gone')
    assert server.request().r == 3
    assert server.metrics()['headgate_refunds_total{policy="burst"}'] == 1


def test_an_old_worker_settles_its_last_request_in_redis(nginx, upstream, redis):
    """No request waits for Redis' answer then, and the worker could end before its commands are sent."""
    gate, arrived = threading.Event(), threading.Event()

    def answer(*_):
        arrived.set()
        gate.wait(PATIENCE)
        return 500, [], b'x' * 100

    origin = upstream(answer)
    text = policies('  - {name: slots, quota: 1, key: [], algorithm: concurrency, lease: 1h}',
                    policy('calls', 10, refund_on='[5xx]'),
                    policy('bytes', 10_000, unit='content-bytes', cost='response-bytes', match='[{path: /slow}]'),
                    store=f'{{table: {{memory: 1MiB}}, redis: {{nodes: ["{redis().node}"], timeout: 5s}}}}')
    server = nginx(text, server=f"""
        location /slow {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location /headgate/ {{ headgate off; headgate_dashboard; }}""" + METRICS)

    def left():
        return [json.loads(server.request(f'/headgate/v1/state/{name}').body)['r']
                for name in ('slots/', 'calls/127.0.0.1', 'bytes/127.0.0.1')]

    for n in range(1, 6):
        gate.clear(), arrived.clear()
        with Connection(server.port) as connection:
            connection.send(b'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
            assert arrived.wait(PATIENCE)
            assert left()[:2] == [0, 9]
            old, = server.children()
            server.process.send_signal(signal.SIGHUP)
            until(lambda: f'{old}#{old}: gracefully shutting down' in server.log, 'it ends after this request')
            gate.set()
            assert connection.receive().status == 500
        until(lambda: old not in server.children(), 'it has ended')
        assert left() == [1, 10, 10_000 - 100 * n]


def test_a_reload_with_the_same_size_succeeds_although_another_process_made_the_table_larger(nginx, serve):
    server = nginx(FIVE, gate=OF_SIZE % '64k table', server=HELLO)
    assert server.request().r == 4
    serve(f'store: {{table: {{memory: 1MiB, file: {server.directory}/table}}}}\n' + FIVE)
    server.reload()
    assert server.request().r == 3
    assert server.metrics()['headgate_table_memory_bytes'] == 1 << 20


@pytest.mark.parametrize('where', ['', ' table'], ids=['memory', 'file'])
def test_a_table_that_grows_keeps_all_quotas(nginx, upstream, where):
    """Also those that an old worker charges: it uses the same table until its last request ends."""
    gate, arrived = threading.Event(), threading.Event()

    def answer(*_):
        arrived.set()
        gate.wait(PATIENCE)
        return 200, [], b'done'

    key = '["query:client"]'
    slots = f'  - {{name: slots, quota: 1, algorithm: concurrency, lease: 1h, key: {key}}}'
    origin = upstream(answer)
    server = nginx(policies(slots, policy(key=key)), gate=OF_SIZE % ('64k' + where),
                   server=HELLO + f'location /slow {{ proxy_pass http://127.0.0.1:{origin.port}; }}')
    clients = [f'/?client={n}' for n in range(100)]
    assert {server.request(path).status for path in clients} == {200}
    with Connection(server.port) as connection:
        connection.send(b'GET /slow?client=held HTTP/1.1\r\nHost: a\r\n\r\n')
        assert arrived.wait(PATIENCE)
        old = server.children()
        for larger, left in (('1m', '3'), ('2m', '2')):
            server.write(gate=OF_SIZE % (larger + where))
            before = server.metrics()['headgate_reloads_total']
            accepted, said = server.test()
            assert accepted, said
            server.process.send_signal(signal.SIGHUP)
            until(lambda: server.metrics()['headgate_reloads_total'] > before, 'nginx has reloaded')
            assert server.metrics()['headgate_table_memory_bytes'] == int(larger[0]) << 20
            assert {f'"burst";r={left}' in server.request(path).one('RateLimit')
                    for path in clients} == {True}
            assert server.request('/?client=held').status == 429
        assert set(old) & set(server.children())
        gate.set()
        assert connection.receive().body == b'done'
    until(lambda: not set(old) & set(server.children()), 'the old worker has gone')
    assert server.request('/?client=held').status == 200
    assert server.metrics()['headgate_tables_changed_total'] == 0


def reload_beside_old_workers(server):
    before = server.metrics()['headgate_reloads_total']
    server.process.send_signal(signal.SIGHUP)
    until(lambda: server.metrics()['headgate_reloads_total'] > before, 'the reload is in force')


def spend(server):
    count = 0
    while server.request().status == 200:
        count += 1
    return count


@contextlib.contextmanager
def early_requests(server):
    """Three connections with a part of a request's head, which a worker has accepted."""
    with contextlib.ExitStack() as stack:
        early = [stack.enter_context(Connection(server.port)) for _ in range(3)]
        for connection in early:
            connection.send(b'GET / HTTP/1.1\r\nHost: a')
        assert server.request('/metrics').status == 200  # it has accepted those before this one
        yield early


@pytest.mark.parametrize('algorithm', ['linear', 'exponential', 'fixed-window', 'moving-window',
                                       'sliding-window-counter'])
def test_old_workers_decide_by_the_numbers_of_the_new_file(nginx, algorithm):
    server = nginx(policies(policy(quota=20, window='10ms', algorithm=algorithm)), server=HELLO)
    with early_requests(server) as early:
        server.write(policies=policies(policy(quota=20, algorithm=algorithm)))
        reload_beside_old_workers(server)
        assert 0 < spend(server) <= 20
        for connection in early:
            connection.send(b'\r\n\r\n')
            denied = connection.receive()
            assert denied.status == 429 and f';w={YEAR}' in denied.one('RateLimit-Policy')
            assert spend(server) == 0


def deny_each(early, server):
    for connection in early:
        connection.send(b'\r\n\r\n')
        assert connection.receive().status == 429
        assert spend(server) == 0


@pytest.mark.parametrize('before, after', [
    ({'candidate': '{quota: 30}'}, {}),
    ({}, {'candidate': '{quota: 30}'}),
    ({}, {'key': 'address'}),
    ({}, {'match': '[{path: "*"}]'}),
])
def test_old_workers_know_a_policy_by_its_name_and_key(nginx, before, after):
    server = nginx(policies(policy(quota=20, window='10ms', **before)), server=HELLO)
    with early_requests(server) as early:
        server.write(policies=policies(policy(quota=20, **after)))
        reload_beside_old_workers(server)
        assert 0 < spend(server) <= 20
        deny_each(early, server)


def test_old_workers_find_a_policy_file_of_another_name(nginx):
    server = nginx(policies(policy(quota=20, window='10ms')), server=HELLO)
    with early_requests(server) as early:
        (server.directory / 'other.yaml').write_text(policies(policy(quota=20)))
        server.write(gate='headgate_config other.yaml; headgate on;')
        reload_beside_old_workers(server)
        assert 0 < spend(server) <= 20
        deny_each(early, server)


def test_old_workers_say_that_they_keep_their_numbers(nginx):
    server = nginx(policies(policy(quota=20, window='10ms')), server=HELLO)
    with early_requests(server) as early:
        server.write(policies=policies(policy(quota=20)))
        reload_beside_old_workers(server)
        server.write(policies=policies(policy(quota=21)))
        early[0].send(b'\r\n\r\n')
        early[0].receive()
    until(lambda: 'came before the reload keep the former numbers' in server.log, 'it is logged')
    assert 'headgate.yaml has changed since' in server.log


def test_old_workers_settle_by_the_numbers_of_the_new_file(nginx, upstream):
    goes_on = threading.Event()

    def answer(method, path, *_):
        assert path != '/slow' or goes_on.wait(PATIENCE)
        return 200, [('X-Cost', '1')], b''

    origin = upstream(answer)
    server = nginx(policies(policy(quota=20, window='10ms', cost='{response-header: x-cost}')),
                   server=f'location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}' + METRICS)
    with Connection(server.port) as slow:
        slow.send(b'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
        until(lambda: '/slow' in [request[1] for request in origin.requests], 'it is in flight')
        server.write(policies=policies(policy(quota=20, cost='{response-header: x-cost}')))
        reload_beside_old_workers(server)
        assert spend(server) in (20, 21)  # costs are known when the response has ended
        goes_on.set()
        assert slow.receive().status == 200
    until(lambda: len(server.children()) == 1, 'the old worker has ended')
    assert spend(server) == 0
