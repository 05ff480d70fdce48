import os
import pathlib
import subprocess

import pytest

HEADGATE = os.environ['HEADGATE']
ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def headgate(tmp_path):
    """Runs the command to its end and returns what it did."""
    def run(*arguments, **options):
        return subprocess.run([HEADGATE, *map(str, arguments)], capture_output=True, text=True,
                              cwd=tmp_path, timeout=60, stdin=subprocess.DEVNULL, **options)
    return run
