"""Requests that wait in place of being denied: in order, not too many, and nothing blocks."""
import subprocess
import time

import pytest

from support.admin import put
from support.http_client import Connection
from support.policies import policies, policy
from support.processes import until

PAGE = '''location / { return 200 "page"; }
location /free { headgate off; return 200 "free"; }
location = /metrics { headgate off; headgate_metrics; }'''
DELAYED = 'headgate_delayed_total{policy="burst"}'


def pace(**more):
    return policies(policy(quota=1, window='300ms', delay='60s', **more))


@pytest.fixture
def gate(nginx):
    return lambda text, **more: nginx(text, server=PAGE, **more)


class Queue:
    """Requests on connections of their own, each sent when the gate has let the one before wait."""

    def __init__(self, server):
        self.server, self.connections = server, []

    def add(self):
        connection = Connection(self.server.port)
        connection.send(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        self.connections.append(connection)
        waiting = len(self.connections) - 1
        if waiting:
            until(lambda: self.server.metrics()[DELAYED] >= waiting, f'{waiting} wait')
        return connection


def test_requests_pass_one_after_the_other(gate):
    server = gate(pace())
    began = time.monotonic()
    queue = Queue(server)
    for _ in range(5):
        queue.add()
    assert server.request('/free').body == b'free'  # the worker is not blocked
    ends = []
    for connection in queue.connections:
        response = connection.receive()
        ends.append(time.monotonic())
        assert response.status == 200
        assert response.one('RateLimit') in ('"burst";r=0;t=1', '"burst";r=0;t=2')  # from when it passes
    assert ends[-1] - began >= 4 * 0.3
    counted = server.metrics()
    assert counted[DELAYED] == 4
    assert counted['headgate_decisions_total{policy="burst",outcome="admitted"}'] == 5
    assert counted['headgate_decisions_total{policy="burst",outcome="denied"}'] == 0


def test_a_longer_wait_is_a_denial(gate):
    server = gate(policies(policy(quota=1, window='60s', delay='2s')))
    assert server.request().status == 200
    denied = server.request()
    assert denied.status == 429
    assert int(denied.one('Retry-After')) > 50


def test_so_many_wait_at_once_and_who_leaves_makes_room(gate):
    server = gate(policies(policy(quota=1, window='20s', delay='60s', delay_waiting=1)))
    queue = Queue(server)
    queue.add()
    waiting = queue.add()
    assert server.request().status == 429
    waiting.close()
    connection = None

    def waits():
        nonlocal connection
        before = server.metrics()[DELAYED]
        connection = Connection(server.port)
        connection.send(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        until(lambda: connection.is_closed() or server.metrics()[DELAYED] > before
              or has_answer(connection), 'it waits or is answered')
        return not has_answer(connection)
    until(waits, 'there is room for another')
    connection.close()


def test_those_who_wait_count_when_an_override_is_set(nginx, admin_token):
    server = nginx(policies(policy(quota=1, window='20s', delay='60s', delay_waiting=1)),
                   gate='headgate_config headgate.yaml; headgate_overrides overrides; headgate on;',
                   server=PAGE + f''' location /admin/ {{ headgate off; headgate_dashboard;
                                                        headgate_admin_token_file {admin_token}; }}''')
    server.base = '/admin'
    queue = Queue(server)
    queue.add()
    queue.add()
    assert server.request().status == 429
    put(server, 'burst/192.0.2.1', quota=5)
    assert server.request().status == 429


def test_who_leaves_with_the_request_makes_room(gate):
    server = gate(policies(policy(quota=1, window='10s', delay='60s', delay_waiting=1)))
    assert server.request().status == 200
    for n in range(4):  # a place is free again long before its turn, but stays charged
        with Connection(server.port) as connection:
            connection.send(b'GET /left HTTP/1.1\r\nHost: a\r\n\r\n')
        assert [line[1] for line in server.access(n + 2)[1:]] == ['499'] * (n + 1)


def has_answer(connection):
    connection.socket.setblocking(False)
    try:
        return bool(connection.socket.recv(1, 2))  # MSG_PEEK
    except BlockingIOError:
        return False
    finally:
        connection.socket.setblocking(True)


def test_a_reload_lets_those_pass_who_wait(gate):
    server = gate(pace())
    queue = Queue(server)
    for _ in range(4):
        queue.add()
    server.reload()
    assert [connection.receive().status for connection in queue.connections] == [200] * 4


def test_other_policies_decide_too_and_take_nothing_from_who_is_denied(gate):
    server = gate(policies(policy('pace', 1, '200ms', delay='60s'), policy('daily', 3, '1d')))
    assert [server.request().status for _ in range(4)] == [200, 200, 200, 429]
    counted = server.metrics()
    assert counted['headgate_decisions_total{policy="pace",outcome="admitted"}'] == 3
    assert counted['headgate_delayed_total{policy="daily"}'] == 0


def test_a_dry_run_lets_nothing_wait(gate):
    server = gate(policies(policy(quota=1, window='60s', delay='60s')),
                  gate='headgate_config headgate.yaml; headgate on; headgate_dry_run on;')
    assert [server.request().status for _ in range(3)] == [200] * 3


def test_streams_of_http2_wait_each_for_its_turn(gate):
    server = gate(pace())
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; ' + PAGE)
    server.reload()
    url = f'http://127.0.0.1:{server.other_port}/'
    began = time.monotonic()
    done = subprocess.run(['nghttp', '-n', '-s', '-m', '4', url], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began >= 3 * 0.3
    counted = server.metrics()
    assert counted['headgate_decisions_total{policy="burst",outcome="admitted"}'] == 4
    assert counted[DELAYED] == 3
