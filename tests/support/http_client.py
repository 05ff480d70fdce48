"""HTTP clients: a connection byte by byte, and single requests through Python's own client."""
import contextlib
import http.client
import select
import socket

from support.environment import PATIENCE


class Response:
    def __init__(self, status, headers, body, head):
        self.status, self.headers, self.body, self.head = status, headers, body, head

    def all(self, name):
        return [v for k, v in self.headers if k.lower() == name.lower()]

    def one(self, name):
        values = self.all(name)
        assert len(values) <= 1, f'{name} occurs {len(values)} times'
        return values[0] if values else None

    @property
    def r(self):
        """r of the first member of RateLimit."""
        return int(self.one('RateLimit').split(';r=')[1].split(';')[0].split(',')[0])

    def __repr__(self):
        return f'{self.head!r} {self.body!r}'


class Connection:
    """One connection, to a port or given, for as many requests as both sides like."""

    def __init__(self, to, source='127.0.0.1'):
        self.socket = to if isinstance(to, socket.socket) else \
            socket.create_connection(('127.0.0.1', to), timeout=PATIENCE, source_address=(source, 0))
        self.buffer = b''

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, raw):
        self.socket.sendall(raw)

    def is_closed(self):
        """Whether the other side has closed it, so far. For a connection that gets no data."""
        if not select.select([self.socket], [], [], 0)[0]:
            return False
        with contextlib.suppress(OSError):
            return not self.socket.recv(1, socket.MSG_PEEK)
        return True

    def request(self, path='/', method='GET', headers=(), body=b'', version='1.1',
                host='localhost'):
        lines = [f'{method} {path} HTTP/{version}', f'Host: {host}']
        lines += [f'{k}: {v}' for k, v in headers]
        if body:
            lines.append(f'Content-Length: {len(body)}')
        self.send('\r\n'.join(lines).encode('latin-1') + b'\r\n\r\n' + body)
        return self.receive(method)

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f'closed after {self.buffer[:200]!r}')
        self.buffer += data

    def take(self, n):
        while len(self.buffer) < n:
            self.more()
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def line(self):
        while b'\r\n' not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b'\r\n', 1)
        return line

    def receive(self, method='GET'):
        """The response to a request of this method, which decides whether it has a body."""
        while b'\r\n\r\n' not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b'\r\n\r\n', 1)
        first, *lines = head.decode('latin-1').split('\r\n')
        status = int(first.split()[1])
        headers = [tuple(part.strip() for part in line.split(':', 1)) for line in lines]
        names = {k.lower(): v for k, v in headers}
        body = b''
        if method == 'HEAD' or status in (101, 204, 304):
            pass
        elif names.get('transfer-encoding') == 'chunked':
            while size := int(self.line(), 16):
                body += self.take(size)
                assert self.take(2) == b'\r\n'
            assert self.line() == b'', 'a trailer section'
        elif 'content-length' in names:
            body = self.take(int(names['content-length']))
        else:
            with contextlib.suppress(ConnectionError):
                while True:
                    self.more()
            body, self.buffer = self.buffer, b''
        return Response(status, headers, body, head.decode('latin-1'))


def read_metrics(port, path='/metrics'):
    """{'name{labels}': value} of Prometheus' text format."""
    with Connection(port) as connection:
        lines = connection.request(path).body.decode().splitlines()
    return {k: float(v) for k, v in (line.rsplit(' ', 1) for line in lines
                                     if line and not line.startswith('#'))}


def answers(port):
    """Whether a server accepts connections there."""
    with contextlib.suppress(OSError), Connection(port):
        return True
    return False


def request(port, path='/', method='GET', body=None, headers={}, **more):
    """A request on a connection of its own: the response of http.client, its body in `text`."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, body, headers, **more)
        response = connection.getresponse()
        response.text = response.read().decode()
        return response
