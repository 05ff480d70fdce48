"""Real servers to fetch from: headgate under each algorithm, express-rate-limit, and one that tells only
Retry-After. Each serves a limit of its own at a path, and tells clients apart by the header X-Run."""
import contextlib
import os
import pathlib
import queue
import re
import shutil
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 120  # seconds until a server counts as one that does not start

ALGORITHMS = ('linear', 'exponential', 'fixed-window', 'sliding-window-counter', 'moving-window',
              'concurrency')
EXPRESS_FORMS = ('draft-6', 'draft-7', 'draft-8', 'legacy')


class Unavailable(Exception):
    """Something that a server needs is not there."""


class Server:
    """A process that says its port in the first line that matches `pattern` on one of its pipes."""

    def __init__(self, command, pattern, pipe='stdout', **options):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, text=True,
                                        start_new_session=True,
                                        **{'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL,
                                           pipe: subprocess.PIPE, **options})
        lines = queue.Queue()
        stream = getattr(self.process, pipe)

        def read():
            for line in stream:
                lines.put(line)
            lines.put(None)
        threading.Thread(target=read, daemon=True).start()
        said = []
        try:
            while not (match := re.search(pattern, said[-1] if said else '')):
                said.append(lines.get(timeout=PATIENCE))
                if said[-1] is None:
                    raise RuntimeError(f'{command[0]} ended: {said}')
        except BaseException:
            self.stop()
            raise
        self.url = f'http://127.0.0.1:{match[1]}'

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def policies(quota, window):
    """A policy file with one policy an algorithm."""
    lines = ['version: 1', 'policies:']
    for name in ALGORITHMS:
        limit = ('quota: 4, unit: concurrent-requests' if name == 'concurrency' else
                 f'quota: {quota}, window: {window}s')
        lines.append(f'  - {{name: {name}, {limit}, algorithm: {name}, '
                     f'match: [{{path: "/{name}/*"}}], key: ["header:x-run"]}}')
    return '\n'.join(lines) + '\n'


class Servers:
    """All of them. urls: name of the limit -> URL it stands for; missing: what could not be started."""

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
            except Unavailable as why:
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
        install(folder)
        express = self.start(['node', folder / 'express.js', quota, window * 1000], r'^(\d+)$')
        for form in EXPRESS_FORMS:
            self.urls[f'express-rate-limit, {form}'] = f'{express.url}/{form}'


def install(folder):
    """npm ci of the peers into a folder; Unavailable if npm or its registry is not there."""
    folder = pathlib.Path(folder)
    for program in ('node', 'npm'):
        if shutil.which(program) is None:
            raise Unavailable(f'there is no {program}; ./dev deps installs it')
    folder.mkdir(parents=True, exist_ok=True)
    for file in ('package.json', 'package-lock.json', 'express.js'):
        shutil.copyfile(HERE / 'peers' / file, folder / file)
    if (folder / 'node_modules/.package-lock.json').exists():
        return
    done = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(['npm', 'ci', '--no-audit', '--no-fund', '--ignore-scripts'], cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
                              env=os.environ | {'npm_config_update_notifier': 'false'})
    if done is None or done.returncode != 0:
        words = done.stderr.strip().splitlines()[-1:] if done else ['no answer']
        raise Unavailable(f'npm ci: {"".join(words)}')
