"""The decision log: a line from each door of the server, through rotation, full disks and slow readers."""
import json
import os
import re
import signal

import pytest

from support.frames import RATE_LIMIT, Http2, rate_limit_request
from support.http_client import Connection, read_metrics, request
from support.processes import until
from support.resp import Client, encode
from support.spoe import Engine
from support.spoe import request as spoe_request

POLICIES = '''
version: 1
decisions: {{file: {file}{more}}}
policies:
  - {{name: burst, quota: 1, window: 1h, key: ["header:x-key"]}}
  - {{name: trial, quota: 1, window: 1h, key: ["header:x-key"], mode: shadow}}
'''
DOORS = {door: '127.0.0.1:0' for door in ('http', 'resp', 'grpc', 'spoe')}


@pytest.fixture
def logging(serve, tmp_path):
    """logging(more) starts a server whose log is tmp_path/'log'."""
    def start(more='', file=None, doors=None):
        return serve(POLICIES.format(file=file or tmp_path / 'log', more=more), doors=doors)
    return start


def lines(file, count):
    """So many lines of the log, once it has them, and no more."""
    until(lambda: file.exists() and file.read_bytes().count(b'\n') >= count, f'{file} has {count} lines')
    found = file.read_text().splitlines()
    assert len(found) == count, found
    return found


def decide(server, key='a', policy='burst', times=1):
    with Connection(server.port) as connection:
        for _ in range(times):
            body = json.dumps({'checks': [{'policy': policy, 'key': key}]}).encode()
            assert connection.request('/v1/decide', 'POST', body=body).status == 200


def auth(server, key, path='/v1/a'):
    return request(server.port, '/auth', headers={
        'X-Key': key, 'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Method': 'PUT', 'X-Forwarded-Uri': path + '?secret=1',
        'X-Forwarded-Host': 'api.example', 'X-Forwarded-Proto': 'https'}).status


def test_each_door_writes_its_line(logging, tmp_path):
    server = logging(', key: plain', doors=DOORS)
    for _ in range(2):
        auth(server, 'of http')
    decide(server, 'of decide', times=2)
    with Client(server.ports['resp']) as redis:
        for words in (('HG.DECIDE', 'burst', 'of resp'), ('CL.THROTTLE', 'of throttle', 0, 1, 3600)) * 2:
            redis.send(encode(*words))
            redis.reply()
        redis.send(encode('HG.PEEK', 'burst', 'of resp'))  # spends nothing
        redis.reply()
    with Http2(server.addresses['grpc']) as grpc:
        for _ in range(2):
            grpc.call(RATE_LIMIT, rate_limit_request('headgate', 'policy=burst,key=of grpc'))
    with Engine(server.ports['spoe']) as engine:
        for _ in range(2):
            engine.ask(spoe_request('/v1/s', src='192.0.2.8', lines=(('host', 'spoe.example'), ('x-key', 'of spoe'))))

    found = {(line['door'], line['policies'][0]['key']): line
             for line in map(json.loads, lines(tmp_path / 'log', 6))}
    assert set(found) == {('http', 'of http'), ('http', 'of decide'), ('resp', 'of resp'), ('resp', 'of throttle'),
                          ('grpc', 'of grpc'), ('spoe', 'of spoe')}
    for line in found.values():
        assert re.fullmatch(r'20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', line['time'])
        assert (line['outcome'], line['remaining']) == ('denied', 0) and 3590 <= line['wait'] <= 3600
        assert line['policies'][0]['cost'] == 1 and line['policies'][0]['decision'] == 'denied'
    http = found['http', 'of http']
    assert [http[name] for name in ('method', 'host', 'path', 'client')] == ['PUT', 'api.example', '/v1/a', '192.0.2.7']
    assert [(one['name'], one['decision']) for one in http['policies']] == [('burst', 'denied'), ('trial', 'shadow-denied')]
    spoe = found['spoe', 'of spoe']
    assert [spoe[name] for name in ('method', 'host', 'path', 'client')] == ['GET', 'spoe.example', '/v1/s', '192.0.2.8']
    assert found['resp', 'of throttle']['policies'][0]['name'] == 'throttle'
    assert 'path' not in found['http', 'of decide']


def test_keys_are_hidden_by_default(logging, tmp_path):
    server = logging()
    for _ in range(2):
        auth(server, 'sk-secret')
    [line] = lines(tmp_path / 'log', 1)
    assert 'sk-secret' not in line and '192.0.2.7' not in line and 'secret=1' not in line
    top = json.loads(request(server.port, '/v1/top').text)
    assert json.loads(line)['policies'][0]['key'] in {row['key'] for row in top['busiest']}


def test_all_of_them_can_be_replayed(logging, headgate, tmp_path):
    server = logging(', which: all, key: plain')
    for number in range(5):
        auth(server, 'a', f'/v1/{number}')
    assert [json.loads(line)['outcome'] for line in lines(tmp_path / 'log', 5)] == ['admitted'] + ['denied'] * 4
    (tmp_path / 'new.yaml').write_text('version: 1\npolicies: [{name: new, quota: 3, window: 1h, match: [{path: "/v1/*"}]}]\n')
    done = headgate('simulate', '--config', 'new.yaml', '--format', 'json', '--json', 'log')
    assert done.returncode == 0, done.stderr
    replayed = json.loads(done.stdout)
    assert (replayed['requests'], replayed['skipped'], replayed['admitted']) == (5, 0, 3)


def test_a_sample_of_text(logging, tmp_path):
    server = logging(', which: all, sample: 10%, format: text, key: omit')
    decide(server, times=1000)
    # 100 with a deviation of 9.5.
    log = tmp_path / 'log'
    until(lambda: log.exists() and log.read_text().count('\n') > 40, 'there are lines')
    server.stop()
    found = log.read_text().splitlines()
    assert 40 < len(found) < 160
    assert all(re.fullmatch(r'\S+Z door=http outcome=\S+ remaining=\d+ wait=\S+ policy=burst cost=1 decision=\S+', line)
               for line in found), found[0]


@pytest.mark.parametrize('number', [signal.SIGUSR1, signal.SIGHUP])
def test_rotation_loses_no_line(logging, tmp_path, number):
    server = logging(', which: all')
    total = 0
    for turn in range(4):
        decide(server, times=50)
        total += 50
        until((tmp_path / 'log').exists, 'the log is open')
        (tmp_path / 'log').rename(tmp_path / f'log.{turn}')
        server.process.send_signal(number)
        decide(server, times=50)
        total += 50
    server.stop()
    assert sum(file.read_text().count('\n') for file in tmp_path.glob('log*')) == total


def test_a_reload_may_begin_and_end_it(logging, serve, tmp_path):
    server = logging()
    decide(server, times=2)
    lines(tmp_path / 'log', 1)
    server.reload('version: 1\npolicies: [{name: burst, quota: 0, window: 1h, key: []}]\n')
    decide(server, '')
    server.reload(POLICIES.format(file=tmp_path / 'other', more=''))
    decide(server, times=2)
    assert len(lines(tmp_path / 'other', 2)) == 2  # the first spent the quota before
    lines(tmp_path / 'log', 1)


@pytest.mark.parametrize('kind', ['fifo', 'disk', 'folder'])
def test_decisions_do_not_wait_for_the_log(logging, tmp_path, kind):
    file = {'fifo': tmp_path / 'log', 'disk': '/dev/full', 'folder': tmp_path / 'no/log'}[kind]
    if kind == 'fifo':
        os.mkfifo(file)
        reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)  # and never reads
    server = logging(', which: all', file)
    decide(server)
    trouble = 'decision log .* cannot be'
    if kind != 'fifo' and not any(re.search(trouble, line) for line in server.seen):  # before it serves, or after
        server.until(trouble)
    # More than a pipe and the queue take: 400 bytes each.
    with Connection(server.port) as connection:
        body = json.dumps({'checks': [{'policy': 'burst', 'key': 'a'}]}).encode()
        one = (b'POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' % (len(body), body))
        for _ in range(300):
            connection.send(one * 100)
            for _ in range(100):
                assert connection.receive('POST').status == 200
    until(lambda: read_metrics(server.port)['headgate_decision_log_dropped_total'] > 0, 'lines are dropped')
    if kind == 'fifo':
        os.close(reader)


def test_each_wrong_file_is_named_and_what_was_lost_at_the_end_is_said(logging, tmp_path):
    server = logging(', which: all', tmp_path / 'no/one')
    if not any('no/one cannot be opened' in line for line in server.seen):  # before it serves, or after
        server.until('no/one cannot be opened')
    decide(server, times=3)
    server.policy_file.write_text(POLICIES.format(file=tmp_path / 'no/two', more=', which: all'))
    server.process.send_signal(signal.SIGHUP)
    server.until('no/two cannot be opened')
    decide(server, times=2)
    server.stop()
    server.until(r'\b5 lines of the decision log .*no/two were not written')


def test_check_describes_it(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text(POLICIES.format(file='d.log', more=', sample: 5%, which: all'))
    assert f'decisions: 5% of all, as JSON, keys opaque, to {tmp_path}/d.log\n' in headgate('check', tmp_path / 'p.yaml').stdout
