"""A network namespace that is joined to this one by a cable, which can be cut. Needs root."""
import os
import random
import subprocess

from support.processes import find_program


class Unavailable(Exception):
    pass


class Network:
    """`address` is that of the other end. Packets of a cut cable are lost without an error."""

    def __init__(self):
        if find_program('ip') is None:
            raise Unavailable('the package iproute2 is not installed')
        self.name = f'hg{os.getpid()}'
        net = f'10.{random.randrange(200, 250)}.{random.randrange(256)}'
        self.address = f'{net}.2'
        try:
            ip('netns', 'add', self.name)
            ip('link', 'add', self.name, 'type', 'veth', 'peer', 'name', 'end', 'netns', self.name)
            ip('addr', 'add', f'{net}.1/30', 'dev', self.name)
            ip('link', 'set', self.name, 'up')
            self.inside('addr', 'add', f'{self.address}/30', 'dev', 'end')
            self.join()
        except subprocess.CalledProcessError as fault:
            self.remove()
            raise Unavailable(f'no network namespace: {fault.stderr.strip()}') from None

    @property
    def prefix(self):
        """A command that runs another one in the namespace."""
        return find_program('ip'), 'netns', 'exec', self.name

    def inside(self, *words):
        ip('-n', self.name, *words)

    def cut(self):
        self.inside('link', 'set', 'end', 'down')

    def join(self):
        self.inside('link', 'set', 'end', 'up')

    def remove(self):
        """The cable goes with the namespace."""
        subprocess.run([find_program('ip'), 'netns', 'del', self.name], capture_output=True)


def ip(*words):
    subprocess.run([find_program('ip'), *words], check=True, capture_output=True, text=True)
