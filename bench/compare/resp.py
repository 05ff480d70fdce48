#!/usr/bin/python3
"""headgate's RESP door beside Redis: PING, GET, and a rate limiter as a Redis script.

    resp.py --build build/release [--rounds 5] [--seconds 5]

The method is described in docs/benchmarks.md.
"""
import csv
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
from nginx import (DISTURBANCE_MAX, PATIENCE, TRIES, answers, child_seconds,  # noqa: E402
                   free_ports, program)

CONNECTIONS = 50
KEYS = 100_000
KEY = 'user:__rand_int__'
# 16 units at once and 30 a minute, as in redis-cell's example; but no key is denied: what is compared
# is deciding, and a denial would not write.
BURST, COUNT, PERIOD = 1_000_000, 1_000_000, 60
MEMORY_DECISIONS = 10_000_000
P99_MAX = 1000.0   # us, at half the load
GROWTH_MAX = 1.0   # MiB


class Variant:
    """A server, and what it is asked."""

    def __init__(self, name, server, *words):
        self.name, self.server, self.words = name, server, [str(word) for word in words]


class Sample:
    def __init__(self, rate, cpu, disturbance, load_busy):
        self.rate = rate                # [1/s]
        self.cpu = cpu                  # of the server [us/request]
        self.disturbance = disturbance  # by other processes, other machines [cores]
        self.load_busy = load_busy      # [cores]


class Bench:
    """Both servers on one processor, the load on another, until the end of the with statement."""

    def __init__(self, build):
        self.headgate = pathlib.Path(build).resolve() / 'bin/headgate'
        self.our_load = pathlib.Path(build).resolve() / 'bin/compare_resp_load'
        self.redis_benchmark = program('redis-benchmark')
        if not self.headgate.exists():
            raise RuntimeError(f'there is no {self.headgate}; build it with ./dev build')

    def __enter__(self):
        self.server_core, self.load_core = machine.two_cores()
        self.directory = tempfile.TemporaryDirectory(prefix='headgate-bench-')
        self.running, self.ports, self.pids = [], {}, {}
        try:
            self.start_redis()
            self.start_headgate()
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

    def spawn(self, command, core, **options):
        process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
            start_new_session=True, cwd=self.directory.name,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}), **options)
        self.running.append(process)
        return process

    def start_redis(self):
        """Nothing is saved to disk."""
        [port] = free_ports(1)
        process = self.spawn([program('redis-server'), '--bind', '127.0.0.1', '--port', port,
                              '--save', '', '--appendonly', 'no'],
                             self.server_core, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError('redis-server did not start')
            time.sleep(0.02)
        self.pids['redis'], self.ports['redis'] = process.pid, port

    def redis(self, *words):
        command = [program('redis-cli'), '-p', self.ports['redis'], *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=True)
        return done.stdout.strip()

    def start_headgate(self):
        config = pathlib.Path(self.directory.name) / 'headgate.yaml'
        config.write_text('version: 1\npolicies:\n  - {name: burst, quota: 10, window: 1m}\n')
        process = self.spawn([self.headgate, 'serve', '--config', config, '--resp', '127.0.0.1:0',
                              '--threads', 1], self.server_core, stderr=subprocess.PIPE)
        for line in process.stderr:
            if ' resp on ' in line:
                self.ports['headgate'] = int(line.rpartition(':')[2])
            if ' serving ' in line:
                break
        else:
            raise RuntimeError('headgate serve did not start')
        self.pids['headgate'] = process.pid

    def load(self, variant, pipeline, requests):
        """Runs redis-benchmark; returns requests a second."""
        process = self.spawn([self.redis_benchmark, '-p', self.ports[variant.server], '-c',
                              CONNECTIONS, '-P', pipeline, '-n', requests, '-r', KEYS, '--csv',
                              *variant.words], self.load_core, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        output, errors = process.communicate()
        self.running.remove(process)
        rows = list(csv.DictReader(output.splitlines()))
        if process.returncode != 0 or len(rows) != 1 or 'rror' in output + errors:
            raise RuntimeError(f'redis-benchmark {variant.name} failed:\n{output}{errors}')
        return float(rows[0]['rps'])

    def lean_load(self, variant, seconds, rate=0):
        """Asks one by one, at that rate or else as fast as it can, with less work than
        redis-benchmark does. Returns what compare_resp_load says."""
        words = [word.replace('__rand_int__', '{}') for word in variant.words]
        process = self.spawn([self.our_load, '--port', self.ports[variant.server], '--connections',
                              CONNECTIONS, '--seconds', seconds, '--keys', KEYS, '--rate', rate,
                              *words], self.load_core, stdout=subprocess.PIPE)
        output, _ = process.communicate()
        self.running.remove(process)
        if process.returncode != 0:
            raise RuntimeError(f'compare_resp_load {variant.name} failed')
        said = json.loads(output)
        if said['errors']:
            raise RuntimeError(f'{variant.name} was answered with {said["errors"]} errors')
        return said

    def resident(self, server):
        """[MiB]"""
        for line in pathlib.Path(f'/proc/{self.pids[server]}/status').read_text().splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f'{server} is gone')


class Stage:
    """Variants that take turns at one depth of pipelines."""

    def __init__(self, bench, pipeline, variants):
        self.bench, self.pipeline, self.variants = bench, pipeline, variants
        self.samples = {v.name: [] for v in variants}
        self.discarded = self.doubtful = 0

    def run(self, rounds, seconds):
        requests = {}
        for variant in self.variants:
            rate = self.bench.load(variant, self.pipeline, 20_000 * self.pipeline)
            requests[variant.name] = int(rate * seconds)
        for number in range(rounds):
            for variant in self.variants if number % 2 == 0 else self.variants[::-1]:
                self.samples[variant.name].append(self.sample(variant, requests[variant.name]))

    def sample(self, variant, requests):
        """Measures once, and again while others are busy; the least disturbed sample counts."""
        tries = []
        while len(tries) < TRIES:
            tries.append(self.measure(variant, requests))
            if tries[-1].disturbance <= DISTURBANCE_MAX:
                break
        best = min(tries, key=lambda sample: sample.disturbance)
        self.discarded += len(tries) - 1
        self.doubtful += best.disturbance > DISTURBANCE_MAX
        return best

    def measure(self, variant, requests):
        cores = {self.bench.server_core, self.bench.load_core}
        pids = self.bench.pids

        def clocks():
            busy, stolen = machine.processor_seconds(cores)
            return (time.monotonic(), busy, stolen, machine.process_seconds(pids['redis']),
                    machine.process_seconds(pids['headgate']), child_seconds(),
                    machine.process_seconds('self'))

        before = clocks()
        rate = self.bench.load(variant, self.pipeline, requests)
        wall, busy, stolen, redis, headgate, load, own = (
            b - a for a, b in zip(before, clocks()))
        foreign = (busy - redis - headgate - load - own) / wall
        server = redis if variant.server == 'redis' else headgate
        return Sample(rate, server / requests * 1e6, max(foreign, stolen / wall), load / wall)

    # Medians of the rounds; a ratio is the median of each round's ratio.
    def median(self, name, what='rate'):
        return statistics.median(getattr(s, what) for s in self.samples[name])

    def ratio(self, name, base, what='rate'):
        return statistics.median(getattr(a, what) / getattr(b, what) for a, b in
                                 zip(self.samples[name], self.samples[base]))

    def table(self):
        base = self.variants[0].name
        lines = [f'\npipelines of {self.pipeline}',
                 f'  {"":24}{"requests/s":>12}{"/ " + base:>14}   {"CPU us/request":>14}'
                 f'{"load, cores":>13}']
        for variant in self.variants:
            name = variant.name
            lines.append(f'  {name:24}{self.median(name):12,.0f}{self.ratio(name, base):14.3f}   '
                         f'{self.median(name, "cpu"):14.3f}{self.median(name, "load_busy"):13.2f}')
        if self.discarded:
            lines.append(f'  {self.discarded} samples thrown away: others used more than '
                         f'{DISTURBANCE_MAX:.0%} of a core')
        if self.doubtful:
            lines.append(f'  BUSY: {self.doubtful} samples kept although others used more: {TRIES} '
                         'tries were no better')
        return '\n'.join(lines)


def compare(build, rounds, seconds, say):
    """Runs all stages. Returns [(met, target, reached, needed)], the last three as texts."""
    say(machine.settle_network())
    targets = []
    with Bench(build) as bench:
        say(f'servers on processor {bench.server_core}, redis-benchmark with {CONNECTIONS} '
            f'connections on {bench.load_core}; {rounds} rounds of {seconds} s; {KEYS:,} keys; '
            f'{bench.redis("INFO", "server").split("redis_version:")[1].split()[0]} is Redis')
        script = bench.redis('SCRIPT', 'LOAD', (HERE / 'gcra.lua').read_text())
        ping = Variant('Redis PING', 'redis', 'PING')
        get = Variant('Redis GET', 'redis', 'GET', 'key:__rand_int__')
        lua = Variant('Redis Lua limiter', 'redis', 'EVALSHA', script, 1, KEY,
                      PERIOD * 1_000_000 // COUNT, BURST + 1, 1)
        throttle = Variant('CL.THROTTLE', 'headgate', 'CL.THROTTLE', KEY, BURST, COUNT, PERIOD)
        # Every key that will be asked for has a value, and a state.
        bench.load(Variant('Redis SET', 'redis', 'SET', 'key:__rand_int__', '0123456789abcdef'), 64,
                   10 * KEYS)
        for variant in (lua, throttle):
            bench.load(variant, 64, 10 * KEYS)

        def stage(pipeline, *variants):
            made = Stage(bench, pipeline, variants)
            made.run(rounds, seconds)
            say(made.table())

            def target(base, needed):
                reached = made.ratio(throttle.name, base.name)
                busy = ' (busy)' if made.doubtful else ''
                targets.append((reached >= needed,
                                f'CL.THROTTLE beside {base.name}, pipelines of {pipeline}',
                                f'{reached:.2f}x{busy}', f'>= {needed}x'))
            return made, target

        alone, target = stage(1, ping, throttle)
        target(ping, 1.0)
        rates = {ping: [], throttle: []}
        for _ in range(rounds):
            for variant, reached in rates.items():
                said = bench.lean_load(variant, seconds)
                reached.append(said['requests'] / said['seconds'])
        pings, throttles = (statistics.median(reached) for reached in rates.values())
        say(f'  with a lighter load generator: {pings:,.0f} and {throttles:,.0f} requests/s, '
            f'{throttles / pings:.3f}')
        _, target = stage(16, get, lua, throttle)
        target(get, 1.0)
        target(lua, 8.0)
        _, target = stage(64, get, throttle)
        target(get, 1.2)

        rate = alone.median(throttle.name) / 2
        p99 = statistics.median(bench.lean_load(throttle, seconds, rate)['p99']
                                for _ in range(rounds))
        say(f'\nCL.THROTTLE at half of that load, {rate:,.0f}/s: 99 % within {p99:,.0f} us of when '
            'they were due')
        targets.append((p99 <= P99_MAX, 'CL.THROTTLE at half the load, 99 % within',
                        f'{p99:,.0f} us', f'<= {P99_MAX:,.0f} us'))

        before = bench.resident('headgate')
        bench.load(throttle, 64, MEMORY_DECISIONS)
        growth = bench.resident('headgate') - before
        say(f'memory over {MEMORY_DECISIONS:,} decisions: {before:.1f} MiB, then {growth:+.2f} MiB')
        targets.append((growth <= GROWTH_MAX,
                        f'memory grows over {MEMORY_DECISIONS:,} decisions by',
                        f'{growth:.2f} MiB', f'<= {GROWTH_MAX} MiB'))
    return targets


if __name__ == '__main__':
    alone.run('resp.py', 'headgate serve --resp beside Redis', compare)
