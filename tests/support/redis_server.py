"""A real redis-server in a directory of its own, without a port."""
import os
import pathlib
import signal
import subprocess

from support import environment
from support.processes import find_program, stop, until
from support.resp import Client, encode


class RedisServer:
    """redis-server, which answers once this is made. `options` are arguments, as '--appendonly', 'yes'. With
    `module`, it loads headgate's module."""

    def __init__(self, directory, *options, module=False):
        self.directory = pathlib.Path(directory)
        self.socket = self.directory / 'redis.sock'
        self.options = ('--loadmodule', environment.REDIS_MODULE, *options) if module else options
        # A module with AddressSanitizer needs its library before all others.
        self.environment = dict(os.environ)
        if module and os.environ.get('HEADGATE_PRELOAD'):
            self.environment.update(LD_PRELOAD=os.environ['HEADGATE_PRELOAD'], ASAN_OPTIONS='detect_leaks=0')
        self.process = None
        self.start()

    @property
    def node(self):
        """As a policy file names it."""
        return f'unix:{self.socket}'

    def start(self):
        self.process = subprocess.Popen(
            [find_program('redis-server'), '--port', '0', '--unixsocket', str(self.socket), '--dir',
             str(self.directory), '--save', '', *self.options], stdout=subprocess.DEVNULL,
            env=self.environment)
        until(self.answers, 'redis-server answers')

    def answers(self):
        assert self.process.poll() is None, 'redis-server did not start'
        try:
            self.command('PING')
        except OSError:
            return False
        return True

    def command(self, *words):
        with Client(self.node) as client:
            client.send(encode(*words))
            return client.reply()

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
