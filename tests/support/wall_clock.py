"""The wall clock of programs that a test starts, by the library of faketime."""
import glob
import pathlib

import pytest


class WallClock:
    """Is ahead of the machine's by so many seconds. The monotonic clock stays as it is."""

    def __init__(self, directory):
        [self.library] = glob.glob('/usr/lib/*/faketime/libfaketime.so.1') or [None]
        if self.library is None:
            pytest.skip('the package faketime is not installed')
        self.file = pathlib.Path(directory) / 'time'
        self.set(0)

    @property
    def environment(self):
        # The file is read at each call.
        # jemalloc asks for the time before the library is ready: libc's malloc takes its place.
        return {'LD_PRELOAD': f'{self.library} libc.so.6', 'FAKETIME_TIMESTAMP_FILE': str(self.file),
                'FAKETIME_NO_CACHE': '1', 'FAKETIME_DONT_FAKE_MONOTONIC': '1',
                'FAKETIME_DISABLE_SHM': '1'}

    def set(self, seconds):
        draft = self.file.with_suffix('.draft')
        draft.write_text(f'{seconds:+d}')
        draft.rename(self.file)
