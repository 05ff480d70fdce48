"""`headgate gateway` as a child process, and upstreams: one returns what it received, one streams."""
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import threading

from support.environment import HEADGATE, PATIENCE
from support.http_client import Connection, read_metrics, request
from support.processes import Lines, children
from support.raw_server import Listener, read_head


class Gateway:
    """headgate gateway, which listens on a free port once this is made (with wait=False: later)."""

    def __init__(self, directory, policies, upstream, *arguments, prefix=(), program=HEADGATE,
                 wait=True, output=None):
        """`upstream`: a URL, or a list of them. `output`: its standard output, if that is no pipe for `output`."""
        self.policy_file = pathlib.Path(directory) / 'policies.yaml'
        self.policy_file.write_text(policies)
        self.temporary = pathlib.Path(directory) / 'tmp'
        self.temporary.mkdir(exist_ok=True)
        self.temporary.chmod(0o1777)
        command = [*prefix, str(program), 'gateway', '--config', str(self.policy_file), *map(str, arguments)]
        for url in [upstream] if isinstance(upstream, str) else upstream:
            command += ['--upstream', url]
        if '--listen' not in arguments:
            command += ['--listen', '127.0.0.1:0']
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=os.environ | {'TMPDIR': str(self.temporary)})
        self.errors = Lines(self.process.stderr)
        self.output = output or Lines(self.process.stdout)
        if wait:
            listening = self.errors.until(
                r'^headgate: listening on https?://127\.0\.0\.1:(\d+) -> (\S+?),?( |$)')
            self.port = int(listening[1])
            metrics = re.search(r', metrics on http://127\.0\.0\.1:(\d+)/metrics$', listening.string)
            self.metrics_port = metrics and int(metrics[1])

    def connect(self):
        return http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE)

    def request(self, method='GET', path='/', body=None, headers={}, **more):
        return request(self.port, path, method, body, headers, **more)

    def seen_upstream(self, *arguments, **options):
        """What an Echo received of a request."""
        response = self.request(*arguments, **options)
        assert response.status == 200, (response.status, response.text)
        return json.loads(response.text)

    def metrics(self):
        return read_metrics(self.metrics_port)

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

    def __init__(self, tls=None):
        """`tls`: an ssl.SSLContext with the certificate that it shows."""
        held, release = self.held, self.release = threading.Event(), threading.Event()
        paths = self.paths = []  # of the requests whose head has arrived

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            # Head and body are two writes; the second one would wait for nginx's delayed ACK, 40 ms.
            disable_nagle_algorithm = True

            def do_GET(self):
                paths.append(self.path)
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
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f'http{"s" if tls else ""}://127.0.0.1:{self.server.server_port}'
        threading.Thread(target=self.server.serve_forever, kwargs={'poll_interval': 0.02},
                         daemon=True).start()

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


class Streaming(Listener):
    """An upstream of endless responses: server-sent events, and WebSockets that echo."""

    def __init__(self):
        self.streams = {}
        super().__init__()

    def open_events(self, gateway):
        """A client that has received the head and the first event of a response."""
        return self.open(gateway, Events)

    def open_socket(self, gateway):
        """A client whose connection is a WebSocket."""
        return self.open(gateway, WebSocket)

    def open(self, gateway, kind):
        path = f'/{len(self.streams)}'
        self.streams[path] = queue.Queue()
        return kind(gateway, path, self.streams[path])

    def serve(self, client):
        with client, client.makefile('rb') as lines, contextlib.suppress(OSError):
            _, path, headers = read_head(lines)
            if any(name.lower() == 'upgrade' for name, _ in headers):
                client.sendall(b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n'
                               b'Upgrade: websocket\r\n\r\n')
                threading.Thread(target=self.echo, args=(client, lines), daemon=True).start()
            else:
                client.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n')
            while (data := self.streams[path].get(timeout=4 * PATIENCE)) is not None:
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)

    def echo(self, client, lines):
        """Short frames only: two bytes, the mask, and the text."""
        with contextlib.suppress(OSError, ValueError):
            while head := lines.read(6):
                text = bytes(byte ^ head[2 + i % 4] for i, byte in enumerate(lines.read(head[1] & 127)))
                client.sendall(bytes([0x81, len(text)]) + text)


class Stream:
    def __init__(self, gateway, path, to_client):
        self.to_client = to_client
        self.connection = Connection(gateway.port)
        self.ask(path)

    def reads_until(self, text):
        with contextlib.suppress(OSError):
            while text not in self.connection.buffer:
                self.connection.more()
            return True
        return False

    def finish(self):
        """Makes the upstream end it."""
        self.to_client.put(None)

    def ended(self):
        """Waits for its end."""
        with contextlib.suppress(TimeoutError):
            with contextlib.suppress(OSError):
                while True:
                    self.connection.more()
            return True
        return False


class Events(Stream):
    def ask(self, path):
        self.connection.send(f'GET {path} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n'
                             'Connection: close\r\n\r\n'.encode())
        assert self.reads_until(b'\r\n\r\n') and self.hears('first')

    def hears(self, text):
        """Whether an event that the upstream sends now arrives."""
        self.to_client.put(f'data: {text}\n\n'.encode())
        return self.reads_until(f'data: {text}\n\n'.encode())


class WebSocket(Stream):
    def ask(self, path):
        self.connection.send(f'GET {path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n'
                             'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
                             'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'.encode())
        assert self.reads_until(b'\r\n\r\n') and self.hears('first')

    def hears(self, text):
        """Whether a message comes back from the upstream."""
        mask, text = b'mask', text.encode()
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(text))
        self.connection.buffer = b''
        self.connection.send(bytes([0x81, 0x80 | len(text)]) + mask + masked)
        return self.reads_until(bytes([0x81, len(text)]) + text)
