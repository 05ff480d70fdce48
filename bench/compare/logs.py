"""headgate simulate beside GoAccess: time and memory of each for a large access log."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'tests'), str(HERE.parent)]
import make_log  # noqa: E402
from support.access_log import large  # noqa: E402

POLICY = 'version: 1\npolicies:\n  - {name: burst, quota: 60, window: 1m}\n'
MEMORY_MAX = 512.0  # MiB
GIB = make_log.GIB
SPEED_MIN = 1e6  # lines per second
FACTOR_MIN = 2.0  # times as fast as GoAccess


def run(command):
    """Runs a program to its end; returns its time [s] and its peak memory [MiB]."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    if process.returncode != 0:
        raise RuntimeError(f'{command[0]} ended with status {process.returncode}')
    return seconds, usage.ru_maxrss / 1024


def compare(headgate, rounds, size, say):
    """Prints the table of lines per second by tool; yields (met, name, reached, needed)."""
    with tempfile.TemporaryDirectory(prefix='headgate-bench-', dir='/var/tmp') as folder:
        folder = pathlib.Path(folder)
        log = folder / 'access.log'
        small = folder / 'small.log'
        small.write_text(large())
        lines = make_log.make(small, log, size)
        (folder / 'policy.yaml').write_text(POLICY)
        tools = {'headgate simulate': [headgate, 'simulate', '--json', '--config',
                                       folder / 'policy.yaml', log]}
        if shutil.which('goaccess'):
            tools['goaccess'] = ['goaccess', log, '--log-format=COMBINED', '--no-global-config',
                                 '--no-progress', '-o', folder / 'out.json']
        with log.open('rb') as file:  # fills the page cache, so that both read from memory
            while file.read(1 << 20):
                pass
        best = {}
        for i in range(rounds):
            for name, command in tools.items():
                if name == 'goaccess' and i > 0:
                    continue  # it takes a minute, and its times hardly differ
                took = run(command)
                best[name] = min(best.get(name, took), took)
    say(f'{log.name}: {size / 2**20:,.0f} MiB, {lines:,} lines, one policy\n')
    say(f'{"tool":<20}{"seconds":>10}{"lines a second":>18}{"memory [MiB]":>16}')
    for name, (seconds, memory) in best.items():
        say(f'{name:<20}{seconds:>10.1f}{lines / seconds:>18,.0f}{memory:>16,.0f}')
    seconds, memory = best['headgate simulate']
    yield lines / seconds >= SPEED_MIN, 'simulate, lines a second', f'{lines / seconds:,.0f}', '>= 1,000,000'
    yield memory < MEMORY_MAX, 'simulate, memory for 1 GiB of log', f'{memory:.0f} MiB', '< 512 MiB'
    if 'goaccess' in best:
        factor = best['goaccess'][0] / seconds
        yield factor >= FACTOR_MIN, 'simulate beside GoAccess', f'{factor:.1f}x', '>= 2x'


if __name__ == '__main__':
    MEGABYTES = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    for verdict in compare(sys.argv[1], 3, MEGABYTES * 2**20, print):
        print(*verdict)
