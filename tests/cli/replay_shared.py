"""Runs ../shared/check/replay.py, if it is there, on the algorithms that there are."""
import pathlib
import subprocess
import sys

ALGORITHMS = ['linear_lenient', 'linear_strict', 'linear_penalty']
SKIPPED = 77

replay = pathlib.Path(__file__).resolve().parents[3] / 'shared' / 'check' / 'replay.py'
if not replay.exists():
    print(f'skipped: there is no {replay}; tests/cli/test_vectors.py replays our own copies')
    sys.exit(SKIPPED)
sys.exit(subprocess.run([sys.executable, replay, sys.argv[1], *ALGORITHMS]).returncode)
