"""Servers to fetch from: headgate under each algorithm, express-rate-limit, and one that sends only Retry-After.

Each serves a limit of its own at a path, and distinguishes clients by the header X-Run.
"""
import pathlib
import subprocess

from support import npm
from support.environment import ROOT
from support.processes import Lines, stop

HERE = pathlib.Path(__file__).resolve().parent
# Seconds until a server counts as one that does not start: nginx and node on a busy machine need about ten.
PATIENCE = 120

ALGORITHMS = ('linear', 'exponential', 'fixed-window', 'sliding-window-counter', 'moving-window',
              'concurrency')
EXPRESS_FORMS = ('draft-6', 'draft-7', 'draft-8', 'legacy')


class Server:
    """A process that writes its port in the first line that matches `pattern` on one of its pipes."""

    def __init__(self, command, pattern, pipe='stdout', **options):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, text=True,
                                        start_new_session=True,
                                        **{'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL,
                                           pipe: subprocess.PIPE, **options})
        try:
            found = Lines(getattr(self.process, pipe)).until(pattern, PATIENCE)
        except AssertionError as error:
            self.stop()
            raise RuntimeError(f'{command[0]} did not start: {error}') from None
        self.url = f'http://127.0.0.1:{found[1]}'

    def stop(self):
        stop(self.process)


def policies(quota, window):
    """A policy file with one policy per algorithm."""
    lines = ['version: 1', 'policies:']
    for name in ALGORITHMS:
        limit = ('quota: 4, unit: concurrent-requests' if name == 'concurrency' else
                 f'quota: {quota}, window: {window}s')
        lines.append(f'  - {{name: {name}, {limit}, algorithm: {name}, '
                     f'match: [{{path: "/{name}/*"}}], key: ["header:x-run"]}}')
    return '\n'.join(lines) + '\n'


class Servers:
    """All of them. `urls`: name of a limit -> its URL; `missing`: name -> why it could not be started."""

    def __init__(self, headgate, scratch, quota, window, peers=None):
        self.running = []
        self.urls = {}
        self.missing = {}
        self.scratch = pathlib.Path(scratch)
        try:
            self.start_headgate(headgate, quota, window)
            bucket = self.start([HERE / 'plain_server.py', quota / window, quota], r'^(\d+)$')
            self.urls['429 and Retry-After'] = bucket.url
            try:
                self.start_express(peers or self.scratch / 'peers', quota, window)
            except npm.Unavailable as why:
                self.missing['express-rate-limit'] = str(why)
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for server in reversed(self.running):
            server.stop()

    def start(self, *arguments, **options):
        self.running.append(Server(*arguments, **options))
        return self.running[-1]

    def start_headgate(self, headgate, quota, window):
        upstream = self.start([HERE / 'plain_server.py'], r'^(\d+)$')
        file = self.scratch / 'policies.yaml'
        file.write_text(policies(quota, window))
        gateway = self.start([headgate, 'gateway', '--config', file, '--upstream', upstream.url,
                              '--listen', '127.0.0.1:0'],
                             r'listening on http://127\.0\.0\.1:(\d+)', pipe='stderr')
        for name in ALGORITHMS:
            self.urls[f'headgate, {name}'] = f'{gateway.url}/{name}'

    def start_express(self, folder, quota, window):
        npm.install(ROOT / 'tests/fetch/peers', folder)
        express = self.start(['node', folder / 'express.js', quota, window * 1000], r'^(\d+)$')
        for form in EXPRESS_FORMS:
            self.urls[f'express-rate-limit, {form}'] = f'{express.url}/{form}'
