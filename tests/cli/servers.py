"""A gateway as a child process, and an upstream that shows what reached it."""
import http.client
import http.server
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading

from conftest import HEADGATE

PATIENCE = 30  # seconds until a wait counts as a failure; nothing is ever waited for by time


class Lines:
    """The lines of a pipe, as they come."""

    def __init__(self, pipe):
        self.seen = []
        self.queue = queue.Queue()
        threading.Thread(target=self.read, args=(pipe,), daemon=True).start()

    def read(self, pipe):
        with pipe:
            for line in pipe:
                self.queue.put(line.rstrip('\n'))
        self.queue.put(None)

    def until(self, pattern):
        """The match of the first line from here on that has `pattern`."""
        while True:
            try:
                line = self.queue.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f'no {pattern!r} in {PATIENCE} s, but {self.seen}') from None
            if line is None:
                raise AssertionError(f'no {pattern!r} until the end, but {self.seen}')
            self.seen.append(line)
            if match := re.search(pattern, line):
                return match

    def rest(self):
        while (line := self.queue.get(timeout=PATIENCE)) is not None:
            self.seen.append(line)
        return self.seen


class Gateway:
    """headgate gateway, listening on a free port once it is made."""

    def __init__(self, directory, policies, upstream, *arguments, prefix=(), program=HEADGATE,
                 wait=True):
        self.policy_file = pathlib.Path(directory) / 'policies.yaml'
        self.policy_file.write_text(policies)
        self.temporary = pathlib.Path(directory) / 'tmp'
        self.temporary.mkdir(exist_ok=True)
        self.temporary.chmod(0o1777)
        command = [*prefix, str(program), 'gateway', '--config', str(self.policy_file), '--upstream',
                   upstream, *arguments]
        if '--listen' not in arguments:
            command += ['--listen', '127.0.0.1:0']
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=os.environ | {'TMPDIR': str(self.temporary)})
        self.errors = Lines(self.process.stderr)
        self.output = Lines(self.process.stdout)
        if wait:
            listening = self.errors.until(
                r'^headgate: listening on http://127\.0\.0\.1:(\d+) -> (\S+?),?( |$)')
            self.port = int(listening[1])

    def connect(self):
        return http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE)

    def request(self, method='GET', path='/', body=None, headers={}, **more):
        connection = self.connect()
        try:
            connection.request(method, path, body, headers, **more)
            response = connection.getresponse()
            response.text = response.read().decode()
            return response
        finally:
            connection.close()

    def seen_upstream(self, *arguments, **options):
        """What the echoing upstream saw of a request."""
        response = self.request(*arguments, **options)
        assert response.status == 200, (response.status, response.text)
        return json.loads(response.text)

    def send(self, number):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(timeout=PATIENCE)

    def stop(self, number=signal.SIGINT):
        self.send(number)
        return self.wait()

    def left_behind(self):
        return sorted(os.listdir(self.temporary))

    def nginx(self):
        """Process ids of nginx's master and workers."""
        masters = children(self.process.pid)
        return masters + [worker for master in masters for worker in children(master)]

    def end(self):
        for _ in range(2):  # the second one does not wait for connections
            if self.process.poll() is None:
                self.send(signal.SIGTERM)
        self.wait()


def children(pid):
    return [int(child) for child in
            pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def runs(pid):
    try:
        state = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in 'ZX'


class Upstream:
    """Answers with what it saw, as JSON. /hold/ answers once `release` is set, and sets `held`."""

    def __init__(self):
        held, release = self.held, self.release = threading.Event(), threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                if self.headers.get('Upgrade'):
                    return self.upgrade()
                if self.path == '/hold/':
                    held.set()
                    release.wait(PATIENCE)
                if 'chunked' in self.headers.get('Transfer-Encoding', ''):
                    size = 0
                    while count := int(self.rfile.readline(), 16):
                        size += len(self.rfile.read(count))
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    size = len(self.rfile.read(int(self.headers.get('Content-Length') or 0)))
                body = json.dumps({'path': self.path, 'body_bytes': size,
                                   'headers': {name.lower(): self.headers.get_all(name)
                                               for name in self.headers}}).encode()
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                if self.command != 'HEAD':
                    self.wfile.write(body)

            do_POST = do_HEAD = do_GET

            def upgrade(self):
                self.send_response(101)
                self.send_header('Upgrade', self.headers['Upgrade'])
                self.send_header('Connection', 'upgrade')
                self.end_headers()
                self.wfile.write(self.rfile.readline().upper())
                self.close_connection = True

            def version_string(self):
                return 'echo/1'

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_port}'
        threading.Thread(target=self.server.serve_forever, kwargs={'poll_interval': 0.02},
                         daemon=True).start()

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
