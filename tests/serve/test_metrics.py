"""/metrics, read by the library of Prometheus, and /v1/top."""
import json
import re
import socket
import struct

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support import spoe
from support.environment import PATIENCE
from support.frames import DATA, END_STREAM, RATE_LIMIT, Http2, frame, head_of_call, message, rate_limit_request
from support.http_client import request

# A name with every character that a label has to escape.
NAME = 'a "b" \\c {d="e"} 1'
POLICIES = f'''
version: 1
partition-key: plain
policies:
  - {{name: burst, quota: 3, window: 1h}}
  - {{name: '{NAME}', quota: 1, window: 1h}}
  - {{name: trial, quota: 1, window: 1h, mode: shadow}}
'''
DOORS = {'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'}


def decide(server, policy, key='a', times=1, op='spend'):
    for _ in range(times):
        body = json.dumps({'checks': [{'policy': policy, 'key': key}], 'op': op})
        assert request(server.port, '/v1/decide', 'POST', body).status == 200


def redis(server, *commands):
    """Sends inline commands to the RESP door. Returns all replies."""
    with socket.create_connection(('127.0.0.1', server.ports['resp']), PATIENCE) as connection:
        connection.sendall(b''.join(command.encode() + b'\r\n' for command in commands) + b'QUIT\r\n')
        with connection.makefile('rb') as replies:
            return replies.read()


def metrics(server):
    """All samples: {(name, frozenset of labels): value}. None may occur twice."""
    response = request(server.port, '/metrics')
    assert response.status == 200
    assert response.getheader('Content-Type') == 'text/plain; version=0.0.4; charset=utf-8'
    samples = {}
    for family in text_string_to_metric_families(response.text):
        assert family.documentation, family.name
        assert family.type in ('counter', 'gauge', 'histogram'), family.name
        for sample in family.samples:
            place = (sample.name, frozenset(sample.labels.items()))
            assert place not in samples, place
            samples[place] = sample.value
    return samples


def value(samples, name, **labels):
    return samples[name, frozenset(labels.items())]


def decisions(samples, policy):
    return [value(samples, 'headgate_decisions_total', policy=policy, outcome=outcome)
            for outcome in ('admitted', 'denied', 'shadow-denied')]


def test_every_line_is_well_formed(serve):
    server = serve(POLICIES, doors=DOORS)
    text = request(server.port, '/metrics').text
    assert text.endswith('\n')
    label = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
    sample = re.compile(rf'[a-z_]+(?:\{{{label}(?:,{label})*\}})? (?:[0-9]+(?:\.[0-9]+)?)')
    announced = None
    for line in text.splitlines():
        if line.startswith('# '):
            words = line.split(' ', 3)
            assert words[1] in ('HELP', 'TYPE') and words[3]
            announced = words[2]
            continue
        assert sample.fullmatch(line), line
        assert re.match(r'[a-z_]+', line)[0] in (
            announced, announced + '_bucket', announced + '_sum', announced + '_count'), line


def test_decisions_are_counted_by_policy_and_outcome(serve):
    server = serve(POLICIES, doors=DOORS)
    decide(server, 'burst', times=5)
    decide(server, NAME, times=2)
    decide(server, 'trial', times=4)
    decide(server, 'burst', op='peek')
    samples = metrics(server)
    assert decisions(samples, 'burst') == [3, 2, 0]
    assert decisions(samples, NAME) == [1, 1, 0]
    assert decisions(samples, 'trial') == [1, 0, 3]

    # A policy that has the same name after a reload keeps its counts.
    server.reload(POLICIES.replace('trial', 'other'))
    decide(server, 'burst')
    samples = metrics(server)
    assert decisions(samples, 'burst') == [3, 3, 0]
    assert decisions(samples, 'other') == [0, 0, 0]
    assert value(samples, 'headgate_reloads_total') == 1
    assert value(samples, 'headgate_refused_reloads_total') == 0
    server.reload('version: 2')
    assert value(metrics(server), 'headgate_refused_reloads_total') == 1


@pytest.mark.parametrize('ask', [
    lambda server, key: request(server.port, '/auth', headers={'X-Forwarded-Uri': '/', 'X-Key': key}),
    lambda server, key: request(server.port, '/v1/decide', 'POST',
                                json.dumps({'checks': [{'policy': 'burst', 'key': key}]})),
    lambda server, key: request(server.port, '/json', 'POST', json.dumps({'domain': 'headgate', 'descriptors': [
        {'entries': [{'key': 'policy', 'value': 'burst'}, {'key': 'key', 'value': key}]}]}))])
def test_fields_that_do_not_fit_are_counted(serve, ask):
    server = serve("""
version: 1
partition-key: plain
policies: [{name: burst, quota: 1000, window: 1h, key: header:x-key}]
""")
    for size, left_out in (5000, 0), (7000, 2):
        response = ask(server, 'k' * size)
        assert response.status == 200
        assert ('RateLimit-Policy' in response.text + str(response.headers)) == (left_out == 0)
        assert value(metrics(server), 'headgate_fields_left_out_total') == left_out


def test_requests_that_cannot_be_read_are_counted(serve):
    server = serve(POLICIES, doors=DOORS | {'grpc': '127.0.0.1:0', 'spoe': '127.0.0.1:0'})

    def unreadable():
        samples = metrics(server)
        return {door: value(samples, 'headgate_unreadable_requests_total', door=door)
                for door in ('http', 'resp', 'grpc', 'spoe')}

    assert request(server.port, '/auth', headers={'X-Long': 'x' * 17_000}).status == 431
    assert request(server.port, '/auth', headers={'X-Forwarded-Uri': '/a', 'X-Original-URI': '/b'}).status == 400
    assert request(server.port, '/v1/decide', 'POST', '{"checks":').status == 400
    assert request(server.port, '/json', 'POST', '{"domain":').status == 400
    decide(server, 'burst', times=4)
    assert request(server.port, '/v1/decide', 'POST', '{"checks": [{"policy": "none"}]}').status == 404
    assert unreadable() == {'http': 4, 'resp': 0, 'grpc': 0, 'spoe': 0}

    assert b'unknown' in redis(server, 'HELO', 'PING') and unreadable()['resp'] == 0, 'it could be read'
    with socket.create_connection(('127.0.0.1', server.ports['resp']), PATIENCE) as connection:
        connection.sendall(b'*x\r\n')
        assert connection.recv(100).startswith(b'-ERR Protocol error')
    with Http2(server.addresses['grpc']) as client:
        for payload in struct.pack('>BI', 0, 65537), message(b'\xff\xff'), b'':
            stream = client.open(head_of_call(RATE_LIMIT))
            client.send(frame(DATA, END_STREAM, stream, payload))
            client.finish(stream)
        client.call(RATE_LIMIT, rate_limit_request('headgate', 'policy=none,key=x'))
    with spoe.Engine(server.ports['spoe']) as engine:
        engine.send(spoe.frame(spoe.NOTIFY, b'a', 1, 1))
        assert engine.receive().kind == spoe.AGENT_DISCONNECT
    assert unreadable() == {'http': 4, 'resp': 1, 'grpc': 3, 'spoe': 1}


def test_requests_are_counted_once_however_many_policies_decide(serve):
    names = [f'p{n}' for n in range(5)]
    six = [f'  - {{name: {name}, quota: 100, window: 1h}}' for name in names]
    server = serve('\n'.join(['version: 1', 'policies:', *six, '  - {name: least, quota: 5, window: 1h}']))
    body = json.dumps({'checks': [{'policy': name, 'key': 'a'} for name in [*names, 'least']]})
    for _ in range(10):
        assert request(server.port, '/v1/decide', 'POST', body).status == 200
    decide(server, 'p0', op='peek')
    decide(server, 'p0', op='refund')
    samples = metrics(server)
    assert [value(samples, 'headgate_requests_total', outcome=outcome)
            for outcome in ('admitted', 'denied', 'shadow-denied')] == [5, 5, 0]
    seen = top(server)
    assert seen['denied_per_second'] == pytest.approx(seen['requests_per_second'] / 2, abs=0.002)
    server.reload('version: 1\npolicies: [{name: other, quota: 1, window: 1h}]\n')
    decide(server, 'other')
    assert value(metrics(server), 'headgate_requests_total', outcome='admitted') == 6


def test_the_process_and_its_quotas(serve, headgate):
    server = serve('''
version: 1
policies:
  - {name: burst, quota: 5, window: 90s, overrides: [{ids: [10.0.0.2], quota: 7}]}
  - {name: short, quota: 7, window: 250ms, unit: tokens}
  - {name: slots, algorithm: concurrency, quota: 3, unit: concurrent-requests}
''')
    before = metrics(server)
    version, = (dict(labels)['version'] for name, labels in before if name == 'headgate_build_info')
    assert f'headgate {version}' in headgate('--version').stdout
    start = value(before, 'headgate_start_time_seconds')
    assert value(before, 'headgate_last_reload_timestamp_seconds') == start
    assert {(dict(labels)['policy'], dict(labels)['unit']): quota for (name, labels), quota in before.items()
            if name == 'headgate_policy_quota'} == {
        ('burst', 'requests'): 5, ('short', 'tokens'): 7, ('slots', 'concurrent-requests'): 3}
    assert {dict(labels)['policy']: window for (name, labels), window in before.items()
            if name == 'headgate_policy_window_seconds'} == {'burst': 90, 'short': 0.25}
    server.reload(POLICIES)
    after = metrics(server)
    assert value(after, 'headgate_start_time_seconds') == start
    assert value(after, 'headgate_last_reload_timestamp_seconds') >= start


def test_histograms_are_cumulative_and_by_door(serve):
    server = serve(POLICIES, doors=DOORS)
    decide(server, 'burst', times=7)
    redis(server, 'HG.DECIDE burst a', 'CL.THROTTLE user 0 1 3600', 'CL.THROTTLE user 0 1 3600')
    samples = metrics(server)
    for door, count in (('http', 7), ('resp', 3), ('grpc', 0), ('spoe', 0)):
        buckets = sorted((float(dict(labels)['le']), number) for (name, labels), number
                         in samples.items() if name == 'headgate_decision_duration_seconds_bucket'
                         and dict(labels)['door'] == door)
        numbers = [number for _, number in buckets]
        assert len(buckets) == 26 and buckets[-1][0] == float('inf')
        assert numbers == sorted(numbers) and numbers[-1] == count
        assert value(samples, 'headgate_decision_duration_seconds_count', door=door) == count
        total = value(samples, 'headgate_decision_duration_seconds_sum', door=door)
        assert (total > 0) == (count > 0) and total < PATIENCE
    assert value(samples, 'headgate_throttle_decisions_total', outcome='admitted') == 1
    assert value(samples, 'headgate_throttle_decisions_total', outcome='denied') == 1


def test_connections_are_counted(serve):
    server = serve(POLICIES, doors=DOORS)
    redis(server, 'PING')
    samples = metrics(server)
    assert value(samples, 'headgate_accepted_connections_total', door='resp') == 1
    assert value(samples, 'headgate_open_connections', door='http') >= 1
    assert value(samples, 'headgate_refused_connections_total', door='http') == 0


def test_the_table_is_measured(serve):
    server = serve(POLICIES, doors=DOORS)
    for key in 'abcde':
        decide(server, 'burst', key)
    samples = metrics(server)
    assert value(samples, 'headgate_table_memory_bytes') == 64 << 20
    assert value(samples, 'headgate_table_cells') > 1_000_000
    # A sample of a large table, which may miss all five.
    assert 0 <= value(samples, 'headgate_table_live_cells') < 10_000
    for name in ('unkept', 'merged'):
        assert value(samples, f'headgate_table_{name}_total') == 0


def test_keys_are_no_labels(serve):
    server = serve(POLICIES, doors=DOORS)
    before = len(metrics(server))
    for i in range(50):
        decide(server, 'burst', f'key-{i}')
    assert len(metrics(server)) == before
    assert 'key-' not in request(server.port, '/metrics').text


def top(server, query=''):
    response = request(server.port, '/v1/top' + query)
    assert (response.status, response.getheader('Content-Type')) == (200, 'application/json')
    return json.loads(response.text)


def test_top_lists_busy_and_denied_keys(serve):
    server = serve(POLICIES, doors=DOORS)
    assert top(server) == {'keys': 'plain', 'requests_per_second': 0, 'denied_per_second': 0,
                           'shadow_denied_per_second': 0, 'busiest': [], 'most_denied': []}
    decide(server, 'burst', '10.0.0.2', times=8)
    decide(server, 'trial', 'x"\\\x1b<é>', times=3)
    redis(server, 'HG.DECIDE burst 10.0.0.2')
    seen = top(server)
    busiest = [(row['policy'], row['key']) for row in seen['busiest']]
    assert busiest == [('burst', '10.0.0.2'), ('trial', 'x"\\\\\\x1b<\\xc3\\xa9>')]
    assert [(row['policy'], row['key']) for row in seen['most_denied']] == busiest
    first, second = seen['most_denied']
    assert first['per_second'] == first['at_most_per_second'] > second['per_second'] > 0
    assert (first['shadow_per_second'], second['shadow_per_second']) == (0, second['per_second'])
    # Three of nine were charged.
    busy = seen['busiest'][0]
    assert busy['units_per_second'] == pytest.approx(busy['per_second'] / 3, abs=0.01)
    assert len(top(server, '?n=1')['busiest']) == 1


def test_top_hides_keys_unless_the_policy_file_shows_them(serve):
    server = serve(POLICIES.replace('plain', 'omit'), doors=DOORS)
    decide(server, 'burst', '10.0.0.2', times=8)
    seen = top(server)
    assert seen['keys'] == 'opaque'
    assert '10.0.0.2' not in json.dumps(seen)
    assert re.fullmatch(r':[A-Za-z0-9+/]{22}==:', seen['busiest'][0]['key'])
    assert seen['busiest'][0]['key'] == seen['most_denied'][0]['key']


@pytest.mark.parametrize('query', ['n=0', 'n=101', 'n=', 'n=-1', 'n=1x', 'm=1', 'n=1&n=2'])
def test_top_refuses_other_lengths(serve, query):
    server = serve(POLICIES)
    response = request(server.port, f'/v1/top?{query}')
    assert (response.status, response.getheader('Content-Type')) == (400, 'application/problem+json')
    assert json.loads(response.text)['detail'] == 'expected the query n=N, with N from 1 to 100'
