import os
import re
import subprocess

import pytest

from support.environment import HEADGATE

SUMMARY = re.compile(r'^(\d+) fetched, (\d+) denied, (\d+) failed, (\d+\.\d) s, (\d+\.\d) s waiting$')


class Result:
    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        last = (self.err.decode().splitlines() or [''])[-1]
        self.summary = SUMMARY.match(last)
        if self.summary:
            self.fetched, self.denied, self.failed = (int(self.summary[i]) for i in (1, 2, 3))
            self.seconds, self.waiting = float(self.summary[4]), float(self.summary[5])

    def __repr__(self):
        return f'status {self.code}, {self.out!r}, {self.err.decode()}'


@pytest.fixture
def fetch(tmp_path):
    """Runs headgate fetch to its end: fetch(*arguments, environment={...}) returns a Result."""
    def run(*arguments, stdin=b'', timeout=60, environment={'no_proxy': '*'}):
        return Result(subprocess.run([HEADGATE, 'fetch', *map(str, arguments)], input=stdin,
                                     capture_output=True, cwd=tmp_path, timeout=timeout,
                                     env=os.environ | environment | {'TMPDIR': str(tmp_path)}))
    return run
