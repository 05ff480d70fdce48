"""What `./dev soak` says about figures, and a run of it that takes seconds."""
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from verdict import DESCRIPTORS, MEMORY, judge, thirds  # noqa: E402


def flat(values, allowed=MEMORY):
    return judge('figure', values, allowed)[0]


def test_noise_is_flat():
    dice = random.Random(1)
    assert flat([20_000 + dice.randrange(-500, 500) for _ in range(120)])


def test_what_grows_while_it_warms_up_is_flat():
    assert flat([1000 * n for n in range(30)] + [30_000] * 90)


def test_a_leak_is_seen():
    assert not flat([20_000 + 100 * n for n in range(120)])
    assert not flat([30 + n // 3 for n in range(120)], DESCRIPTORS)


def test_one_outlier_is_no_leak():
    assert flat([20_000] * 119 + [90_000])


def test_few_samples_are_no_verdict():
    assert thirds([1, 2]) is None
    assert not flat([1, 2])


def test_a_soak_of_seconds_ends_with_a_verdict():
    # Other tests run at the same time, so latency says nothing.
    result = subprocess.run([pathlib.Path(__file__).parent / 'run', '0.004', '--busy'], text=True,
                            capture_output=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith('verdict: flat, and no fault\n')
