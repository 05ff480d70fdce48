"""examples/redis-cluster does what its README says."""
import os
import shlex
import signal
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE, ROOT
from support.http_client import Connection, request
from support.processes import Lines, children, runs, until

RUN = ROOT / 'examples/redis-cluster/run'


@pytest.fixture
def example(tmp_path):
    process = subprocess.Popen([RUN, HEADGATE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True,
                               env=os.environ | {'TMPDIR': str(tmp_path)}, start_new_session=True)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_two_gateways_and_a_cluster(example, tmp_path):
    lines = Lines(example.stdout)
    found = lines.until(r'share what a client may do: +http://127\.0\.0\.1:(\d+) +http://127\.0\.0\.1:(\d+)')
    ports = [int(port) for port in found.groups()]
    check = lines.until(r'need\? +(.* check --connect .*)')[1]
    kill = lines.until(r': +(kill -KILL \d+)')[1]
    log = lines.until(r': +cat (.*)')[1]
    lines.until('Ctrl-C')

    assert [request(ports[i % 2]).status for i in range(12)] == [200] * 10 + [429] * 2
    said = subprocess.run(shlex.split(check), capture_output=True, text=True, timeout=PATIENCE)
    assert (said.returncode, said.stderr) == (0, '')
    assert 'the cluster has 3 primaries for all slots' in said.stdout

    assert subprocess.run(shlex.split(kill), timeout=PATIENCE).returncode == 0
    # Other clients, whose keys are at all primaries.
    clients = [(ports[i % 2], f'127.0.0.{2 + i}') for i in range(12)]

    def is_counted(port, source):
        with Connection(port, source) as connection:
            response = connection.request()
        assert response.status in (200, 429)
        return response.one('RateLimit') is not None
    for client in clients:
        until(lambda client=client: is_counted(*client), 'its replica has taken over')
    with open(log) as file:
        assert 'listening on' in file.read()

    running = children(example.pid)
    running += [pid for parent in running for pid in children(parent)]
    os.killpg(example.pid, signal.SIGINT)
    assert example.wait(timeout=PATIENCE) == 0
    until(lambda: not any(runs(pid) for pid in running), 'all have ended')
    assert os.listdir(tmp_path) == []
