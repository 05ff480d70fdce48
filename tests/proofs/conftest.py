import subprocess

import pytest

from support.environment import ROOT


@pytest.fixture
def prove():
    """prove(...) runs proofs/prove."""
    def run(*arguments):
        return subprocess.run([ROOT / 'proofs/prove', *arguments], text=True, capture_output=True, check=False)
    return run
