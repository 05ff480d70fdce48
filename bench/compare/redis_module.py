#!/usr/bin/python3
"""The processor time that Redis needs for a call of headgate's module, beside scripts, GET and SET.

    redis_module.py [--module build/release/modules/headgate_redis.so] [--rounds 5] [--calls 100000]

Calls are sent as redis_calls.py does: over one connection in pipelines of 16, for keys in random order.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import machine  # noqa: E402
from programs import Programs, program, wait_until  # noqa: E402
from redis_calls import Redis, Variants, bundle, bytes_per_key, encoded, key, linear, measure  # noqa: E402

# As in redis_calls.py: no key is denied, and none expires.
LAWS = {'linear': '1000000/60000000s', 'fixed-window': 'fixed-window:1000000/1d',
        'sliding-window-counter': 'sliding-window-counter:1000000/1d', 'exponential': 'exponential:1000000/1d'}
ONE, TEN = 'HG.TAKE, one linear key', 'HG.TAKE, ten'
THROTTLE = 'CL.THROTTLE'


# So many units that a key is there for hours, while the bytes of all keys are counted.
MANY = 1000


def take(law, keys=1, cost=1):
    def calls(number):
        charges = [word for i in range(keys) for word in (key(f'{law}{i}', number), LAWS[law], cost)]
        return [encoded('HG.TAKE', *charges)]
    return calls


def throttle(number):
    return [encoded('CL.THROTTLE', key('cell', number), 999_999, 1, 60)]


def set_px(number):
    return [encoded('SET', key('set', number), 1_700_000_000_123_456_789, 'PX', 60_000)]


def compare(module, rounds, calls, say):
    """Yields (met, what, reached, needed)."""
    with Programs() as programs:
        path = programs.directory / 'redis.sock'
        process = programs.spawn([program('redis-server'), '--port', 0, '--unixsocket', path, '--save', '',
                                  '--appendonly', 'no', '--loadmodule', module], programs.server_core,
                                 stdout=subprocess.DEVNULL)
        wait_until(path.exists, process)
        redis = Redis(path)
        scripts = Variants(redis)
        rows = {'GET': scripts.get, 'SET PX': set_px, 'gcra.lua, by hand': scripts.hand_written,
                'take.lua, one linear policy': scripts.policies(1), THROTTLE: throttle, ONE: take('linear'),
                TEN: take('linear', 10), **{f'HG.TAKE, {law}': take(law) for law in LAWS if law != 'linear'}}
        for calls_of in rows.values():
            measure(redis, process.pid, calls_of, calls // 10)
        taken = {name: [] for name in rows}
        for _ in range(rounds):
            for name, calls_of in rows.items():
                taken[name].append(measure(redis, process.pid, calls_of, calls))
        say('| call | us, median | least | most |\n| --- | --- | --- | --- |')
        for name, times in taken.items():
            say(f'| {name} | {statistics.median(times):.2f} | {min(times):.2f} | {max(times):.2f} |')
        medians = {name: statistics.median(times) for name, times in taken.items()}
        say(f'\n{ONE}: {medians[ONE] / medians["SET PX"]:.2f} of SET PX, '
            f'{medians["gcra.lua, by hand"] / medians[ONE]:.1f} times as fast as gcra.lua\n')
        limits = {name: 3.0 if name in (ONE, THROTTLE) else 4.0 for name in rows
                  if name == THROTTLE or (name.startswith('HG.TAKE') and name != TEN)}
        for name, limit in limits.items():
            yield medians[name] <= limit, f'{name}, of Redis\' processor time', f'{medians[name]:.2f} us', f'<= {limit} us'
        further = (medians[TEN] - medians[ONE]) / 9
        yield further <= 1.2, 'HG.TAKE, each further key', f'{further:.2f} us', '<= 1.2 us'
        by_script = bytes_per_key(redis, lambda number: [
            encoded('EVALSHA', scripts.take, 1, key('linear0', number), '', linear(MANY), bundle(1))])
        size = bytes_per_key(redis, take('linear', cost=MANY))
        yield size <= 100, f'a key of the module (of the script: {by_script:.0f})', f'{size:.0f} bytes', '<= 100 bytes'


def main():
    parser = argparse.ArgumentParser(prog='redis_module.py', description=__doc__.splitlines()[0])
    parser.add_argument('--module', type=pathlib.Path,
                        default=HERE.parents[1] / 'build/release/modules/headgate_redis.so')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--calls', type=int, default=100_000, help='of each variant in a round')
    options = parser.parse_args()
    machine.end_orderly()
    for met, name, reached, needed in compare(options.module.resolve(), options.rounds, options.calls,
                                              lambda text: print(text, flush=True)):
        print(f'{"met    " if met else "NOT MET"}  {name}: {reached}, target {needed}')


if __name__ == '__main__':
    main()
