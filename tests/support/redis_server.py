"""A real redis-server in a directory of its own, without a port."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from support.processes import find_program, stop, until
from support.resp import Client, Error


def version():
    """The major version of redis-server."""
    said = subprocess.run([find_program('redis-server'), '--version'], capture_output=True, text=True, check=True).stdout
    return int(re.search(r' v=(\d+)', said)[1])


class RedisServer:
    """redis-server, which answers once this is made. `options` are arguments, as '--appendonly', 'yes'; with
    `module` it loads headgate's module; `prefix` is a command that runs it, `environment` adds variables, `password`
    is that of options."""

    def __init__(self, directory, *options, module=False, prefix=(), environment=None, password=None):
        self.directory = pathlib.Path(directory)
        self.socket = self.directory / 'redis.sock'
        self.options, self.prefix, self.password = options, prefix, password
        self.environment = {**os.environ, **(environment or {})}
        if module:
            self.options = ('--loadmodule', os.environ['HEADGATE_REDIS_MODULE'], *options)
            # A module with AddressSanitizer needs its library before all others.
            if preload := os.environ.get('HEADGATE_PRELOAD'):
                if version() >= 8:
                    pytest.skip('redis-server from 8 on ends at its start with AddressSanitizer')
                self.environment.update(LD_PRELOAD=preload, ASAN_OPTIONS='detect_leaks=0')
        self.process = None
        self.start()

    @property
    def node(self):
        """As a policy file names it."""
        return f'unix:{self.socket}'

    def start(self):
        self.process = subprocess.Popen(
            [*self.prefix, find_program('redis-server'), '--port', '0', '--unixsocket', str(self.socket), '--dir',
             str(self.directory), '--save', '', *self.options],
            env=self.environment, stdout=subprocess.DEVNULL)
        until(self.answers, 'redis-server answers')

    def answers(self):
        assert self.process.poll() is None, 'redis-server did not start'
        try:
            reply = self.command('PING')
        except OSError:
            return False
        # It accepts connections already while it loads what it has on disk.
        return not (isinstance(reply, Error) and reply.startswith('LOADING '))

    def command(self, *words, password=None):
        with Client(self.node) as client:
            if password or self.password:
                assert client.command('AUTH', password or self.password) == 'OK'
            return client.command(*words)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.socket.unlink(missing_ok=True)

    def freeze(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self):
        if self.process.poll() is None:
            self.thaw()
            stop(self.process)
