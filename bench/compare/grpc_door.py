#!/usr/bin/python3
"""headgate's gRPC door beside grpc++ itself: the same service with an empty answer.

    grpc_door.py --build build/release [--rounds 5] [--seconds 5]

The method is described in docs/benchmarks.md.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import alone  # noqa: E402
import machine  # noqa: E402
from nginx import DISTURBANCE_MAX, PATIENCE, TRIES, child_seconds  # noqa: E402

LOADS = [(64, 1), (64, 4), (256, 4)]  # calls under way, channels
TARGET = 0.85
P99_MAX = 1000.0  # us, at half the load
# Nothing is denied: what is compared is deciding, and a denial would have less to write.
CONFIGURATION = '''
domain: bench
descriptors:
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 4000000000}}
  - {key: path, rate_limit: {unit: minute, requests_per_unit: 4000000000}}
'''


class Sample:
    def __init__(self, rate, cpu, disturbance):
        self.rate = rate                # [1/s]
        self.cpu = cpu                  # of the server [us/call]
        self.disturbance = disturbance  # by other processes, other machines [cores]


class Bench:
    """Both servers on one processor, the load on another, until the end of the with statement."""

    def __init__(self, build):
        self.programs = pathlib.Path(build).resolve() / 'bin'
        for name in ('headgate', 'compare_grpc_empty', 'compare_grpc_load'):
            if not (self.programs / name).exists():
                raise RuntimeError(f'there is no {self.programs / name}; build it with ./dev build')

    def __enter__(self):
        self.server_core, self.load_core = machine.two_cores()
        self.directory = tempfile.TemporaryDirectory(prefix='headgate-bench-')
        self.running, self.addresses, self.pids = [], {}, {}
        home = pathlib.Path(self.directory.name)
        (home / 'bench.yaml').write_text(CONFIGURATION)
        (home / 'headgate.yaml').write_text('version: 1\nenvoy: [bench.yaml]\n')
        try:
            self.start('empty', ['compare_grpc_empty', '127.0.0.1:0'], 'listening on ')
            self.start('headgate', ['headgate', 'serve', '--config', home / 'headgate.yaml',
                                    '--grpc', '127.0.0.1:0', '--threads', 1], 'grpc on ')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.wait(PATIENCE)
        self.directory.cleanup()

    def start(self, name, command, listening):
        process = self.spawn(command, self.server_core, stderr=subprocess.PIPE)
        for line in process.stderr:
            if listening in line:
                self.addresses[name] = line.split()[-1]
                self.pids[name] = process.pid
                return
        raise RuntimeError(f'{command[0]} did not start')

    def spawn(self, command, core, **options):
        process = subprocess.Popen(
            [str(self.programs / command[0]), *map(str, command[1:])], stdin=subprocess.DEVNULL,
            text=True, start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}), **options)
        self.running.append(process)
        return process

    def load(self, name, seconds, calls, channels, *rate):
        process = self.spawn(['compare_grpc_load', self.addresses[name], seconds, calls, channels,
                              *rate], self.load_core, stdout=subprocess.PIPE)
        output, _ = process.communicate()
        self.running.remove(process)
        if process.returncode != 0:
            raise RuntimeError(f'compare_grpc_load failed with {name}')
        said = json.loads(output)
        if said['errors'] or not said['calls']:
            raise RuntimeError(f'{name} had errors: {said}')
        return said

    def measure(self, name, seconds, calls, channels):
        cores = {self.server_core, self.load_core}

        def clocks():
            busy, stolen = machine.processor_seconds(cores)
            return (time.monotonic(), busy, stolen, machine.process_seconds(self.pids[name]),
                    child_seconds(), machine.process_seconds('self'))

        before = clocks()
        said = self.load(name, seconds, calls, channels)
        wall, busy, stolen, server, load, own = (b - a for a, b in zip(before, clocks()))
        foreign = (busy - server - load - own) / wall
        return Sample(said['rate'], server / said['calls'] * 1e6, max(foreign, stolen / wall))

    def sample(self, *what):
        """Measures once, and again while others are busy; the least disturbed sample counts."""
        tries = []
        while len(tries) < TRIES:
            tries.append(self.measure(*what))
            if tries[-1].disturbance <= DISTURBANCE_MAX:
                break
        return min(tries, key=lambda sample: sample.disturbance)


def compare(build, rounds, seconds, say):
    """Returns [(met, target, reached, needed)], the last three as texts."""
    say(machine.settle_network())
    targets = []
    with Bench(build) as bench:
        say(f'servers on processor {bench.server_core}, the load on {bench.load_core}; {rounds} '
            f'rounds of {seconds} s; two descriptors, 100,000 users\n')
        say(f'  {"calls, channels":20}{"empty 1/s":>12}{"headgate 1/s":>14}{"ratio":>8}'
            f'{"CPU us/call, both":>20}')
        best = None
        for calls, channels in LOADS:
            samples = {'empty': [], 'headgate': []}
            for name in samples:
                bench.load(name, 1, calls, channels)
            for number in range(rounds):
                for name in list(samples)[::1 if number % 2 == 0 else -1]:
                    samples[name].append(bench.sample(name, seconds, calls, channels))
            ratio = statistics.median(a.rate / b.rate for a, b in
                                      zip(samples['headgate'], samples['empty']))
            rates, cpus = ({name: statistics.median(getattr(s, what) for s in found)
                            for name, found in samples.items()} for what in ('rate', 'cpu'))
            doubtful = any(s.disturbance > DISTURBANCE_MAX for found in samples.values()
                           for s in found)
            say(f'  {calls:>5}, {channels:<13}{rates["empty"]:12,.0f}{rates["headgate"]:14,.0f}'
                f'{ratio:8.3f}{cpus["empty"]:11.2f}{cpus["headgate"]:9.2f}'
                f'{"  BUSY" if doubtful else ""}')
            if best is None or rates['headgate'] > best[0]:
                best = (rates['headgate'], ratio, channels, doubtful)
        rate, ratio, channels, doubtful = best
        targets.append((ratio >= TARGET, 'ShouldRateLimit beside an empty grpc++ service',
                        f'{ratio:.3f}{" (busy)" if doubtful else ""}', f'>= {TARGET}'))
        p99 = statistics.median(bench.load('headgate', seconds, 0, channels, rate / 2)['p99']
                                for _ in range(rounds))
        say(f'\nat half of the highest load, {rate / 2:,.0f}/s: 99 % within {p99:,.0f} us of when '
            'they were due')
        targets.append((p99 <= P99_MAX, 'ShouldRateLimit at half the load, 99 % within',
                        f'{p99:,.0f} us', f'<= {P99_MAX:,.0f} us'))
    return targets


if __name__ == '__main__':
    alone.run('grpc_door.py', 'headgate serve --grpc beside grpc++ itself', compare)
