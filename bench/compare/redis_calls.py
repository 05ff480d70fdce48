#!/usr/bin/python3
"""The processor time that Redis needs for a call of headgate's script, beside other ways to limit.

    redis_calls.py [--rounds 5] [--calls 100000]

Calls are sent over one connection in pipelines of 16, for keys in random order; the time is that of Redis'
main thread (/proc/PID/task/PID/schedstat), the reading and writing of the socket included. The variants take
turns; the table has the median, the least and the most of the rounds. The last lines are the bytes per key.
"""
import argparse
import pathlib
import random
import socket
import statistics
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import machine  # noqa: E402
from programs import Programs, program, wait_until  # noqa: E402

TAKE = (HERE.parents[1] / 'headgate/redis/take.lua').read_text()
GCRA = (HERE / 'gcra.lua').read_text()
KEYS = 100_000
PIPELINE = 16
# So large that no key is denied: a denial would not write. So long that no key expires [ns].
QUOTA, INTERVAL = 1_000_000, 60 * 10**9
AIMS = {'take.lua, one linear policy': 8.5, 'take.lua, each further policy': 3.5, 'a swapped law': 13}


class Redis:
    """One connection."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.file = self.socket.makefile('rb', buffering=1 << 16)

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b'-':
            raise RuntimeError(f'Redis replied {rest.decode()}')
        if kind in b'+:':
            return rest
        size = int(rest)
        if kind == b'$':
            return None if size < 0 else self.file.read(size + 2)[:-2]
        return [self.reply() for _ in range(size)]

    def call(self, *words):
        self.socket.sendall(encoded(*words))
        return self.reply()


def encoded(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word) for word in words)


def linear(cost=1):
    """One charge, as headgate/redis/linear_args.cc writes it."""
    window = QUOTA * INTERVAL
    spans = [part for span in (cost * INTERVAL, window, window) for part in divmod(span, 10**9)]
    return struct.pack('<Bddddddd', 1, 1, *spans)


def bundle(charges, writes=0):
    """One bundle, as headgate/redis/script_call.cc writes it."""
    return bytes([charges, 0, writes, 1])


def key(policy, number):
    client = f'10.{number >> 16}.{number >> 8 & 255}.{number & 255}'
    return f'hg:{chr(len(policy))}{policy}{{{chr(len(client))}{client}}}'


class Variants:
    def __init__(self, redis):
        self.take, self.gcra, self.no_op = (
            redis.call('SCRIPT', 'LOAD', script).decode() for script in (TAKE, GCRA, 'return 1'))

    def get(self, number):
        return [encoded('GET', key('get', number))]

    def none(self, number):
        return [encoded('EVALSHA', self.no_op, 1, key('none', number))]

    def hand_written(self, number):
        return [encoded('EVALSHA', self.gcra, 1, key('gcra', number), INTERVAL // 1000, QUOTA, 1)]

    def policies(self, count):
        def calls(number):
            keys = [key(f'p{i}', number) for i in range(count)]
            return [encoded('EVALSHA', self.take, count, *keys, '', linear() * count, bundle(count))]
        return calls

    def bundles(self, count):
        """So many clients' requests, which came together."""
        def calls(number):
            keys = [key('p0', (number + i * 7919) % KEYS) for i in range(count)]
            return [encoded('EVALSHA', self.take, count, *keys, '', linear() * count, bundle(1) * count)]
        return calls

    def swapped(self, number):
        """The two calls of a fixed window: the state is read, and written. (Always the same one here.)"""
        name, state = key('fixed', number), b'x' * 24
        time = struct.pack('<ddd', 1_700_000_000, 0, 1000)
        return [encoded('MGET', name) + encoded('TIME'),
                encoded('EVALSHA', self.take, 1, name, time, '', bundle(0, 1), state, 1, state, 61000, '', 0)]

    def envoy(self, count):
        """What envoyproxy/ratelimit sends for so many limits."""
        def calls(number):
            names = [key(f'envoy{i}', number) for i in range(count)]
            return [b''.join(encoded('INCRBY', name, 1) + encoded('EXPIRE', name, 60) for name in names)]
        return calls


def processor_time(pid):
    """Of the main thread [us]."""
    return int(pathlib.Path(f'/proc/{pid}/task/{pid}/schedstat').read_text().split()[0]) / 1000


def measure(redis, pid, calls_of, calls):
    """Returns the processor time per call [us]."""
    replies_of = [part.count(b'\r\n*') + 1 for part in calls_of(0)]
    numbers = [random.randrange(KEYS) for _ in range(calls)]
    began = processor_time(pid)
    for first in range(0, calls, PIPELINE):
        parts = [calls_of(number) for number in numbers[first:first + PIPELINE]]
        for step, replies in enumerate(replies_of):
            redis.socket.sendall(b''.join(part[step] for part in parts))
            for _ in range(len(parts) * replies):
                redis.reply()
    return (processor_time(pid) - began) / calls


def used_memory(redis):
    lines = redis.call('INFO', 'memory').decode().split('\r\n')
    return int(dict(line.split(':') for line in lines if ':' in line)['used_memory'])


def bytes_per_key(redis, calls_of):
    """What KEYS keys take, those of Redis' tables included."""
    redis.call('FLUSHALL', 'SYNC')
    before = used_memory(redis)
    for number in range(KEYS):
        for part in calls_of(number):
            redis.socket.sendall(part)
            for _ in range(part.count(b'\r\n*') + 1):
                redis.reply()
    return (used_memory(redis) - before) / int(redis.call('DBSIZE'))


def compare(rounds, calls, say):
    with Programs() as programs:
        path = programs.directory / 'redis.sock'
        process = programs.spawn([program('redis-server'), '--port', 0, '--unixsocket', path, '--save', '',
                                  '--appendonly', 'no'], programs.server_core, stdout=subprocess.DEVNULL)
        wait_until(path.exists, process)
        redis = Redis(path)
        variants = Variants(redis)
        # What is sent, and as how much it counts, so that rows take about as long.
        rows = {'GET': (variants.get, 1), 'a script that does nothing': (variants.none, 1),
                'gcra.lua, by hand': (variants.hand_written, 1),
                'take.lua, one linear policy': (variants.policies(1), 1),
                'take.lua, two': (variants.policies(2), 1), 'take.lua, ten': (variants.policies(10), 5),
                'take.lua, 32 requests of one linear policy': (variants.bundles(32), 16),
                'a swapped law': (variants.swapped, 1),
                'INCRBY and EXPIRE, as envoyproxy/ratelimit': (variants.envoy(1), 1),
                'the same for ten limits': (variants.envoy(10), 5)}
        # Every key exists, and a swap finds the state that it expects.
        for number in range(KEYS):
            redis.call('SET', key('fixed', number), b'x' * 24, 'PX', 3_600_000)
        for calls_of, weight in rows.values():
            measure(redis, process.pid, calls_of, calls // 10 // weight)
        taken = {name: [] for name in rows}
        for _ in range(rounds):
            for name, (calls_of, weight) in rows.items():
                taken[name].append(measure(redis, process.pid, calls_of, calls // weight))
        say('| call | us, median | least | most |\n| --- | --- | --- | --- |')
        for name, times in taken.items():
            say(f'| {name} | {statistics.median(times):.2f} | {min(times):.2f} | {max(times):.2f} |')
        medians = {name: statistics.median(times) for name, times in taken.items()}
        medians['take.lua, each further policy'] = (
            medians['take.lua, ten'] - medians['take.lua, one linear policy']) / 9
        for name, aim in AIMS.items():
            yield medians[name] <= aim, f'{name}, of Redis\' processor time', f'{medians[name]:.2f} us', f'<= {aim} us'
        size = bytes_per_key(redis, variants.policies(1))
        yield size <= 120, 'a key of one linear policy', f'{size:.0f} bytes', '<= 120 bytes'


def main():
    parser = argparse.ArgumentParser(prog='redis_calls.py', description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--calls', type=int, default=100_000, help='of each variant in a round')
    options = parser.parse_args()
    machine.end_orderly()
    for met, name, reached, needed in compare(options.rounds, options.calls,
                                              lambda text: print(text, flush=True)):
        print(f'{"met    " if met else "NOT MET"}  {name}: {reached}, target {needed}')


if __name__ == '__main__':
    main()
