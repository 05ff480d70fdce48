"""Servers that send any bytes."""
import contextlib
import socket
import threading

from support.environment import PATIENCE


class Listener:
    """A listener on a free port, with a thread for each connection that calls serve(client)."""

    def __init__(self):
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.url = f'http://127.0.0.1:{self.port}'
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        # Wakes accept(), which close() alone does not.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        raise NotImplementedError


class Tunnels(Listener):
    """An HTTP proxy that makes tunnels (CONNECT)."""

    def serve(self, client):
        with contextlib.suppress(OSError), client, client.makefile('rb', 0) as lines:
            _, target, _ = read_head(lines)
            host, _, port = target.rpartition(':')
            with socket.create_connection((host, int(port)), PATIENCE) as server:
                client.sendall(b'HTTP/1.1 200 OK\r\n\r\n')
                back = threading.Thread(target=copy, args=(server, client), daemon=True)
                back.start()
                copy(client, server)
                back.join()


def copy(source, target):
    """Passes bytes on until the source ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def read_head(lines):
    """(method, path, [(name, value)]) of the next request; None at the end of the connection."""
    first = lines.readline()
    if not first:
        return None
    method, path, _ = first.decode('latin-1').split(' ', 2)
    headers = []
    while (line := lines.readline()) not in (b'\r\n', b''):
        name, _, value = line.decode('latin-1').partition(':')
        headers.append((name.strip(), value.strip()))
    return method, path, headers


class Slow(Listener):
    """Holds each response back while `go` is not set; it is at first."""

    def __init__(self):
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Semaphore(0)
        super().__init__()

    def hold(self):
        self.go.clear()
        while self.begun.acquire(blocking=False):
            pass

    def serve(self, client):
        with client, client.makefile('rb') as lines, contextlib.suppress(OSError):
            while read_head(lines):
                self.begun.release()
                self.go.wait(PATIENCE)
                client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')


class RawServer(Listener):
    """Answers each request with the bytes that answer(path, number, headers) returns or yields.

    `number` counts the requests to that path, from 0. Keeps connections open, unless the bytes have
    Connection: close, or are None, which closes the connection without an answer.
    """

    def __init__(self, answer):
        self.answer = answer
        self.lock = threading.Lock()
        self.paths = []  # in the order of arrival
        self.headers = []
        super().__init__()

    def serve(self, client):
        with client, client.makefile('rb') as lines, contextlib.suppress(OSError, ValueError):
            while head := read_head(lines):
                _, path, pairs = head
                headers = {name.lower(): value for name, value in pairs}
                with self.lock:
                    number = self.paths.count(path)
                    self.paths.append(path)
                    self.headers.append(headers)
                answer = self.answer(path, number, headers)
                if answer is None:
                    return
                close = False
                for part in [answer] if isinstance(answer, bytes) else answer:
                    client.sendall(part)
                    close = close or b'connection: close' in part.lower()
                if close:
                    return


class Upstream(Listener):
    """Answers each request with answer(method, path, headers, body) -> (status, headers, body).

    Sends the header lines exactly as given. A status of None closes the connection without an answer;
    after 101 it echoes. `requests` has (method, path) of each.
    """

    def __init__(self, answer=lambda *_: (200, [], b'from upstream')):
        self.answer = answer
        self.requests = []
        super().__init__()

    def serve(self, client):
        with client, client.makefile('rb') as lines, contextlib.suppress(OSError, ValueError):
            if (head := read_head(lines)) is None:
                return
            method, path, headers = head
            length = next((int(v) for k, v in headers if k.lower() == 'content-length'), 0)
            body = lines.read(length)
            self.requests.append((method, path))
            status, out, body = self.answer(method, path, headers, body)
            if status is None:
                return
            head = [f'HTTP/1.1 {status} Reason'] + [f'{k}: {v}' for k, v in out]
            if status == 101:
                client.sendall('\r\n'.join(head).encode('latin-1') + b'\r\n\r\n')
                while data := client.recv(4096):
                    client.sendall(data)
                return
            head += [f'Content-Length: {len(body)}', 'Connection: close']
            client.sendall('\r\n'.join(head).encode('latin-1') + b'\r\n\r\n' +
                           (b'' if method == 'HEAD' else body))


def response(status=200, fields=(), body=b'', close=False):
    """The bytes of a response."""
    lines = [f'HTTP/1.1 {status} Reason', *(f'{name}: {value}' for name, value in fields)]
    lines.append(f'Content-Length: {len(body)}')
    if close:
        lines.append('Connection: close')
    return '\r\n'.join(lines).encode('latin-1') + b'\r\n\r\n' + body
