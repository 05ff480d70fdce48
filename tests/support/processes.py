"""Child processes: the lines that they write, their children, and waiting for them."""
import collections
import contextlib
import os
import pathlib
import queue
import random
import re
import shutil
import socket
import subprocess
import threading
import time

from support.environment import PATIENCE

# Debian has nginx in /usr/sbin, which is not in every user's PATH.
PATH = os.environ.get('PATH', '') + ':/usr/sbin'


class Lines:
    """The lines of a pipe. A thread reads them as they come, so that the pipe is never full."""

    def __init__(self, pipe):
        self.seen = []
        self.queue = queue.Queue()
        threading.Thread(target=self.read, args=(pipe,), daemon=True).start()

    def read(self, pipe):
        with pipe:
            for line in pipe:
                self.queue.put(line.rstrip('\n'))
        self.queue.put(None)

    def until(self, pattern, patience=PATIENCE):
        """The match of the first line from here on in which `pattern` is found."""
        deadline = time.monotonic() + patience
        while True:
            try:
                line = self.queue.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f'no {pattern!r} in {patience} s, but {self.seen}') from None
            if line is None:
                raise AssertionError(f'no {pattern!r} until the end, but {self.seen}')
            self.seen.append(line)
            if match := re.search(pattern, line):
                return match

    def rest(self):
        """All lines, once the pipe has ended."""
        while (line := self.queue.get(timeout=PATIENCE)) is not None:
            self.seen.append(line)
        return self.seen


def until(condition, what):
    """Waits for a true value and returns it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f'waited {PATIENCE} s until {what}'
        time.sleep(0.005)


def stop(process, *signals, patience=PATIENCE):
    """Sends these signals (default: SIGTERM) and returns the exit status. Kills it if it does not end."""
    if process.poll() is None:
        for number in signals:
            process.send_signal(number)
        if not signals:
            process.terminate()
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def children(pid):
    return [int(child) for child in
            pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def runs(pid):
    """Whether there is such a process, and it is not a zombie."""
    try:
        state = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it ended before the file was opened or read
        return False
    return state not in 'ZX'


def find_program(name):
    """The path of an installed program; None if there is none."""
    return shutil.which(name, path=PATH)


def few_threads(number):
    """What a program is run with that may have so many threads: as a user who has no others."""
    import pytest  # benchmarks, which use this file, do without it
    user = str(60_000 + os.getpid() % 5000)
    prefix = ['setpriv', '--reuid', user, '--regid', user, '--clear-groups', '--inh-caps', '+dac_override',
              '--ambient-caps', '+dac_override', 'prlimit', f'--nproc={number}:9']
    if subprocess.run([*prefix, 'true'], capture_output=True).returncode != 0:
        pytest.skip('needs root')
    return prefix


# Sockets whose names are the last ports that were given here. No test file needs more at a time.
ports_given = collections.deque(maxlen=200)


def free_port():
    """A port for a server that cannot choose one. It is below those that the system gives to clients: one
    of them could take it before the server does. No test of any file is given the same, either."""
    with open('/proc/sys/net/ipv4/ip_local_port_range') as ports:
        above = int(ports.read().split()[0])
    while True:
        port = random.randrange(min(10000, above - 1000), above)
        claim = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError), socket.socket() as s:
            claim.bind(f'\0headgate port {port}')
            s.bind(('127.0.0.1', port))
            ports_given.append(claim)
            return port
        claim.close()
