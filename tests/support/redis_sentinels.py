"""Three sentinels, which watch a primary and its replica."""
import pathlib
import subprocess

from support.processes import find_program, free_port, stop, until
from support.resp import Client


class Sentinels:
    """They know the primary as `main`, and notice within a second that it is gone. `more` lines configure them;
    `listen` may be tls-port, `password` is that of `more`."""

    def __init__(self, directory, port, more='', listen='port', password=None):
        self.directory, self.password = pathlib.Path(directory), password
        self.ports = []
        self.processes = []
        for i in range(3):
            place = self.directory / f's{i}'
            place.mkdir()
            self.ports.append(free_port())
            (place / 'sentinel.conf').write_text(
                f'port 0\n{listen} {self.ports[i]}\nbind 127.0.0.1\nunixsocket {place}/socket\ndir {place}\n'
                f'sentinel monitor main 127.0.0.1 {port} 2\n'
                'sentinel down-after-milliseconds main 700\n'
                f'sentinel failover-timeout main 5000\n{more}')
            self.processes.append(subprocess.Popen(
                [find_program('redis-server'), str(place / 'sentinel.conf'), '--sentinel'],
                stdout=subprocess.DEVNULL))
        until(self.know_all, 'the sentinels know each other and the replica')

    def command(self, i, *words):
        with Client(f'unix:{self.directory}/s{i}/socket') as client:
            if self.password:
                assert client.command('AUTH', self.password) == 'OK'
            return client.command(*words)

    def state(self, i):
        try:
            words = self.command(i, 'SENTINEL', 'MASTER', 'main')
        except OSError:
            return {}
        return dict(zip(words[::2], words[1::2]))

    def know_all(self):
        assert all(process.poll() is None for process in self.processes), 'a sentinel did not start'
        states = [self.state(i) for i in range(3)]
        return all(state.get('num-other-sentinels') == '2' and state.get('num-slaves') == '1' and
                   state['flags'] == 'master' for state in states)

    def primary(self, i):
        """The port that sentinel i names."""
        return int(self.command(i, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main')[1])

    def all_name(self, port):
        """Two of them decide a failover; the third learns of it later."""
        return all(self.primary(i) == port for i in range(3))

    def stop(self):
        for process in self.processes:
            stop(process)
