#!/usr/bin/python3
"""headgate's RESP door beside Redis: PING, GET, and a rate limiter as a Redis script.

    resp.py --build build/release [--rounds 5] [--seconds 5]

The method is described in docs/benchmarks.md.
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import alone  # noqa: E402
import machine  # noqa: E402
from programs import Programs, answers, built, free_ports, program, wait_until  # noqa: E402
from samples import Meter, Sample, Turns, alternating  # noqa: E402

CONNECTIONS = 50
KEYS = 100_000
KEY = 'user:__rand_int__'
# The arguments of redis-cell's example, but with a quota so large that no key is denied: a denial would
# not write.
BURST, COUNT, PERIOD = 1_000_000, 1_000_000, 60
MEMORY_DECISIONS = 10_000_000
P99_MAX = 1000.0   # us, at half the load
GROWTH_MAX = 1.0   # MiB


class Variant:
    """A server, and the command that it gets."""

    def __init__(self, name, server, *words):
        self.name, self.server, self.words = name, server, [str(word) for word in words]


class Bench(Programs):
    """Both servers on one processor, the load generator on another."""

    def __init__(self, build):
        super().__init__()
        self.headgate = built(build / 'bin/headgate')
        self.our_load = built(build / 'bin/compare_resp_load')
        self.redis_benchmark = program('redis-benchmark')
        self.ports = {}

    def start_redis(self):
        """Starts Redis without saving to disk."""
        [port] = free_ports(1)
        process = self.spawn([program('redis-server'), '--bind', '127.0.0.1', '--port', port,
                              '--save', '', '--appendonly', 'no'],
                             self.server_core, stdout=subprocess.DEVNULL)
        wait_until(lambda: answers(port), process)
        self.servers['redis'], self.ports['redis'] = process.pid, port

    def redis(self, *words):
        command = [program('redis-cli'), '-p', self.ports['redis'], *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=True)
        return done.stdout.strip()

    def start_headgate(self):
        (self.directory / 'headgate.yaml').write_text(
            'version: 1\npolicies:\n  - {name: burst, quota: 10, window: 1m}\n')
        found = self.start_server(
            'headgate', [self.headgate, 'serve', '--config', 'headgate.yaml', '--resp', '127.0.0.1:0',
                         '--threads', 1], r' resp on \S+:(\d+)$')
        self.ports['headgate'] = int(found[1])
        wait_until(lambda: answers(self.ports['headgate']), self.running[-1])

    def measure(self, variant, pipeline, requests):
        """Runs redis-benchmark; returns requests per second."""
        output, errors = self.load([self.redis_benchmark, '-p', self.ports[variant.server], '-c',
                                    CONNECTIONS, '-P', pipeline, '-n', requests, '-r', KEYS,
                                    '--csv', *variant.words])
        rows = list(csv.DictReader(output.splitlines()))
        if len(rows) != 1 or 'rror' in output + errors:
            raise RuntimeError(f'redis-benchmark {variant.name} failed:\n{output}{errors}')
        return float(rows[0]['rps'])

    def measure_lean(self, variant, seconds, rate=0):
        """Sends one command at a time per connection, at this rate or as fast as possible, with less work
        per command than redis-benchmark. Returns the results of compare_resp_load."""
        words = [word.replace('__rand_int__', '{}') for word in variant.words]
        output, _ = self.load([self.our_load, '--port', self.ports[variant.server],
                               '--connections', CONNECTIONS, '--seconds', seconds, '--keys', KEYS,
                               '--rate', rate, *words])
        result = json.loads(output)
        if result['errors']:
            raise RuntimeError(f'{variant.name} was answered with {result["errors"]} errors')
        return result

    def resident(self, server):
        """The memory of a server [MiB]."""
        status = pathlib.Path(f'/proc/{self.servers[server]}/status').read_text()
        for line in status.splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f'{server} is gone')


class Stage(Turns):
    """Variants that take turns, at one length of pipelines."""

    def __init__(self, bench, pipeline, variants):
        self.variants = {variant.name: variant for variant in variants}
        super().__init__(self.variants)
        self.bench, self.pipeline = bench, pipeline

    def run(self, rounds, seconds):
        requests = {}
        for name, variant in self.variants.items():
            rate = self.bench.measure(variant, self.pipeline, 20_000 * self.pipeline)
            requests[name] = int(rate * seconds)
        for number in range(rounds):
            self.round(alternating(self.variants, number),
                       lambda name: self.measure(self.variants[name], requests[name]))

    def measure(self, variant, requests):
        with Meter(self.bench) as meter:
            rate = self.bench.measure(variant, self.pipeline, requests)
        return Sample(rate=rate, disturbance=meter.disturbance, load=meter.load,
                      cpu=meter.servers[variant.server] / requests * 1e6)

    def verdict(self, what, name, base, needed):
        """(met, what, reached, needed) of a variant's rate beside another's; the last three are texts."""
        reached = self.ratio(name, base)
        busy = ' (busy)' if self.doubtful else ''
        return reached >= needed, what, f'{reached:.2f}x{busy}', f'>= {needed}x'

    def table(self):
        base = next(iter(self.variants))
        lines = [f'\npipelines of {self.pipeline}',
                 f'  {"":24}{"requests/s":>12}{"/ " + base:>14}   {"CPU us/request":>14}'
                 f'{"load, cores":>13}']
        for name in self.variants:
            lines.append(f'  {name:24}{self.median(name):12,.0f}{self.ratio(name, base):14.3f}   '
                         f'{self.median(name, "cpu"):14.3f}{self.median(name, "load"):13.2f}')
        return '\n'.join([*lines, *self.notes()])


def compare(build, rounds, seconds, say):
    """Runs all stages. Returns [(met, target, reached, needed)]; the last three are texts."""
    say(machine.settle_network())
    targets = []
    with Bench(build) as bench:
        bench.start_redis()
        bench.start_headgate()
        say(f'servers on processor {bench.server_core}, redis-benchmark with {CONNECTIONS} '
            f'connections on {bench.load_core}; {rounds} rounds of {seconds} s; {KEYS:,} keys; '
            f'{bench.redis("INFO", "server").split("redis_version:")[1].split()[0]} is Redis')
        script = bench.redis('SCRIPT', 'LOAD', (HERE / 'gcra.lua').read_text())
        ping = Variant('Redis PING', 'redis', 'PING')
        get = Variant('Redis GET', 'redis', 'GET', 'key:__rand_int__')
        lua = Variant('Redis Lua limiter', 'redis', 'EVALSHA', script, 1, KEY,
                      PERIOD * 1_000_000 // COUNT, BURST + 1, 1)
        throttle = Variant('CL.THROTTLE', 'headgate', 'CL.THROTTLE', KEY, BURST, COUNT, PERIOD)
        # Gives every key a value, and a state.
        bench.measure(Variant('Redis SET', 'redis', 'SET', 'key:__rand_int__', '0123456789abcdef'), 64,
                  10 * KEYS)
        for variant in (lua, throttle):
            bench.measure(variant, 64, 10 * KEYS)

        def stage(pipeline, *variants):
            made = Stage(bench, pipeline, variants)
            made.run(rounds, seconds)
            say(made.table())

            def target(base, needed):
                targets.append(made.verdict(f'CL.THROTTLE beside {base.name}, pipelines of {pipeline}',
                                            throttle.name, base.name, needed))
            return made, target

        alone, target = stage(1, ping, throttle)
        target(ping, 1.0)
        rates = {ping: [], throttle: []}
        for _ in range(rounds):
            for variant, reached in rates.items():
                result = bench.measure_lean(variant, seconds)
                reached.append(result['requests'] / result['seconds'])
        pings, throttles = (statistics.median(reached) for reached in rates.values())
        say(f'  with a lighter load generator: {pings:,.0f} and {throttles:,.0f} requests/s, '
            f'{throttles / pings:.3f}')
        _, target = stage(16, get, lua, throttle)
        target(get, 1.0)
        target(lua, 8.0)
        _, target = stage(64, get, throttle)
        target(get, 1.2)

        rate = alone.median(throttle.name) / 2
        p99 = statistics.median(bench.measure_lean(throttle, seconds, rate)['p99']
                                for _ in range(rounds))
        say(f'\nCL.THROTTLE at half of that load, {rate:,.0f}/s: 99 % within {p99:,.0f} us of when '
            'they were due')
        targets.append((p99 <= P99_MAX, 'CL.THROTTLE at half the load, 99 % within',
                        f'{p99:,.0f} us', f'<= {P99_MAX:,.0f} us'))

        before = bench.resident('headgate')
        bench.measure(throttle, 64, MEMORY_DECISIONS)
        growth = bench.resident('headgate') - before
        say(f'memory over {MEMORY_DECISIONS:,} decisions: {before:.1f} MiB, then {growth:+.2f} MiB')
        targets.append((growth <= GROWTH_MAX,
                        f'memory grows over {MEMORY_DECISIONS:,} decisions by',
                        f'{growth:.2f} MiB', f'<= {GROWTH_MAX} MiB'))
    return targets


if __name__ == '__main__':
    alone.run('resp.py', 'headgate serve --resp beside Redis', compare)
