"""Clients that read every response and obey its fields are never denied, under any algorithm.

    greedy  spends r at once, then waits for t
    paced   spreads r over t

They wait for what the fields report, and for nothing else. Prints which share of the quota per window
each of them got.
"""
import concurrent.futures
import re
import threading
import time

import pytest

from support.environment import PATIENCE
from support.http_client import Connection
from support.policies import policies, policy

# Quota and window [s]. A paced client loses the time by which t is rounded up. The linear quota is such that
# 40 units take exactly 2 s: nothing is rounded.
LAWS = {
    'linear': (41, 2.05),
    'exponential': (40, 2),
    'fixed-window': (40, 2),
    'sliding-window-counter': (40, 2),
    'moving-window': (40, 2),
}
MANNERS = ('greedy', 'paced')
WINDOWS = 3    # that are counted, after a first one to get started: 8 s per law
ATTEMPTS = 3   # a busy machine makes clients late
MEMBER = re.compile(r'"[^"]*";r=(\d+)(?:;t=(\d+))?')


def fields(response):
    """r and t of the only member."""
    r, t = MEMBER.fullmatch(response.one('RateLimit')).groups()
    return int(r), int(t) if t is not None else None


class Client:
    """Sends requests for WINDOWS windows and obeys all responses; `share` is what it got of the quota."""

    def __init__(self, port, law, manners, name):
        self.port, self.law, self.manners, self.name = port, law, manners, name
        self.quota, self.window = LAWS[law]
        self.denied = []
        self.share = 0

    def next(self, planned, response):
        """When the next request is due, after the response to the request that was due at `planned`."""
        r, t = fields(response)
        if r == 0:
            return time.monotonic() + t
        # A late request does not delay the next one: r of them may be sent at any time.
        return planned + t / r if self.manners == 'paced' else planned

    def live(self):
        with Connection(self.port) as connection:
            begin = planned = time.monotonic()
            counted, units = None, 0
            while counted is None or planned < counted + WINDOWS * self.window:
                time.sleep(max(0, planned - time.monotonic()))
                response = connection.request(f'/{self.law}/{self.manners}?name={self.name}')
                if response.status != 204:
                    self.denied.append(response)
                    return self
                units += 1
                before, planned = planned, self.next(planned, response)
                if counted is None and planned > max(before, begin + self.window):
                    counted, units = planned, 0  # it has waited: a round begins
        self.share = units / (self.quota * (planned - counted) / self.window)
        return self


@pytest.fixture
def server(nginx):
    each = [policy(f'{law}-{manners}', quota, f'{round(window * 1000)}ms', algorithm=law,
                   key='["query:name"]', match=f'[{{path: /{law}/{manners}}}]')
            for law, (quota, window) in LAWS.items() for manners in MANNERS]
    return nginx(policies(*each), server='location / { return 204; }')


def test_obedient_clients_are_never_denied(server):
    reached = dict.fromkeys(MANNERS, 0)
    for attempt in range(ATTEMPTS):
        # New names, because the earlier clients have spent units of their partitions.
        clients = [Client(server.port, law, manners, attempt) for law in LAWS for manners in MANNERS]
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            done = list(pool.map(Client.live, clients))
        for client in done:
            print(f'{client.law:24} {client.manners:8} {client.share:6.1%} of q/w')
        assert [client.denied for client in done if client.denied] == []
        for client in done:
            if client.law == 'linear':
                reached[client.manners] = max(reached[client.manners], client.share)
        if min(reached.values()) >= 0.95:
            return
    raise AssertionError(f'linear: {reached} of q/w')


def test_obedient_clients_of_slots_are_never_denied(nginx, upstream):
    """Concurrency reports no t. r more requests may start at once; with r=0, one when another has ended."""
    quota, rounds = 8, 20
    crowd = threading.Barrier(quota - 1)

    def answer(method, path, *_):
        if path == '/together':
            crowd.wait(PATIENCE)  # all of them are under way at the same time
        return 200, [], b''

    origin = upstream(answer)
    server = nginx(policies(f'  - {{name: slots, quota: {quota}, algorithm: concurrency}}'),
                   server=f'location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}')
    with Connection(server.port) as first, \
            concurrent.futures.ThreadPoolExecutor(quota) as pool:
        others = [Connection(server.port) for _ in range(quota - 1)]
        for _ in range(rounds):
            alone = first.request('/alone')
            assert (alone.status, fields(alone)) == (200, (quota - 1, None))
            together = list(pool.map(lambda other: other.request('/together'), others))
            assert [response.status for response in together] == [200] * (quota - 1)
            # The request before has ended, and its slot is free, before these arrive.
            assert min(fields(response)[0] for response in together) == 1
        for other in others:
            other.close()
