"""The clock of Redis' machine is stepped, by the library of faketime."""
import glob
import pathlib

import pytest

from load import Load, Server
from support.http_client import read_metrics

LAWS = ('linear', 'fixed-window', 'moving-window', 'sliding-window-counter', 'exponential')
QUOTA = 40
HOUR = 3600


class Clock:
    """That of a redis-server, ahead of the machine's by so many seconds."""

    def __init__(self, directory):
        [self.library] = glob.glob('/usr/lib/*/faketime/libfaketime.so.1') or [None]
        self.file = pathlib.Path(directory) / 'time'
        self.set(0)

    @property
    def environment(self):
        # The file is read at each call. What the system measures by the monotonic clock stays as it is.
        # jemalloc asks for the time before the library is ready: libc's malloc takes its place.
        return {'LD_PRELOAD': f'{self.library} libc.so.6', 'FAKETIME_TIMESTAMP_FILE': str(self.file),
                'FAKETIME_NO_CACHE': '1', 'FAKETIME_DONT_FAKE_MONOTONIC': '1',
                'FAKETIME_DISABLE_SHM': '1'}

    def set(self, seconds):
        draft = self.file.with_suffix('.draft')
        draft.write_text(f'{seconds:+d}')
        draft.rename(self.file)


@pytest.fixture
def clock(tmp_path):
    made = Clock(tmp_path)
    if made.library is None:
        pytest.skip('the package faketime is not installed')
    return made


@pytest.fixture
def spend(clock, redis, serve):
    """Sends three quotas to each policy; returns how much is admitted, by law."""
    server = redis(environment=clock.environment)
    each = ''.join(f'  - {{name: {law}, quota: {QUOTA}, window: 1h, algorithm: {law}, key: []}}\n'
                   for law in LAWS)
    both = [serve(f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{nodes: ["{server.node}"], '
                  f'timeout: 5s}}}}\npolicies:\n{each}') for _ in range(2)]

    def run():
        admitted = {law: Load([Server(one, law, '') for one in both], threads=1,
                              requests=3 * QUOTA // 2).join().admitted for law in LAWS}
        for one in both:
            metrics = read_metrics(one.port)
            assert [metrics[f'headgate_decisions_without_redis_total{{policy="{law}"}}']
                    for law in LAWS] == [0] * len(LAWS)
        return admitted

    run.server = server
    return run


ALL = dict.fromkeys(LAWS, QUOTA)
NONE = dict.fromkeys(LAWS, 0)


def test_a_step_forward_gives_what_that_time_gives(clock, spend):
    assert spend() == ALL
    assert spend() == NONE
    clock.set(HOUR // 2)
    half = spend()
    assert half['linear'] == QUOTA // 2
    assert half['fixed-window'] == half['moving-window'] == half['sliding-window-counter'] == 0
    clock.set(30 * 24 * HOUR)
    assert spend() == ALL
    assert spend() == NONE


def test_a_step_back_gives_nothing_and_locks_nobody_for_longer_than_a_window(clock, spend):
    assert spend() == ALL
    clock.set(-24 * HOUR)
    assert spend() == NONE
    clock.set(-23 * HOUR + 1)
    again = spend()
    assert all(0 < again[law] <= QUOTA for law in LAWS), again
    assert again['linear'] == QUOTA
    clock.set(0)
    assert spend() == ALL
    # Every key is gone when Redis' clock says that its quota is full.
    clock.set(30 * 24 * HOUR)
    assert spend.server.command('KEYS', '*') == []
