"""The gateway's logs: that of decisions and that of requests, in files and on standard output."""
import json
import os
import re
import select
import signal
import socket

import pytest

from support.environment import PATIENCE
from support.http_client import Connection
from support.processes import Lines, free_port, until

POLICIES = '''
version: 1
decisions: {{file: {file}, which: all, key: plain}}
policies: [{{name: narrow, quota: 2, window: 1h, key: "header:x-key"}}]
'''
DECISIONS = ['admitted', 'admitted', 'denied']


def ask(one, times=3):
    for _ in range(times):
        one.request(path='/a?secret=1', headers={'X-Key': 'k'})


def outcomes(lines):
    return sorted(json.loads(line)['outcome'] for line in lines)


@pytest.fixture
def journal():
    """A socket as standard output, as systemd gives one to services, and the lines that arrive there."""
    ours, theirs = socket.socketpair()
    lines = Lines(ours.makefile('r'))
    ours.close()
    yield theirs, lines
    theirs.close()


def test_decisions_go_to_the_file_beside_the_policies(gateway, directory):
    one = gateway(POLICIES.format(file='decisions.log'))
    ask(one)
    assert one.stop() == 0
    lines = (directory / 'decisions.log').read_text().splitlines()
    assert outcomes(lines) == DECISIONS
    for line in map(json.loads, lines):
        assert [line[name] for name in ('door', 'method', 'path', 'client')] == ['nginx', 'GET', '/a', '127.0.0.1']
        assert [(each['name'], each['key'], each['cost']) for each in line['policies']] == [('narrow', 'k', 1)]


def test_decisions_go_to_standard_output(gateway):
    one = gateway(POLICIES.format(file='"-"'))
    ask(one)
    assert outcomes(one.output.until('^{.*')[0] for _ in range(3)) == DECISIONS


def test_standard_output_may_be_a_socket(gateway, journal):
    theirs, lines = journal
    one = gateway(POLICIES.format(file='"-"'), '--access-log', '-', output=theirs)
    ask(one)
    for _ in range(3):
        lines.until('"GET /a.secret=1 HTTP/1.1" [0-9]+ ')
    one.send(signal.SIGUSR1)
    ask(one, 200)
    assert one.stop() == 0
    theirs.close()
    both = lines.rest()
    assert outcomes(line for line in both if line.startswith('{')) == DECISIONS[:2] + ['denied'] * 201
    assert len(both) == 2 * 203


def test_a_terminal_stays_that_of_its_user(gateway, directory):
    """nginx gives the logs that it opens again to the user of its workers."""
    ours, theirs = os.openpty()
    owner = os.fstat(theirs).st_uid
    one = gateway(POLICIES.format(file='decisions.log'), '--access-log', '-', output=theirs)
    log = directory / 'decisions.log'
    log.rename(f'{log}.1')
    one.send(signal.SIGUSR1)
    until(log.exists, 'the logs are open again')
    ask(one, 1)
    assert one.stop() == 0
    assert b'"GET /a?secret=1 HTTP/1.1" 200 ' in os.read(ours, 1000)
    assert os.fstat(theirs).st_uid == owner
    for each in (ours, theirs):
        os.close(each)


def test_a_reader_that_stalls_does_not_stop_the_end(gateway):
    """Standard output is a socket that is full and that nothing reads."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            while theirs.send(bytes(65536)):
                pass
        theirs.setblocking(True)
        one = gateway(POLICIES.format(file='"-"'), output=theirs)
        ask(one)
        assert one.stop() == 0


def test_a_reader_of_standard_error_that_stalls_stops_nothing(gateway, directory):
    """As a pager is, on whose screen nobody goes on."""
    errors = directory / 'errors'
    os.mkfifo(errors)
    reader = os.open(errors, os.O_RDONLY | os.O_NONBLOCK)
    one = gateway(url=f'http://127.0.0.1:{free_port()}', wait=False,
                  prefix=['sh', '-c', f'exec "$@" 2> {errors}', 'sh'])
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.poll(PATIENCE * 1000)
    one.port = int(re.match(rb'headgate: listening on http://127.0.0.1:(\d+) ', os.read(reader, 4096))[1])
    with Connection(one.port) as client:
        for _ in range(200):  # with a line of 2 KB about the upstream for each; a pipe has room for 64 KiB
            assert client.request('/' + 2000 * 'x').status == 502
    assert one.stop() == 0
    assert one.left_behind() == []
    os.close(reader)


def test_a_reader_that_is_gone_stalls_nothing(gateway):
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        one = gateway(POLICIES.format(file='"-"'), '--access-log', '-', output=theirs)
        ask(one, 1000)  # some 160 KB; a pipe has room for 64 KiB
        assert one.stop() == 0


def test_logs_are_rotated_without_a_reload(gateway, directory):
    log = directory / 'access.log'
    one = gateway(POLICIES.format(file='decisions.log'), '--access-log', log)
    files = (log, directory / 'decisions.log')
    for turn in range(2):
        ask(one, 20)
        for file in files:
            file.rename(f'{file}.{turn}')
        one.send(signal.SIGUSR1)
        until(lambda: all(file.exists() for file in files), 'the logs are open again')
        ask(one, 20)
    assert one.stop() == 0
    for name in ('access.log', 'decisions.log'):
        assert sum(file.read_text().count('\n') for file in directory.glob(name + '*')) == 80


@pytest.mark.parametrize('changed', [lambda policies: policies + 'unknown: 1\n',
                                     lambda policies: policies + 'store: {table: {file: /}}\n'],
                         ids=['by the gateway', 'by nginx'])
def test_a_refused_reload_opens_the_logs_again(gateway, directory, changed):
    log = directory / 'access.log'
    one = gateway(POLICIES.format(file='decisions.log'), '--access-log', log)
    log.rename(f'{log}.1')
    one.policy_file.write_text(changed(one.policy_file.read_text()))
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reload refused')
    until(log.exists, 'the log is open again')
    assert one.stop() == 0
