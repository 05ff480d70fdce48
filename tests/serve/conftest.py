"""`headgate serve` as a child process, for the tests of all its doors."""
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading

import pytest

HEADGATE = os.environ['HEADGATE']
ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 30  # seconds until a wait counts as a failure; nothing is ever waited for by time

POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 100, window: 1m}
'''


class Serve:
    """headgate serve, answering once it is made.

    `doors` are its listeners, as {'http': '127.0.0.1:0', 'resp': 'unix:PATH'}; `addresses` says
    where they really are, and `port` and `ports` which TCP ports those have.
    """

    def __init__(self, directory, policies=POLICIES, doors=None, arguments=(), program=HEADGATE,
                 prefix=()):
        self.policy_file = pathlib.Path(directory) / 'policies.yaml'
        self.policy_file.write_text(policies)
        self.doors = doors or {'http': '127.0.0.1:0'}
        command = [*prefix, str(program), 'serve', '--config', str(self.policy_file),
                   *map(str, arguments)]
        for kind, address in self.doors.items():
            command += [f'--{kind}', address]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True,
                                        stderr=subprocess.PIPE)
        self.seen = []
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.addresses = {}
        while len(self.addresses) < len(self.doors):
            found = self.until(r'\b(http|resp|grpc) on (\S+?)["}]*$')
            self.addresses[found[1]] = found[2]
        self.until(r'\bserving \d+ polic')
        self.ports = {kind: int(address.rpartition(':')[2])
                      for kind, address in self.addresses.items()
                      if not address.startswith('unix:')}
        self.port = self.ports.get('http')

    def read(self):
        with self.process.stderr as pipe:
            for line in pipe:
                self.lines.put(line.rstrip('\n'))
        self.lines.put(None)

    def until(self, pattern):
        """The match of the first line of its log, from here on, that has `pattern`."""
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f'no {pattern!r} in {PATIENCE} s, but {self.seen}') from None
            if line is None:
                raise AssertionError(f'no {pattern!r} until the end, but {self.seen}')
            self.seen.append(line)
            if match := re.search(pattern, line):
                return match

    def reload(self, policies):
        """Has it read another policy file; returns what it said about it."""
        self.policy_file.write_text(policies)
        self.process.send_signal(signal.SIGHUP)
        return self.until(r'is in force now|is refused')[0]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, number=signal.SIGTERM):
        """Ends it as its users do; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


@pytest.fixture
def serve(tmp_path):
    """Starts servers: serve(policies, doors={'http': '127.0.0.1:0'}, arguments=(...))."""
    running = []

    def start(*arguments, **options):
        directory = tmp_path / f'serve{len(running)}'
        directory.mkdir()
        server = Serve(directory, *arguments, **options)
        running.append(server)
        return server

    yield start
    for server in running:
        killed = server.process.poll() == -signal.SIGKILL
        status = server.stop()
        assert killed or status == 0, (status, server.seen)
