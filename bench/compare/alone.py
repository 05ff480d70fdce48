"""Runs one comparison of a door, without the rest of `./dev bench`."""
import argparse
import pathlib
import sys

import machine

RELEASE = pathlib.Path(__file__).resolve().parents[2] / 'build/release'


def run(program, description, compare):
    """Is main() of a comparison: compare(build, rounds, seconds, say) -> (met, name, reached, needed)."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument('--build', type=pathlib.Path, default=RELEASE)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=int, default=5, help='of each sample')
    options = parser.parse_args()
    machine.end_orderly()
    try:
        targets = list(compare(options.build, options.rounds, options.seconds,
                               lambda text: print(text, flush=True)))
    except (RuntimeError, OSError) as error:
        sys.exit(f'{program}: {error}')
    except KeyboardInterrupt:
        sys.exit(130)
    for met, name, reached, needed in targets:
        print(f'{"met    " if met else "NOT MET"}  {name}: {reached}, target {needed}')
