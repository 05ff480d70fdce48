"""Servers that take units of one quota ahead, under load: what they admit together, whatever happens."""
import os
import signal
import threading
import time

import pytest

from load import Load, Nginx, ask
from support.http_client import read_metrics
from support.policies import YEAR
from support.processes import until
from support.resp import Client, encode

RATE = 500  # units per second, of which a tenth may be taken ahead
PAGE = 'location / { return 200 "page"; } location = /metrics { headgate off; headgate_metrics; }'


def policies(redis, *each):
    return (f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{nodes: ["{redis.node}"], '
            'timeout: 5s}}\npolicies:\n' + ''.join(f'  - {{{one}}}\n' for one in each))


def shared(redis, more=''):
    return policies(redis, f'name: p, rate: {RATE}/second, key: [], sharing: leased{more}')


class Offered:
    """A thread that sends so many requests per second to a server, in pipelines of those that are due."""

    def __init__(self, server, rate):
        self.address = server.ports['resp']
        self.rate = rate
        self.admitted = []  # when
        self.asked = 0
        self.fault = None
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            with Client(self.address) as client:
                begin, sent = time.monotonic(), 0
                while not self.ends.is_set():
                    due = min(int((time.monotonic() - begin) * self.rate) - sent, 64)
                    if due <= 0:
                        self.ends.wait(1 / self.rate)
                        continue
                    client.send(encode('HG.DECIDE', 'p', '') * due)
                    sent += due
                    for _ in range(due):
                        if client.reply()[0] == 1:
                            self.admitted.append(time.monotonic())
                        self.asked += 1
        except OSError as fault:
            self.fault = fault  # of a server that was killed

    def stop(self):
        self.ends.set()
        self.thread.join()


def over(begin, *loads):
    """The most units that were admitted beyond the promise, in any interval from the beginning on."""
    level, last, most = 0.0, begin, 0.0
    for at in sorted(at for load in loads for at in load.admitted):
        level = max(0.0, level - (at - last) * RATE) + 1
        last = at
        most = max(most, level - RATE)
    return most


@pytest.fixture
def pair(redis, serve):
    server = redis()
    return [serve(shared(server), doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'})
            for _ in range(2)]


def load_for(seconds):
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end, 'the load has lasted')


def test_two_servers_admit_the_rate_and_no_more(pair):
    begin = time.monotonic()
    loads = [Offered(server, 400) for server in pair]
    load_for(2)
    before, since = sum(len(load.admitted) for load in loads), time.monotonic()
    load_for(3)
    rate = (sum(len(load.admitted) for load in loads) - before) / (time.monotonic() - since)
    for load in loads:
        load.stop()
    assert [load.fault for load in loads] == [None, None]
    assert over(begin, *loads) <= 0
    assert 485 <= rate <= 515
    leased = sum(read_metrics(server.port)['headgate_redis_leased_decisions_total']
                 for server in pair)
    assert leased > 0


def test_a_server_that_is_stopped_and_goes_on_does_not_spend_what_is_no_longer_its_own(pair):
    begin = time.monotonic()
    loads = [Offered(server, 400) for server in pair]
    load_for(2)
    os.kill(pair[0].process.pid, signal.SIGSTOP)
    before, since = len(loads[1].admitted), time.monotonic()
    load_for(5)
    alone = (len(loads[1].admitted) - before) / (time.monotonic() - since)
    os.kill(pair[0].process.pid, signal.SIGCONT)
    load_for(1)
    for load in loads:
        load.stop()
    assert [load.fault for load in loads] == [None, None]
    assert over(begin, *loads) <= 0
    assert alone > 300, 'the other one is not held up'


def test_servers_that_are_killed_take_nothing_along(redis, serve):
    server = redis()

    def start():
        return serve(shared(server), doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'})

    begin = time.monotonic()
    stays = start()
    loads = [Offered(stays, 400)]
    for _ in range(3):
        other = start()
        loads.append(Offered(other, 400))
        load_for(0.7)
        other.kill()
    before, since = len(loads[0].admitted), time.monotonic()
    load_for(2)
    rate = (len(loads[0].admitted) - before) / (time.monotonic() - since)
    for load in loads:
        load.stop()
    assert over(begin, *loads) <= 0
    assert rate > 350, 'what they held is free again'


def decide(server, policy='p', op='spend'):
    with Client(server.ports['resp']) as client:
        client.send(encode({'spend': 'HG.DECIDE', 'peek': 'HG.PEEK', 'refund': 'HG.REFUND'}[op],
                           policy, ''))
        return client.reply()


def test_all_or_none_beside_exact_and_own_policies(redis, serve, nginx):
    text = policies(redis(), f'name: leased, quota: 1000, window: {YEAR}s, sharing: leased',
                    f'name: exact, quota: 30, window: {YEAR}s',
                    f'name: own, quota: 20, window: {YEAR}s, sharing: none')
    server = serve(text)
    gate = nginx(text, server=PAGE)
    assert [ask(server).status for _ in range(21)] == [200] * 20 + [429]
    assert [gate.request('/').status for _ in range(11)] == [200] * 10 + [429]
    fields = gate.request('/').one('RateLimit')
    assert 'exact";r=0' in fields, fields
    until(lambda: 'leased";r=870' in (ask(server).one('RateLimit') or ''),
          'what the denials had taken is back')


def test_nginx_and_a_server_share_and_their_fields_are_not_more_than_there_is(redis, serve, nginx):
    text = policies(redis(), f'name: p, quota: 200, window: {YEAR}s, sharing: leased, key: []')
    server, gate = serve(text), nginx(text, server=PAGE, workers=1)
    statuses, left = [], []
    for i in range(300):
        response = gate.request('/') if i % 2 else ask(server)
        statuses.append(response.status)
        left.append(response.r)
    assert 160 <= statuses.count(200) <= 180
    assert all(r <= 180 - statuses[:i + 1].count(200) + 20 for i, r in enumerate(left))
    assert gate.request('/').status == 429
    assert gate.request('/').one('Retry-After')


def test_each_worker_of_nginx_takes_units_for_itself(redis, nginx):
    text = policies(redis(), f'name: p, quota: 2000, window: {YEAR}s, sharing: leased, key: []')
    gate = nginx(text, server=PAGE, workers=4)
    load = Load([Nginx(gate)], threads=8, requests=300).join()
    assert 1600 <= load.admitted <= 1800
    assert gate.metrics()['headgate_decisions_without_redis_total{policy="p"}'] == 0


def test_reloads_of_nginx_take_no_units_along(redis, nginx):
    quota, rounds, requests = 20_000, 8, 600  # after so many, a worker holds some hundred units
    text = policies(redis(), f'name: p, quota: {quota}, window: {YEAR}s, algorithm: fixed-window, '
                             'sharing: leased, key: []')
    gate = nginx(text, server=PAGE, workers=1)
    for _ in range(rounds):
        assert Load([Nginx(gate)], threads=1, requests=requests).join().admitted == requests
        gate.reload()
    lost = quota - rounds * requests - 1 - gate.request('/').r
    assert 0 <= lost < 1000, 'what one worker holds, if it could not run for a second'


def test_an_outage_is_decided_as_the_policy_says_when_the_lease_is_over(redis, serve):
    server = redis()
    text = policies(server, f'name: p, quota: 1000, window: {YEAR}s, sharing: leased, key: [], '
                            'on-outage: deny')
    one = serve(text, doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'})
    assert all(decide(one)[0] == 1 for _ in range(50))
    server.kill()
    until(lambda: ask(one).status == 503, 'its units are used up')
    assert read_metrics(one.port)['headgate_decisions_without_redis_total{policy="p"}'] >= 1
    server.start()
    until(lambda: ask(one).status == 200, 'Redis is back')


def test_refunds_come_back(redis, serve):
    text = policies(redis(), f'name: p, quota: 20, window: {YEAR}s, sharing: leased, key: []')
    doors = {'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'}
    one, other = serve(text, doors=doors), serve(text, doors=doors)
    assert sum(decide(one)[0] for _ in range(30)) == 18
    decide(other, op='refund')
    until(lambda: decide(one)[0] == 1, 'it is seen here')


def test_a_quota_too_small_for_leases_is_exact(redis, serve):
    text = policies(redis(), f'name: p, quota: 19, window: {YEAR}s, sharing: leased, key: []')
    servers = [serve(text), serve(text)]
    assert [ask(servers[i % 2]).status for i in range(20)] == [200] * 19 + [429]
