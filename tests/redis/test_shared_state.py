"""One partition that machines share: any server and nginx show it, and give its quota back."""
import json
import os
import signal

import pytest

from support.admin import ADMIN, ask, state
from support.http_client import Connection, request

POLICIES = '''
version: 1
store: {{redis: {{nodes: ["{node}"], timeout: {timeout}}}}}
policies:
  - {{name: burst, quota: 3, window: 1h}}
  - {{name: window, quota: 3, window: 1h, algorithm: fixed-window}}
  - {{name: moving, quota: 3, window: 1h, algorithm: moving-window}}
  - {{name: smooth, quota: 5, window: 1h, algorithm: exponential}}
'''


@pytest.fixture
def door(nginx, admin_token):
    """Starts an nginx with the pages of one client beneath /headgate/."""
    def start(policies):
        server = nginx(policies, gate='headgate_config headgate.yaml; headgate on;', server=f'''
            location /headgate/ {{ headgate off; headgate_dashboard; headgate_admin_token_file {admin_token}; }}
            location / {{ return 200; }}''')
        server.base = '/headgate'
        return server
    return start


def left(server, policy, method='GET'):
    seen = state(server, f'{policy}/10.0.0.2', method, ADMIN)
    assert seen['outage'] is False
    return seen['r']


def spend(server, policy):
    body = json.dumps({'checks': [{'policy': policy, 'key': '10.0.0.2'}]})
    return json.loads(request(server.port, '/v1/decide', 'POST', body).text)['admitted']


def test_a_reset_at_one_counts_for_all(serve, door, redis, admin_token):
    policies = POLICIES.format(node=redis().node, timeout='5s')
    one, other = (serve(policies, arguments=('--admin-token-file', admin_token)) for _ in range(2))
    web = door(policies)
    for policy in ('burst', 'window', 'moving'):
        for _ in range(2):
            assert [spend(one, policy) for _ in range(4)] == [True, True, True, False]
            assert [left(each, policy) for each in (other, web)] == [0, 0]
            assert left(one, policy, 'DELETE') == 3
            assert [left(each, policy) for each in (other, web)] == [3, 3]
        assert spend(one, policy)
        assert left(web, policy, 'DELETE') == 3
        assert [left(each, policy) for each in (one, other)] == [3, 3]


def test_all_say_the_same_of_when_the_quota_is_full(serve, door, redis):
    policies = POLICIES.format(node=redis().node, timeout='5s')
    server = serve(policies)
    assert [spend(server, 'smooth') for _ in range(6)] == [True] * 5 + [False]
    for each in (server, door(policies)):
        # After an hour five units would pass at once, but only three requests.
        assert 7200 < state(each, 'smooth/10.0.0.2')['full'] < 8000


def test_a_worker_does_not_wait_for_redis(door, redis):
    server = redis()
    web = door(POLICIES.format(node=server.node, timeout='5s'))
    assert left(web, 'burst') == 3
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        with Connection(web.port) as waiting, Connection(web.port) as leaving:
            for connection in (waiting, leaving):
                connection.send(b'GET /headgate/v1/state/burst/10.0.0.2 HTTP/1.1\r\nHost: localhost\r\n\r\n')
            assert ask(web, '/healthz').status == 200, 'the only worker serves others'
            leaving.close()
            os.kill(server.process.pid, signal.SIGCONT)
            assert json.loads(waiting.receive().body)['r'] == 3
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


def test_without_redis_nothing_is_given_back(door, redis):
    server = redis()
    web = door(POLICIES.format(node=server.node, timeout='1s'))
    server.stop()
    refused = state(web, 'burst/10.0.0.2', 'DELETE', ADMIN, 503)
    assert refused['detail'] == 'Redis is away, so that nothing could be given back'
    seen = state(web, 'burst/10.0.0.2')
    assert (seen['outage'], seen['full'], seen['full_ns']) == (True, None, None)
