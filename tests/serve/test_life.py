"""The decision server when it is disturbed: signals before it serves, and a log that nobody reads."""
import contextlib
import fcntl
import os
import re
import resource
import signal
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE
from support.http_client import Connection, read_metrics, request
from support.processes import Lines, few_threads, stop, until

IN_FILE = 'version: 1\nstore: {table: {memory: 128KiB, file: table}}\npolicies: [{name: burst, quota: 3, window: 1h}]\n'


@pytest.fixture
def start(tmp_path):
    """start(policies) starts a server without waiting for it."""
    with contextlib.ExitStack() as running:
        def start(policies):
            (tmp_path / 'policies.yaml').write_text(policies)
            one = subprocess.Popen([HEADGATE, 'serve', '--config', tmp_path / 'policies.yaml', '--http', '127.0.0.1:0'],
                                   stderr=subprocess.PIPE)
            running.callback(stop, one, signal.SIGKILL)
            return one
        yield start


def opened(process, path):
    """Whether the process has opened this file."""
    with contextlib.suppress(FileNotFoundError):
        return str(path) in {os.readlink(one) for one in os.scandir(f'/proc/{process.pid}/fd')}
    return False


def test_signals_for_a_reload_may_come_before_it_serves(start, tmp_path):
    """As from a program that watches the policy file, or rotates logs."""
    draft = tmp_path / 'table.headgate-draft'
    with open(draft, 'w') as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as another process does that makes the table
        server = start(IN_FILE)
        until(lambda: opened(server, draft), 'it waits for the table')
        server.send_signal(signal.SIGUSR1)
        server.send_signal(signal.SIGHUP)
        draft.unlink()
    log = Lines(open(server.stderr.fileno(), closefd=False))
    log.until(r'serving 1 policy')
    log.until(r'policies\.yaml is in force now')
    assert stop(server) == 0


def test_a_log_that_nobody_reads_stops_nothing(start, tmp_path):
    """As of a pager on whose screen nobody goes on."""
    server = start(IN_FILE)
    port = int(re.search(rb'http on 127\.0\.0\.1:(\d+)\n', server.stderr.readline() + server.stderr.readline())[1])
    policies = tmp_path / 'policies.yaml'
    policies.write_text('version: 1\npolicies:\n' + 2000 * '  - {nmae: x}\n')  # a pipe has room for 64 KiB of faults
    server.send_signal(signal.SIGHUP)
    until(lambda: read_metrics(port)['headgate_refused_reloads_total'] == 1, 'that is refused')
    policies.write_text(IN_FILE)
    server.send_signal(signal.SIGHUP)
    until(lambda: read_metrics(port)['headgate_reloads_total'] == 1, 'it goes on')
    assert stop(server) == 0


def test_more_threads_than_there_may_be(tmp_path):
    (tmp_path / 'policies.yaml').write_text(IN_FILE)
    for threads in 3, 9:
        done = subprocess.run([*few_threads(3), HEADGATE, 'serve', '--config', tmp_path / 'policies.yaml', '--http',
                               '127.0.0.1:0', '--threads', str(threads)],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            f"headgate: can't start {threads} threads: Resource temporarily unavailable; lower --threads, or raise the "
            'limit of processes')


def test_clients_that_cannot_be_accepted_wait_and_the_log_says_why(serve):
    server = serve(IN_FILE)
    with Connection(server.port) as known:
        assert known.request('/healthz').status == 200
        soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (3, hard))  # there are more than these already
        with Connection(server.port) as newcomer:
            newcomer.send(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
            server.until('error connections cannot be accepted: Too many open files')
            metrics = known.request('/metrics').body.decode()
            assert int(re.search(r'^headgate_accept_failures_total{door="http"} (\d+)$', metrics, re.M)[1]) > 0
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
            assert newcomer.receive().status == 200
    server.until('info  no connection fails to be accepted any more')


def test_a_decision_log_that_has_no_thread_is_told(serve, tmp_path):
    server = serve(IN_FILE, arguments=('--threads', '2'), prefix=few_threads(3))
    file = tmp_path / 'log'
    assert 'in force' in server.reload(IN_FILE + f'decisions: {{file: {file}}}\n')
    server.until(f'the decision log {file} has no thread: Resource temporarily unavailable')
    for _ in range(4):
        request(server.port, '/auth')
    subprocess.run([*few_threads(9), 'prlimit', '--nproc=4', f'--pid={server.process.pid}'], check=True)
    server.process.send_signal(signal.SIGUSR1)
    until(lambda: file.exists() and file.read_text().count('\n') == 1, 'the line of the denial is there')
