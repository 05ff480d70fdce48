"""The decision log of nginx: one of nginx's own files."""
import json
import os
import re
import resource
import signal

import pytest

from support.http_client import Connection
from support.nginx import NGINX, Nginx
from support.processes import until

POLICIES = '''
version: 1
decisions: {{file: {file}{more}}}
policies:
  - {{name: burst, quota: 1, window: 1h, key: ["header:x-key"]}}
'''
METRICS = 'location = /metrics { headgate off; headgate_metrics; }'


def logging(nginx, tmp_path, more='', **options):
    return nginx(POLICIES.format(file=tmp_path / 'log', more=more), server=METRICS, **options)


def lines(file, count):
    until(lambda: file.exists() and file.read_bytes().count(b'\n') >= count, f'{file} has {count} lines')
    found = file.read_text().splitlines()
    assert len(found) == count
    return found


def ask(server, times=1, key='a', path='/v1/a?secret=1'):
    while times > 0:  # nginx closes a connection after 1000 requests
        with Connection(server.port) as connection:
            for _ in range(min(times, 900)):
                assert connection.request(path, 'GET', [('X-Key', key)], host='api.example').status in (404, 429)
        times -= 900


def test_a_line_per_denial(nginx, tmp_path):
    server = logging(nginx, tmp_path)
    ask(server, 3)
    for line in lines(tmp_path / 'log', 2):
        denied = json.loads(line)
        assert re.fullmatch(r'20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', denied['time'])
        assert [denied[name] for name in ('door', 'outcome', 'method', 'host', 'path')] == [
            'nginx', 'denied', 'GET', 'api.example', '/v1/a']
        [policy] = denied['policies']
        assert (policy['name'], policy['cost'], policy['decision']) == ('burst', 1, 'denied')
        assert re.fullmatch(r':[\w+/]{22}==:', policy['key'])
        assert 'secret' not in line and '127.0.0.1' not in line


def test_all_of_them_as_text_with_odd_bytes(nginx, tmp_path):
    server = logging(nginx, tmp_path, ', which: all, format: text, key: plain')
    ask(server, key='\xe9"=\\ ', path='/%0a"')
    [line] = lines(tmp_path / 'log', 1)
    assert line.endswith(r' method=GET host=api.example path="/%0a\"" client=127.0.0.1 policy=burst '
                         r'key="\xe9\"=\\" cost=1 decision=admitted')


def test_a_dry_run_is_shadow_denied(nginx, tmp_path):
    server = nginx(POLICIES.format(file=tmp_path / 'log', more=''), server='headgate_dry_run on;')
    ask(server, 2)
    assert json.loads(lines(tmp_path / 'log', 1)[0])['outcome'] == 'shadow-denied'


def reopens(server):
    server.process.send_signal(signal.SIGUSR1)


def test_rotation_loses_no_line(nginx, tmp_path):
    server = logging(nginx, tmp_path, ', which: all', workers=2)
    total = 0
    for turn, reopen in enumerate((reopens, reopens, Nginx.reload)):
        ask(server, 100)
        (tmp_path / 'log').rename(tmp_path / f'log.{turn}')
        reopen(server)
        ask(server, 100)
        total += 200
        until((tmp_path / 'log').exists, 'the log is open again')
    ask(server, 100)  # in the buffer when nginx stops
    server.stop()
    assert sum(file.read_text().count('\n') for file in tmp_path.glob('log*')) == total + 100


def test_a_pipe_that_is_not_read_stalls_nothing(nginx, tmp_path):
    os.mkfifo(tmp_path / 'log')
    reader = os.open(tmp_path / 'log', os.O_RDONLY | os.O_NONBLOCK)
    server = logging(nginx, tmp_path, ', which: all')
    ask(server, 1500)  # 300 KB: the pipe has room for 64 KiB
    until(lambda: server.metrics()['headgate_decision_log_dropped_total'] > 0, 'lines are dropped')
    got = os.read(reader, 1 << 20)
    assert got.endswith(b'\n') and all(json.loads(line) for line in got.splitlines())
    os.close(reader)


def test_a_pipe_without_a_reader_stops_nothing(nginx, tmp_path):
    log = tmp_path / 'log'
    os.mkfifo(log)
    server = logging(nginx, tmp_path, ', which: all')
    log.rename(tmp_path / 'log.1')
    os.mkfifo(log)
    reopens(server)  # of another pipe at the same path
    server.reload()
    ask(server, 1500)  # 300 KB: the pipe has room for 64 KiB
    until(lambda: server.metrics()['headgate_decision_log_dropped_total'] > 0, 'lines are dropped')
    with open(log, 'rb') as reader:  # one that comes later
        assert json.loads(reader.readline())['outcome'] == 'admitted'
    reopens(server)
    server.reload()


@pytest.fixture
def full_disk(nginx, tmp_path):
    """A server whose worker can't make files longer: like a full disk, also in that the last write takes as
    much as there is room for. The log has the lines of keys 1 to 3 and half of that of 4; 5 is dropped.
    Returns the server and a function that makes room again."""
    wrapper = tmp_path / 'nginx'
    wrapper.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec {NGINX} \"$@\"\n")
    wrapper.chmod(0o755)
    server = logging(nginx, tmp_path, ', which: all, key: plain', program=str(wrapper))
    log = tmp_path / 'log'
    for key in '123':
        ask(server, key=key)
    lines(log, 3)
    before = log.stat().st_size
    [worker] = server.children()
    _, hard = resource.prlimit(worker, resource.RLIMIT_FSIZE)
    resource.prlimit(worker, resource.RLIMIT_FSIZE, (before + before // 6, hard))
    ask(server, key='4')
    until(lambda: log.stat().st_size == before + before // 6, 'half a line is written')
    ask(server, key='5')
    until(lambda: dropped(server) == 1, 'a line is dropped')
    return server, lambda: resource.prlimit(worker, resource.RLIMIT_FSIZE, (hard, hard))


def dropped(server):
    return server.metrics()['headgate_decision_log_dropped_total']


def keys(file, count):
    return [json.loads(line)['policies'][0]['key'] for line in lines(file, count)]


def test_a_line_that_is_begun_goes_on_when_the_disk_has_room(full_disk, tmp_path):
    server, make_room = full_disk
    reopens(server)
    make_room()
    assert keys(tmp_path / 'log', 4) == ['1', '2', '3', '4']
    ask(server, key='6')
    assert keys(tmp_path / 'log', 5) == ['1', '2', '3', '4', '6']
    assert dropped(server) == 1


def test_a_line_that_is_begun_is_whole_in_the_next_file(full_disk, tmp_path):
    server, _ = full_disk
    (tmp_path / 'log').rename(tmp_path / 'log.1')
    reopens(server)
    assert keys(tmp_path / 'log', 1) == ['4']
    assert dropped(server) == 1


def test_a_line_that_is_begun_is_whole_in_a_file_that_is_emptied(full_disk, tmp_path):
    server, _ = full_disk
    os.truncate(tmp_path / 'log', 0)
    assert keys(tmp_path / 'log', 1) == ['4']
    assert dropped(server) == 1


def test_a_folder_that_is_missing_is_refused(nginx, tmp_path):
    server = nginx(POLICIES.format(file=tmp_path / 'no/log', more=''), run=False)
    accepted, said = server.test()
    assert not accepted and 'no/log' in said
