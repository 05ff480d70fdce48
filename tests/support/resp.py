"""A Redis client that sends exactly the bytes of a test."""
import socket

from support.environment import PATIENCE


class Error(str):
    """A reply that is an error."""


def encode(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in words)


class Client:
    def __init__(self, address):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE)
            self.socket.connect(address.removeprefix('unix:'))
        else:
            self.socket = socket.create_connection(('127.0.0.1', address), timeout=PATIENCE)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile('rb')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, raw):
        self.socket.sendall(raw)

    def reply(self):
        """The next reply. Raises EOFError at the end of the connection."""
        line = self.file.readline()
        if not line:
            raise EOFError
        assert line.endswith(b'\r\n'), line
        kind, text = line[:1], line[1:-2].decode()
        if kind == b'+':
            return text
        if kind == b'-':
            return Error(text)
        if kind == b':':
            return int(text)
        if kind == b',':
            return float(text)
        if kind == b'_':
            return None
        if kind == b'$':
            if text == '-1':
                return None
            data = self.file.read(int(text) + 2)
            assert data.endswith(b'\r\n'), data
            return data[:-2].decode()
        count = int(text)
        if kind == b'*':
            return [self.reply() for _ in range(count)]
        if kind == b'~':
            return {self.reply() for _ in range(count)}
        assert kind == b'%', line
        return {self.reply(): self.reply() for _ in range(count)}

    def command(self, *words):
        self.send(encode(*words))
        return self.reply()

    def ended(self):
        """Whether the server has closed the connection, and sent nothing before."""
        try:
            return self.socket.recv(1) == b''
        except ConnectionResetError:
            return True
