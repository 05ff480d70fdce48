"""The programs of a comparison: servers on one processor, load generators on another."""
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import machine

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'tests'))
from support.processes import Lines  # noqa: E402

PATIENCE = 20  # seconds for a program to start, stop or answer


class Programs:
    """Programs that are stopped at the end of the with statement; their directory is removed then."""

    def __init__(self, take_turns=False):
        """take_turns: servers that share their processor do not preempt each other."""
        self.take_turns = take_turns

    def __enter__(self):
        self.server_core, self.load_core = machine.two_cores()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='headgate-bench-'))
        self.running = []
        self.servers = {}  # by name: the pid of the process that does the work
        return self

    def __exit__(self, *_):
        self.stop_all()
        shutil.rmtree(self.directory)

    def spawn(self, command, core, **options):
        def settle():
            os.sched_setaffinity(0, {core})
            if self.take_turns:
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

        # In a session of its own: Ctrl-C does not reach it, and this program ends it.
        process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
            cwd=self.directory, start_new_session=True, preexec_fn=settle, **options)
        self.running.append(process)
        return process

    def start_server(self, name, command, pattern):
        """Starts a server. Returns the match of `pattern` in the first line of its standard error that has
        it, and reads on as long as the server runs, so that it never waits for a full pipe."""
        process = self.spawn(command, self.server_core, stderr=subprocess.PIPE)
        try:
            found = Lines(process.stderr).until(pattern, PATIENCE)
        except AssertionError as error:
            raise RuntimeError(f'{command[0]} did not start: {error}') from None
        self.servers[name] = process.pid
        return found

    def load(self, command):
        """Runs a load generator to its end. Returns what it wrote to its output and its errors."""
        process = self.spawn(command, self.load_core, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        output, errors = process.communicate()
        self.running.remove(process)
        if process.returncode != 0:
            raise RuntimeError(f'{command[0]} failed:\n{output}{errors}')
        return output, errors

    def stop_all(self):
        for process in self.running:
            if process.poll() is None:
                process.terminate()
                process.send_signal(signal.SIGCONT)  # one that is stopped does not end
        for process in self.running:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running, self.servers = [], {}


def wait_until(ready, process, log=None):
    """Waits until ready() is true. If the process ends or PATIENCE is over, raises with its log."""
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            text = f':\n{log.read_text()}' if log and log.exists() else ''
            raise RuntimeError(f'{process.args[0]} did not start{text}')
        time.sleep(0.02)


def program(name):
    found = shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin')
    if found is None:
        raise RuntimeError(f'{name} is not installed; ./dev deps installs it')
    return found


def built(path):
    """A program or module of the build."""
    path = pathlib.Path(path).resolve()
    if not path.exists():
        raise RuntimeError(f'there is no {path}; build it with ./dev build')
    return path


def child_seconds():
    """Processor time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(('127.0.0.1', 0))
        return [s.getsockname()[1] for s in sockets]


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port), timeout=1):
        return True
    return False
