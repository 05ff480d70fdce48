"""The clock of Redis' machine is stepped, by the library of faketime."""
import pytest

from load import Load, Server
from support.http_client import Connection, read_metrics
from support.processes import until
from support.redis_server import version
from support.wall_clock import WallClock

LAWS = ('linear', 'fixed-window', 'moving-window', 'sliding-window-counter', 'exponential')
QUOTA = 40
HOUR = 3600


@pytest.fixture
def clock(tmp_path):
    if version() >= 8:
        pytest.skip('redis-server from 8 on ends at its start with the library of faketime')
    return WallClock(tmp_path)


class Machines:
    """Two decision servers that share the redis-server of this clock."""

    def __init__(self, clock, redis, serve):
        self.clock, self.redis = clock, redis(environment=clock.environment)
        each = ''.join(f'  - {{name: {law}, quota: {QUOTA}, window: 1h, algorithm: {law}, key: []}}\n'
                       for law in LAWS)
        text = (f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{nodes: ["{self.redis.node}"], '
                f'timeout: 5s}}}}\npolicies:\n{each}')
        self.servers = [serve(text) for _ in range(2)]
        self.early = dict.fromkeys(LAWS, 0)

    def spend(self):
        """Sends three quotas to each policy; returns how much was admitted since the last call, by law."""
        admitted = {law: self.early[law] + Load([Server(one, law, '') for one in self.servers], threads=1,
                                                requests=3 * QUOTA // 2).join().admitted for law in LAWS}
        self.early = dict.fromkeys(LAWS, 0)
        for one in self.servers:
            metrics = read_metrics(one.port)
            assert [metrics[f'headgate_decisions_without_redis_total{{policy="{law}"}}']
                    for law in LAWS] == [0] * len(LAWS)
        return admitted

    def step(self, seconds):
        """Sets the clock. A server that denies from memory cannot know of it: waits until each has asked Redis."""
        self.clock.set(seconds)
        for one in self.servers:
            for law in LAWS:
                until(lambda: self.asks_redis(one, law), 'Redis is asked')

    def asks_redis(self, one, law):
        def remembered():
            return read_metrics(one.port)['headgate_redis_remembered_denials_total']

        before = remembered()
        with Connection(one.port) as connection:
            self.early[law] += Server(one, law, '').ask(connection)
        return remembered() == before


@pytest.fixture
def machines(clock, redis, serve):
    return Machines(clock, redis, serve)


ALL = dict.fromkeys(LAWS, QUOTA)
NONE = dict.fromkeys(LAWS, 0)


def test_a_step_forward_gives_what_that_time_gives(machines):
    assert machines.spend() == ALL
    assert machines.spend() == NONE
    machines.step(HOUR // 2)
    half = machines.spend()
    assert half['linear'] == QUOTA // 2
    assert half['fixed-window'] == half['moving-window'] == half['sliding-window-counter'] == 0
    machines.step(30 * 24 * HOUR)
    assert machines.spend() == ALL
    assert machines.spend() == NONE


def test_a_step_back_gives_nothing_and_locks_nobody_for_longer_than_a_window(clock, machines):
    assert machines.spend() == ALL
    machines.step(-24 * HOUR)
    assert machines.spend() == NONE
    machines.step(-23 * HOUR + 1)
    again = machines.spend()
    assert all(0 < again[law] <= QUOTA for law in LAWS), again
    assert again['linear'] == QUOTA
    machines.step(0)
    assert machines.spend() == ALL
    # Every key is gone when Redis' clock says that its quota is full.
    clock.set(30 * 24 * HOUR)
    assert machines.redis.command('KEYS', '*') == []
