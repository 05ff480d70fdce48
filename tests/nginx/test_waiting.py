"""Requests whose decisions come later: nothing blocks, nothing is lost, nothing is charged twice."""
import contextlib
import pathlib
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import threading

import pytest

from support.environment import LATE_MODULE, PATIENCE
from support.http_client import Connection
from support.policies import ONE, policies, policy
from support.processes import runs, until

FREE = 'location /free { headgate off; return 200 "free"; } '
HELLO = 'location / { return 200 "hello"; } ' + FREE
SLOTS = policies('  - {name: slots, quota: 50, algorithm: concurrency}')


class Late:
    """nginx with a store that answers when the test lets it."""

    def __init__(self, server):
        self.server = server
        self.directory = pathlib.Path(server.directory)

    def __getattr__(self, name):
        return getattr(self.server, name)

    def hold(self):
        (self.directory / 'hold').touch()

    def release(self):
        (self.directory / 'hold').unlink()

    def reverse(self):
        (self.directory / 'reverse').touch()

    def be_impatient(self):
        """Requests that are sent from here on do not wait long."""
        (self.directory / 'impatient').touch()

    def outstanding(self, count):
        """Waits until the store owes so many answers or more."""
        until(lambda: any(int(n) >= count for n in re.findall(r'late store: (\d+) outst', self.log)),
              f'{count} are outstanding')

    def open(self, count=1, path='/', method='GET', more=''):
        """Connections on each of which one request has been sent."""
        connections = [Connection(self.port) for _ in range(count)]
        for connection in connections:
            connection.send(f'{method} {path} HTTP/1.1\r\nHost: a\r\n{more}\r\n'.encode())
        return connections

    def in_flight(self):
        """Requests that have a slot, without the one that this function sends."""
        response = self.request('/probe')
        return 49 - response.r if response.status != 429 else 50

    def settles(self):
        until(lambda: self.in_flight() == 0, 'all slots are back')


@pytest.fixture
def late(nginx):
    return lambda *args, **kwargs: Late(nginx(*args, module=LATE_MODULE, **kwargs))


def is_silent(connection):
    return not select.select([connection.socket], [], [], 0)[0]


def reset(connection):
    """Closes it with a RST."""
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    connection.close()


# ---- waiting

def test_a_request_waits_and_its_worker_does_not(late):
    server = late(policies(policy(quota=2)), server=HELLO)
    server.hold()
    first, second, third = server.open(3)
    server.outstanding(3)
    assert [server.request('/free').body for _ in range(3)] == [b'free'] * 3
    assert is_silent(first) and is_silent(second) and is_silent(third)
    server.release()
    answers = [connection.receive() for connection in (first, second, third)]
    assert [(a.status, a.r) for a in answers] == [(200, 1), (200, 0), (429, 0)]
    assert [a.body for a in answers[:2]] == [b'hello'] * 2
    assert b'"violated-policies":["burst"]' in answers[2].body and answers[2].one('Retry-After')
    assert [c.request('/').status for c in (first, second, third)] == [429] * 3  # kept alive
    assert [line[2] for line in server.access(9)].count('denied') == 4


def test_requests_on_one_connection_keep_their_order_and_bodies(late, upstream):
    origin = upstream(lambda method, path, headers, body: (200, [], path.encode() + body))
    server = late(ONE, server=f'location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}')
    bodies = [bytes([65 + n]) * (1 + 20_000 * n) for n in range(6)]
    with Connection(server.port) as connection:
        connection.send(b''.join(b'POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s'
                                 % (n, len(body), body) for n, body in enumerate(bodies)))
        for n, body in enumerate(bodies):
            response = connection.receive()
            assert (response.status, response.r) == (200, 999 - n)
            assert response.body == b'/%d' % n + body


@pytest.mark.parametrize('order', ['as asked', 'reversed'])
def test_a_thousand_at_once(late, order):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    server = late(policies(policy(quota=600), policy('all', 10_000, key='[]')), server=HELLO)
    if order == 'reversed':
        server.reverse()
    server.hold()
    connections = server.open(1000)
    server.outstanding(1000)
    server.release()
    answers = [connection.receive() for connection in connections]
    admitted = [a.r for a in answers if a.status == 200]
    assert sorted(admitted) == list(range(600))  # each has the figures of its own decision
    assert {a.status for a in answers} == {200, 429}
    for connection in connections:
        connection.close()


def test_a_body_is_counted_before_the_wait(late):
    server = late(policies(policy(quota=1000, cost='request-bytes', unit='content-bytes')),
                  server=HELLO)
    server.hold()
    chunked, = server.open(1, method='POST', more='Transfer-Encoding: chunked\r\n')
    chunked.send(b'5\r\nhello\r\n0\r\n\r\n')
    too_long, = server.open(1, method='POST', more='Transfer-Encoding: chunked\r\n')
    server.outstanding(1)
    too_long.send(b'7d0\r\n' + b'x' * 2000)
    server.outstanding(2)
    server.release()
    assert chunked.receive().r == 995
    denied = too_long.receive()
    assert (denied.status, denied.one('Connection')) == (429, 'close')


def test_a_dry_run_waits_for_what_it_logs(late):
    server = late(policies(policy(quota=1)), gate='headgate_config headgate.yaml; headgate on;'
                                                  'headgate_dry_run on;', server=HELLO)
    for _ in range(2):
        response = server.request()
        assert (response.status, response.all('RateLimit')) == (200, [])
    assert [line[2] for line in server.access(2)] == ['admitted', 'shadow-denied']


def test_http2_streams_wait_side_by_side(late):
    server = late(policies(policy(quota=5)))
    server.server.write(server=f'listen 127.0.0.1:{server.other_port} http2; ' + HELLO)
    server.reload()
    server.reverse()
    server.hold()
    urls = [f'http://127.0.0.1:{server.other_port}/{n}' for n in range(8)]
    client = subprocess.Popen(['nghttp', '-v', *urls], stdout=subprocess.PIPE, text=True)
    server.outstanding(8)
    server.release()
    said = client.communicate(timeout=PATIENCE)[0]
    assert client.returncode == 0
    assert said.count(':status: 200') == 5 and said.count(':status: 429') == 3
    assert {f';r={n};' for n in range(5)} <= {f';r={part.split(";")[0]};'
                                              for part in said.split(';r=')[1:]}


def test_a_new_worker_serves_those_that_are_connected_when_others_have_taken_all_connections(late):
    """It needs a connection of its own for the answers of its store."""
    server = late(ONE, server=HELLO, run=False)
    server.server.expect_death = True  # nginx says by an [alert] that its connections are not enough
    conf = server.directory / 'nginx.conf'
    conf.write_text(conf.read_text().replace('worker_connections 2048', 'worker_connections 16'))
    server.start()
    with contextlib.ExitStack() as open_connections:
        def begin():
            connection = open_connections.enter_context(Connection(server.port))
            connection.send(b'GET / HT')
            return connection

        def is_full():
            begin()
            return re.search(r'\[alert].* worker_connections are not enough', server.log)

        first = begin()
        until(is_full, 'no connection is left')
        first.send(b'TP/1.1\r\nHost: a\r\n\r\n')
        assert first.receive().status == 200


# ---- what a request goes through besides

def test_subrequests_and_redirects_of_requests_that_waited(late, upstream):
    origin = upstream(lambda m, path, *_: (200, [('X-Accel-Redirect', '/target')], b'')
                      if path == '/accel' else (200, [], b'origin'))
    server = late(ONE, server=f'''
        location = /target {{ internal; return 200 "target"; }}
        location @named {{ return 200 "named"; }}
        location = /authed {{ auth_request /check; try_files /none @named; }}
        location = /check {{ internal; proxy_pass http://127.0.0.1:{origin.port}/check; }}
        location = /mirrored {{ mirror /check; try_files /none @named; }}
        location = /added {{ add_before_body /check; add_after_body /check;
                             addition_types *; try_files /page.html =404; }}
        location = /ssi.html {{ ssi on; }}
        location = /accel {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location = /missing {{ error_page 404 = @named; }}
        location /redirected {{ headgate off; try_files /none @named; }}
        location = /freely {{ headgate off; proxy_pass http://127.0.0.1:{origin.port}/accel; }}''')
    (server.directory / 'html/page.html').write_text('page')
    (server.directory / 'html/ssi.html').write_text('<!--#include virtual="/check" -->|')
    bodies = {'/authed': b'named', '/mirrored': b'named', '/added': b'originpageorigin',
              '/ssi.html': b'origin|', '/accel': b'target', '/missing': b'named',
              '/redirected': b'named', '/freely': b'target'}
    server.hold()
    waiting = {path: server.open(1, path)[0] for path in bodies}
    server.outstanding(len(bodies))
    server.release()
    left = set()
    for path, body in bodies.items():
        response = waiting[path].receive()
        assert (response.status, response.body) == (200, body), path
        assert len(response.all('RateLimit')) == len(response.all('RateLimit-Policy')) == 1, path
        left.add(response.r)
    assert left == set(range(1000 - len(bodies), 1000))  # each was charged once


def test_error_pages_of_denials_that_waited(late):
    server = late(policies(policy(quota=1)), server='''
        error_page 429 = /slower; location = /slower { return 503 "slower"; }
        location / { return 200 "hello"; }''')
    server.hold()
    connections = server.open(2)
    server.outstanding(2)
    server.release()
    answers = [connection.receive() for connection in connections]
    assert [(a.status, a.body, a.r) for a in answers] == [(200, b'hello', 0), (503, b'slower', 0)]
    assert answers[1].one('Retry-After')


def test_what_has_no_location_is_charged_without_a_wait(late):
    server = late(ONE, server='if ($arg_early) { return 200 "early"; } ' + HELLO)
    server.hold()
    early = server.request('/?early=1')
    assert (early.body, early.all('RateLimit')) == (b'early', [])
    server.outstanding(1)
    server.release()
    assert server.request().r == 998


# ---- what is settled

def test_a_response_does_not_wait_until_it_is_settled(late, upstream):
    arrived, go = threading.Event(), threading.Event()

    def answer(*_):
        arrived.set()
        go.wait(PATIENCE)
        return 200, [('X-Tokens', '7')], b'done'

    origin = upstream(answer)
    server = late(policies('  - {name: slots, quota: 50, algorithm: concurrency}',
                           policy('tokens', 1000, unit='tokens',
                                  cost='{response-header: x-tokens}')),
                  server=f'location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}'
                         'location /probe { return 204; } ')
    connection, = server.open(1, '/slow')
    assert arrived.wait(PATIENCE)
    assert server.in_flight() == 1
    server.access(1)
    server.hold()
    go.set()
    assert connection.receive().body == b'done'
    connection.close()  # nothing of the request is left when the store answers
    server.outstanding(1)
    server.release()
    until(lambda: server.request('/probe').one('RateLimit').split(',')[0] == '"slots";r=49',
          'the slot is back')
    # Of a response without the header, a probe costs one.
    assert '"tokens";r=' in server.request('/probe').one('RateLimit')


def test_clients_that_leave_while_they_wait(late):
    server = late(SLOTS, server='location /probe { return 204; } ' + HELLO)
    for n, leave in enumerate((Connection.close, reset)):
        server.hold()
        connections = server.open(40)
        server.outstanding(40)
        for connection in connections[:30]:
            leave(connection)
        until(lambda: [line[1:3] for line in server.access(0)].count(['499', 'off']) == 30 * (n + 1),
              'nginx has noticed')
        server.release()
        assert [connection.receive().status for connection in connections[30:]] == [200] * 10
        server.settles()
        for connection in connections[30:]:
            connection.close()
        (server.directory / 'error.log').write_text('')


def test_http2_clients_that_leave_while_they_wait(late):
    server = late(SLOTS)
    server.server.write(server=f'listen 127.0.0.1:{server.other_port} http2; '
                               'location /probe { return 204; } ' + HELLO)
    server.reload()
    server.hold()
    urls = [f'http://127.0.0.1:{server.other_port}/{n}' for n in range(8)]
    client = subprocess.Popen(['nghttp', '-n', *urls])
    server.outstanding(8)
    client.kill()
    client.wait()
    server.access(8)
    server.release()
    server.settles()


def test_a_client_that_leaves_and_a_post_action(late):
    server = late(SLOTS, server='''location /probe { return 204; }
        location / { post_action /after; return 200; }
        location /after { internal; return 204; } ''')
    server.hold()
    connections = server.open(10)
    server.outstanding(10)
    for connection in connections:
        reset(connection)
    until(lambda: server.log.count('prematurely closed') >= 10, 'nginx has noticed')
    server.release()
    server.settles()


# ---- reloads and stops

def test_a_reload_waits_for_those_that_wait(late):
    server = late(policies(policy(quota=5)), server=HELLO)
    server.hold()
    connections = server.open(3)
    server.outstanding(3)
    old, = server.children()
    server.process.send_signal(signal.SIGHUP)
    until(lambda: len(server.children()) == 2, 'a new worker runs beside the old one')
    assert all(is_silent(connection) for connection in connections)
    server.release()
    assert sorted(connection.receive().r for connection in connections) == [2, 3, 4]
    until(lambda: not runs(old), 'the old worker has gone')
    assert server.request().r == 1


def test_a_stop_waits_for_those_that_wait(late):
    server = late(ONE, server=HELLO)
    server.hold()
    connections = server.open(3)
    server.outstanding(3)
    server.process.send_signal(signal.SIGQUIT)
    until(lambda: 'gracefully shutting down' in server.log, 'the worker is to end')
    server.release()
    assert [connection.receive().body for connection in connections] == [b'hello'] * 3
    assert server.process.wait(PATIENCE) == 0


def test_a_fast_stop_does_not(late):
    server = late(ONE, server=HELLO)
    server.hold()
    connections = server.open(3)
    server.outstanding(3)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 0
    for connection in connections:
        with contextlib.suppress(ConnectionResetError):
            assert connection.socket.recv(1) == b''


def test_no_request_and_no_stop_waits_for_ever(late):
    server = late(SLOTS, server=HELLO)
    server.be_impatient()
    server.hold()
    waits, leaves = server.open(2)
    server.outstanding(2)
    leaves.close()
    server.process.send_signal(signal.SIGQUIT)
    answer = waits.receive()
    assert (answer.status, answer.all('RateLimit')) == (503, [])
    assert server.process.wait(PATIENCE) == 0
    assert server.log.count('the store has not answered for 100 ms') == 2


def test_answers_that_come_too_late_are_settled(late):
    server = late(SLOTS, server='location /probe { return 204; } ' + HELLO)
    server.be_impatient()
    server.hold()
    connections = server.open(5)
    server.outstanding(5)
    assert [connection.receive().status for connection in connections] == [503] * 5
    server.release()
    server.settles()
    assert connections[0].request('/').body == b'hello'
