#!/usr/bin/python3
"""How long polite clients of `headgate serve` wait beside hostile ones.

    fairness.py --build build/release [--rounds 1] [--seconds 5] [--only PATTERN]

The method is described in docs/benchmarks.md.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
os.environ.setdefault('HEADGATE', 'headgate')  # the default program of Serve, which is not used here
import machine  # noqa: E402
import strangers  # noqa: E402
from programs import built  # noqa: E402
from support.certificates import Authority  # noqa: E402
from support.serve import Serve  # noqa: E402

TOKEN = 'a-token-of-some-length'
P99_MAX = 10.0  # ms
# As many policies as a larger site has: some pages list them all.
POLICIES = '''version: 1
policies:
  - {name: burst, quota: 1000000000, window: 1s, key: [address]}
''' + ''.join(f'  - {{name: policy{n}, quota: 100, window: 1m}}\n' for n in range(31))
TCP = '127.0.0.1:0'


class Arrangement:
    """Where the programs run: one server that speaks TLS to TCP clients, and one that does not."""

    def __init__(self, build, stack, server_core=None, hostile_core=None):
        self.server_core, self.hostile_core = server_core, hostile_core
        scratch = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='headgate-bench-')))
        token = scratch / 'token'
        token.write_text(TOKEN)
        token.chmod(0o600)
        certificate, key = Authority(scratch).sign('server')
        self.servers = {}
        for name, doors, more in (
                ('plain', {'http': TCP, 'resp': TCP, 'grpc': TCP}, []),
                ('tls', {'http': TCP, 'resp': f'unix:{scratch}/resp', 'grpc': f'unix:{scratch}/grpc'},
                 ['--tls-cert', certificate, '--tls-key', key])):
            (scratch / name).mkdir()
            arguments = ['--token-file', token, *more]
            if server_core is not None:
                arguments += ['--threads', '1']
            self.servers[name] = Serve(scratch / name, POLICIES, doors, arguments,
                                       built(build / 'bin/headgate'), pinned(server_core))
            stack.callback(self.servers[name].stop)

    def addresses(self, load):
        return self.servers['tls' if load and load.tls else 'plain'].addresses

    def start(self, core, *words):
        command = [*pinned(core), sys.executable, HERE / 'strangers.py', *words]
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)

    def measure(self, name, seconds):
        """Returns what the hostile client has sent per second (None without one), and by door how late
        answers were [ms]."""
        load = strangers.loads(TOKEN)[name] if name else None
        addresses = self.addresses(load)
        with contextlib.ExitStack() as stack:
            running = {}
            if load:
                running['hostile'] = self.start(self.hostile_core, 'hostile', name,
                                                addresses[load.door], seconds + 2, TOKEN)
            for door, address in addresses.items():
                kind = 'https' if door == 'http' and load and load.tls else door
                running[door] = self.start(self.server_core, 'polite', kind, address, seconds, TOKEN)
            for process in running.values():
                stack.enter_context(process)
            found = {who: json.loads(process.communicate()[0]) for who, process in running.items()}
        return found.pop('hostile', None), found

    def newcomers(self, name, seconds):
        """How long each of them took [ms], beside a load or None."""
        load = strangers.loads(TOKEN)[strangers.FLOOD]
        address = self.addresses(load)['http']
        with contextlib.ExitStack() as stack:
            hostile = name and stack.enter_context(
                self.start(self.hostile_core, 'hostile', name, address, seconds + 2, TOKEN))
            one = stack.enter_context(self.start(self.server_core, 'newcomer', 'https', address, seconds, TOKEN))
            took = json.loads(one.communicate()[0])
            if hostile:
                hostile.communicate()
            return took


def pinned(core):
    return () if core is None else ('taskset', '-c', str(core))


def share(sample, part):
    ordered = sorted(sample)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def rate(sent):
    if sent is None:
        return ''
    return f'{sent["sent"] / 1e6:9.1f}{sent["connected"]:10,.0f}'


def table(arrangement, names, rounds, seconds, say):
    """Returns {name: the largest p99 of all doors [ms]}."""
    say(f'  {"polite clients beside":72}{"MB/s":>9}{"conn/s":>10}' +
        ''.join(f'{door + " p50":>10}{"p99":>8}' for door in ('http', 'resp', 'grpc')) + '   [ms]')
    worst = {}
    for name in names:
        late = {'http': [], 'resp': [], 'grpc': []}
        for _ in range(rounds):
            sent, found = arrangement.measure(name, seconds)
            for door, sample in found.items():
                late[door] += sample
        worst[name] = max(share(sample, 0.99) for sample in late.values())
        say(f'  {name or "nothing":72}{rate(sent):19}' +
            ''.join(f'{share(sample, 0.5):10.2f}{share(sample, 0.99):8.2f}' for sample in late.values()))
    return worst


def newcomers(arrangement, seconds, say):
    for name in None, strangers.FLOOD:
        took = arrangement.newcomers(name, seconds)
        say(f'  new clients with TLS, one after the other, beside {name or "nothing"}: {len(took) / seconds:.0f} per '
            f'second, p50 {share(took, 0.5):.1f}, p99 {share(took, 0.99):.1f} ms')


def compare(build, rounds, seconds, say, only=''):
    """Returns [(met, target, reached, needed)]; the last three are texts."""
    server_core, hostile_core = machine.two_cores()
    names = [None, *(name for name in strangers.loads(TOKEN) if re.search(only, name))]
    with contextlib.ExitStack() as stack:
        say(f'\nA server of one thread and the polite clients on processor {server_core}, the hostile '
            f'client on {hostile_core}:\n')
        arrangement = Arrangement(build, stack, server_core, hostile_core)
        worst = table(arrangement, names, rounds, seconds, say)
        if strangers.FLOOD in names:
            newcomers(arrangement, seconds, say)
        say('\nA server with a thread per processor, and all clients anywhere:\n')
        table(Arrangement(build, stack), names, rounds, seconds, say)
    del worst[None]
    name = max(worst, key=worst.get)
    return [(worst[name] <= P99_MAX, f'polite clients beside {name}, 99 % within',
             f'{worst[name]:.2f} ms', f'<= {P99_MAX:.0f} ms')]


def main():
    parser = argparse.ArgumentParser(prog='fairness.py', description=__doc__)
    parser.add_argument('--build', type=pathlib.Path, default=HERE.parents[1] / 'build/release')
    parser.add_argument('--rounds', type=int, default=1)
    parser.add_argument('--seconds', type=int, default=5, help='of each sample')
    parser.add_argument('--only', default='', help='only loads whose name this pattern matches')
    options = parser.parse_args()
    machine.end_orderly()
    for met, name, reached, needed in compare(options.build, options.rounds, options.seconds,
                                              lambda text: print(text, flush=True), options.only):
        print(f'\n{"met    " if met else "NOT MET"}  {name}: {reached}, target {needed}')


if __name__ == '__main__':
    main()
