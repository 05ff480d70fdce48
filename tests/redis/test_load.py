"""Totals under load: scripts are flushed, files differ, Redis cannot write, and many processes want one key."""
import threading
import time

import pytest

from load import Load, Nginx, Server
from support.http_client import read_metrics
from support.policies import YEAR
from support.processes import until
from support.resp import Client, encode

PAGE = 'location / { return 200 "page"; } location = /metrics { headgate off; headgate_metrics; }'
WITHOUT = 'headgate_decisions_without_redis_total{policy="p"}'
LAWS = ('linear', 'fixed-window')


def policies(redis, policy, timeout='5s'):
    return (f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{nodes: ["{redis.node}"], '
            f'timeout: {timeout}}}}}\npolicies:\n  - {{name: p, key: [], window: {YEAR}s, {policy}}}\n')


@pytest.mark.parametrize('law', LAWS)
def test_scripts_are_flushed_in_a_loop(redis, serve, nginx, law):
    server = redis()
    text = policies(server, f'quota: 1500, algorithm: {law}')
    one, gate = serve(text), nginx(text, server=PAGE)
    ends = threading.Event()

    def flush():
        while not ends.is_set():
            server.command('SCRIPT', 'FLUSH')

    flushing = threading.Thread(target=flush)
    flushing.start()
    try:
        load = Load([Server(one, key=''), Nginx(gate)], requests=450).join()
    finally:
        ends.set()
        flushing.join()
    assert (load.admitted, load.denied) == (1500, 300)
    assert read_metrics(one.port)[WITHOUT] == gate.metrics()[WITHOUT] == 0


def admitted_by(server):
    return read_metrics(server.port)['headgate_decisions_total{policy="p",outcome="admitted"}']


def test_files_differ_in_the_quota_of_a_linear_policy(redis, serve):
    """Each applies its numbers to the common state: the parts of the quota that they have taken add up to one."""
    server = redis()
    both = [serve(policies(server, f'quota: {quota}')) for quota in (300, 900)]
    Load([Server(one, key='') for one in both], requests=500).join()
    of_small, of_large = map(admitted_by, both)
    assert of_small > 0 and of_large > 0
    assert of_small * 3 + of_large == 900


@pytest.mark.parametrize('law', ('fixed-window', 'moving-window', 'sliding-window-counter'))
def test_files_differ_in_the_quota_of_a_window(redis, serve, law):
    """They count the same units: a server denies from its own quota on, and forgets none of those above it."""
    server = redis()
    both = [serve(policies(server, f'quota: {quota}, algorithm: {law}')) for quota in (300, 900)]
    Load([Server(one, key='') for one in both], requests=500).join()
    assert 0 < admitted_by(both[0]) <= 300
    assert sum(map(admitted_by, both)) == 900


def test_a_server_that_cannot_save_refuses_to_write(redis, serve, nginx):
    """MISCONF: nothing is charged meanwhile, and nothing is lost."""
    server = redis('--save', '3600 1')
    text = policies(server, 'quota: 600, on-outage: {local: 5%}')
    one, gate = serve(text), nginx(text, server=PAGE)
    doors = [Server(one, key=''), Nginx(gate)]
    assert Load(doors, requests=50).join().admitted == 200

    def saved():
        server.command('BGSAVE')
        lines = server.command('INFO', 'persistence').splitlines()
        return dict(line.split(':') for line in lines if ':' in line)['rdb_last_bgsave_status']

    # The file cannot be replaced.
    in_the_way = server.directory / 'dump.rdb' / 'something'
    in_the_way.mkdir(parents=True)
    until(lambda: saved() == 'err', 'a save fails')
    load = Load(doors, requests=100).join()
    assert load.admitted == 2 * 30, 'each machine has 5 %'
    assert 'MISCONF' in one.until('Redis is away.*')[0]
    in_the_way.rmdir()
    in_the_way.parent.rmdir()
    until(lambda: saved() == 'ok', 'a save succeeds')
    assert Load(doors, requests=250).join().admitted == 400


def spend(port, batch, stops, tally, i):
    """Sends batches until one of them is denied whole."""
    command = encode('HG.DECIDE', 'p', '') * batch
    with Client(port) as client:
        while not stops.is_set():
            client.send(command)
            replies = [client.reply() for _ in range(batch)]
            admitted = sum(reply[0] for reply in replies)
            tally[i].append((time.monotonic(), admitted, batch))
            if admitted == 0:
                return


@pytest.mark.parametrize('law', LAWS)
def test_eight_processes_want_one_key(redis, serve, law):
    """No false denial, and nobody starves."""
    quota = 8000
    server = redis()
    text = policies(server, f'quota: {quota}, algorithm: {law}')
    eight = [serve(text, doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'}, arguments=('--threads', 1))
             for _ in range(8)]
    tally = [[] for _ in eight]
    stops = threading.Event()
    clients = [threading.Thread(target=spend, args=(one.ports['resp'], 16, stops, tally, i))
               for i, one in enumerate(eight)]
    try:
        for client in clients:
            client.start()
    finally:
        for client in clients:
            client.join()
    each = [sum(admitted for _, admitted, _ in seen) for seen in tally]
    assert sum(each) == quota
    assert sum(read_metrics(one.port)[WITHOUT] for one in eight) == 0
    # Fairness is not promised, but none is kept away while others take thousands.
    assert min(each) >= quota / 8 / 10, each
