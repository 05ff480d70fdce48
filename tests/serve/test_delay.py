"""Requests that wait in place of being denied: callers are told how long, and /auth answers after it."""
import json
import re
import signal
import time

import pytest

from support.admin import run, state
from support.environment import PATIENCE
from support.http_client import Connection, read_metrics
from support.processes import until
from support.resp import Client, encode

POLICIES = '''
version: 1
policies:
  - {name: pace, quota: 1, window: 20s, delay: 60s, match: [{path: /named}]}
  - {name: auth, quota: 1, window: 300ms, delay: 60s, key: [], match: [{path: /paced}]}
'''


@pytest.fixture
def server(serve):
    return serve(POLICIES, doors={'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'})


def decide(port, **check):
    with Connection(port) as connection:
        body = json.dumps({'checks': [{'policy': 'pace', 'key': 'k', **check}]}).encode()
        return json.loads(connection.request('/v1/decide', 'POST', body=body).body)


def test_decide_says_how_long(server):
    waits = []
    for _ in range(4):
        answer = decide(server.port)
        assert answer['admitted']
        waits.append(answer['results'][0]['wait_ns'])
    assert waits[0] == 0
    assert all(10e9 < waits[i] - waits[i - 1] <= 20e9 for i in range(1, 4)), waits
    denied = decide(server.port)
    assert not denied['admitted']
    assert denied['fields']['Retry-After'] == str(denied['results'][0]['wait'])


def test_a_state_says_how_long(server):
    assert (state(server, 'pace/k')['admitted'], state(server, 'pace/k')['wait']) == (True, 0)
    decide(server.port)
    got = state(server, 'pace/k')
    assert got['admitted'] and 10e9 < got['wait_ns'] <= 20e9
    first, line = run(server, 'why', 'pace', 'k').splitlines()
    assert re.fullmatch(r'No policy denies this key now\. A request waits \d+ s for pace, then passes\.', first)
    assert re.match(r'pace, key k: a request waits \d+ s, then passes; 0 of 1 requests per 20s left, ', line)
    assert json.loads(run(server, 'why', '--json', 'pace', 'k'))['denied'] is False
    for _ in range(3):
        assert decide(server.port)['admitted']
    got = state(server, 'pace/k')
    assert not got['admitted'] and 60 < got['wait'] <= 80
    assert run(server, 'why', 'pace', 'k').startswith('Denied by pace for ')


def test_resp_says_how_long(server):
    with Client(server.ports['resp']) as client:
        client.send(encode('HG.DECIDE', 'pace', 'k') * 5)
        replies = [client.reply() for _ in range(5)]
    assert [reply[0] for reply in replies] == [1, 1, 1, 1, 0]
    assert replies[0][4] == 0
    assert [-(-reply[4] // 20_000) for reply in replies] == [0, 1, 2, 3, 4]


def test_a_reservation_may_wait_as_well(server):
    with Client(server.ports['resp']) as client:
        client.send(encode('HG.RESERVE', 'pace', 'k', 1) * 5)
        replies = [client.reply() for _ in range(5)]
    assert [reply[0] for reply in replies] == [1, 1, 1, 1, 0]
    assert [-(-reply[4] // 20_000) for reply in replies] == [0, 1, 2, 3, 4]


def test_auth_answers_when_the_request_may_pass(server):
    began = time.monotonic()
    connections = [Connection(server.port) for _ in range(4)]
    for connection in connections:
        connection.send(b'GET /auth HTTP/1.1\r\nHost: a\r\nX-Original-URI: /paced\r\n\r\n')
    with Connection(server.port) as other:
        assert other.request('/healthz').status == 200
    for connection in connections:
        response = connection.receive()
        assert response.status == 200
        assert response.one('RateLimit') in ('"auth";r=0;t=1', '"auth";r=0;t=2')  # from when it passes
        connection.close()
    assert time.monotonic() - began >= 3 * 0.3
    assert read_metrics(server.port)['headgate_delayed_total{policy="auth"}'] == 3


def test_a_stop_lets_those_pass_who_wait_for_a_policy_of_before(serve):
    pace = "version: 1\npolicies: [{name: pace, quota: 1, window: 3s, key: []%s}]\n"
    server = serve(pace % ', delay: 60s', arguments=('--request-timeout', '1'))
    with Connection(server.port) as first, Connection(server.port) as waiting:
        assert first.request('/auth').status == 200
        waiting.send(b'GET /auth HTTP/1.1\r\nHost: a\r\n\r\n')
        until(lambda: read_metrics(server.port)['headgate_delayed_total{policy="pace"}'] == 1, 'it waits')
        assert 'is in force now' in server.reload(pace % '')
        server.process.send_signal(signal.SIGTERM)
        assert waiting.receive().status == 200
    assert server.process.wait(PATIENCE) == 0


def test_who_leaves_while_it_waits_harms_nobody(server):
    for _ in range(3):
        with Connection(server.port) as connection:
            connection.send(b'GET /auth HTTP/1.1\r\nHost: a\r\nX-Original-URI: /paced\r\n\r\n')
    until(lambda: read_metrics(server.port)['headgate_delayed_total{policy="auth"}'] >= 2, 'two have waited')
    with Connection(server.port) as connection:
        assert connection.request('/auth', headers=[('X-Original-URI', '/paced')]).status == 200
