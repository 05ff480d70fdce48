"""examples/quickstart: what `./dev up` runs once everything is built."""
import os
import re
import shlex
import signal
import socket
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE, ROOT
from support.processes import Lines, children, runs

RUN = ROOT / 'examples' / 'quickstart' / 'run'


class Quickstart:
    def __init__(self, directory, port):
        self.temporary = directory
        self.process = subprocess.Popen([RUN, HEADGATE, str(port)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=os.environ | {'TMPDIR': str(directory)})
        self.output = Lines(self.process.stdout)
        self.curl = shlex.split(self.output.until(r'curl -i http://127\.0\.0\.1:\d+/')[0])
        self.output.until('Ctrl-C')

    def get(self):
        """Status and headers, through the curl command that was printed."""
        text = subprocess.run([*self.curl, '-s'], capture_output=True, text=True, check=True,
                              timeout=PATIENCE).stdout
        head = text.replace('\r\n', '\n').partition('\n\n')[0].split('\n')
        return int(head[0].split()[1]), dict(line.split(': ', 1) for line in head[1:])


@pytest.fixture
def quickstart(tmp_path):
    started = []

    def start(port=0):
        started.append(Quickstart(tmp_path, port))
        return started[-1]
    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_fields_a_429_and_a_clean_end(quickstart, number, tmp_path):
    one = quickstart()
    for left in (4, 3, 2, 1, 0):
        status, headers = one.get()
        assert status == 200
        assert headers['RateLimit-Policy'] == '"burst";q=5;w=10'
        # One unit comes back every two seconds: more may be left on a slow machine.
        assert int(re.match(r'"burst";r=(\d);t=\d+$', headers['RateLimit'])[1]) >= left
    for _ in range(100):
        status, headers = one.get()
        if status == 429:
            break
    assert status == 429
    assert headers['Retry-After'] in ('1', '2')

    processes = children(one.process.pid)
    processes += [pid for parent in processes for pid in children(parent)]
    assert len(processes) >= 3
    one.process.send_signal(number)
    assert one.process.wait(timeout=PATIENCE) == 0
    assert not any(runs(pid) for pid in processes)
    assert os.listdir(tmp_path) == []


def test_a_port_in_use_is_reported_and_another_one_used(quickstart):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        one = quickstart(port)
        assert f'Port {port} is in use' in one.output.seen[0]
        assert one.get()[0] == 200
        one.process.send_signal(signal.SIGINT)
        assert one.process.wait(timeout=PATIENCE) == 0
