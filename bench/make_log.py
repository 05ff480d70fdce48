#!/usr/bin/python3
"""Makes a large access log from a small one: repeats it, each copy later than the one before it, and
now and then with other clients, so that there are more of them, too.

  bench/make_log.py SMALL.log LARGE.log [BYTES]

The lines keep their order, so that a log whose lines are out of order stays so.
"""
import calendar
import pathlib
import re
import sys
import time

GIB = 2**30
LINE = re.compile(rb'^(\d+)\.(\S+)( [^\[]*\[)([^\]]*)( [+-]\d{4}\] .*\n)$')
STAMP = '%d/%b/%Y:%H:%M:%S'
# Copies with the same clients before others take their places: 1 GiB made from 2.3 MB has 46 times as
# many clients.
COPIES_PER_CLIENT = 10


def read(path):
    """The lines as (first octet, rest of the client, middle, time, end); others stay as they are."""
    for line in path.open('rb'):
        found = LINE.match(line)
        if not found:
            yield line
            continue
        octet, client, middle, stamp, end = found.groups()
        try:
            at = calendar.timegm(time.strptime(stamp.decode(), STAMP))
        except ValueError:  # such as February 30th
            yield line
            continue
        yield int(octet), b'.' + client + middle, at, end


def copy(lines, shift, step):
    stamps = {}
    for line in lines:
        if isinstance(line, bytes):
            yield line
            continue
        octet, middle, at, end = line
        stamp = stamps.get(at)
        if stamp is None:
            stamp = stamps[at] = time.strftime(STAMP, time.gmtime(at + shift)).encode()
        yield b'%d%b%b%b' % ((octet + step) % 223 + 1, middle, stamp, end)


def make(small, large, size):
    """Writes `large` of at least `size` bytes, unless it is there. Returns how many lines it has."""
    lines = list(read(small))
    times = [line[2] for line in lines if not isinstance(line, bytes)]
    span = max(times) - min(times) + 1
    copies = -(-size // small.stat().st_size)
    partial = large.with_suffix('.part')
    if not large.exists():
        with partial.open('wb') as out:
            for i in range(copies):
                out.writelines(copy(lines, i * span, i // COPIES_PER_CLIENT))
        partial.rename(large)
    return copies * len(lines)


if __name__ == '__main__':
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    made = make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]),
                int(sys.argv[3]) if len(sys.argv) == 4 else GIB)
    print(f'{made:,} lines')
