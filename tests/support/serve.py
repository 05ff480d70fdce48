"""`headgate serve` as a child process, for the tests of all its doors."""
import pathlib
import signal
import subprocess

from support.environment import HEADGATE
from support.processes import Lines, stop

POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 100, window: 1m}
'''


class Serve:
    """headgate serve, which is ready once this is made.

    `doors` are its listeners, as {'http': '127.0.0.1:0', 'resp': 'unix:PATH'}. `addresses` has where
    they listen, `ports` the ports of those that use TCP, `port` that of the HTTP door.
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
        self.log = Lines(self.process.stderr)
        self.addresses = {}
        while len(self.addresses) < len(self.doors):
            found = self.until(r'\b(http|resp|grpc|spoe) on (\S+?)["}]*$')
            self.addresses[found[1]] = found[2]
        self.until(r'\bserving \d+ polic')
        self.ports = {kind: int(address.rpartition(':')[2])
                      for kind, address in self.addresses.items()
                      if not address.startswith('unix:')}
        self.port = self.ports.get('http')

    @property
    def seen(self):
        """The lines of its log that were read so far."""
        return self.log.seen

    def until(self, pattern):
        """The match of the first line of its log, from here on, in which `pattern` is found."""
        return self.log.until(pattern)

    def reload(self, policies):
        """Makes it read another policy file. Returns what it logs about it."""
        self.policy_file.write_text(policies)
        self.process.send_signal(signal.SIGHUP)
        return self.until(r'is in force now|is refused')[0]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, number=signal.SIGTERM):
        """Ends it as its users do. Returns its exit status."""
        return stop(self.process, number)
