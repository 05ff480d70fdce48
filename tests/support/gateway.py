"""`headgate gateway` as a child process, and an upstream that returns what it received."""
import http.client
import http.server
import json
import os
import pathlib
import signal
import subprocess
import threading

from support.environment import HEADGATE, PATIENCE
from support.http_client import request
from support.processes import Lines, children


class Gateway:
    """headgate gateway, which listens on a free port once this is made (with wait=False: later)."""

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
        return request(self.port, path, method, body, headers, **more)

    def seen_upstream(self, *arguments, **options):
        """What an Echo received of a request."""
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
        for _ in range(2):  # the second signal ends it without waiting for connections
            if self.process.poll() is None:
                self.send(signal.SIGTERM)
        self.wait()


class Echo:
    """An upstream that answers with what it received, as JSON.

    A request for /hold/ sets `held`, and is answered once `release` is set.
    """

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
