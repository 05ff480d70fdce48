"""A client of HTTP/2 that sends header values as they are given, also those that other clients repair."""
import contextlib
import socket
import ssl
import struct

from support.environment import PATIENCE

DATA, HEADERS, SETTINGS, GOAWAY = 0, 1, 4, 7
END_STREAM, END_HEADERS = 1, 4
INITIAL_WINDOW_SIZE = 4


def status(port, path='/', method='GET', headers=(), host='example.org', authority=None):
    """The status of one request on a connection of its own; with TLS if there is an authority's file."""
    fields = [(':method', method), (':scheme', 'http'), (':authority', host),
              (':path', path), *((name.lower(), value) for name, value in headers)]
    # Literals without indexing and without Huffman codes (RFC 7541, section 6.2.2).
    block = b''.join(b'\0' + text(name) + text(value) for name, value in fields)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(socket.create_connection(('127.0.0.1', port), timeout=PATIENCE))
        if authority:
            context = ssl.create_default_context(cafile=authority)
            context.set_alpn_protocols(['h2'])
            client = stack.enter_context(context.wrap_socket(client, server_hostname='127.0.0.1'))
        client.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(SETTINGS) +
                       frame(HEADERS, END_STREAM | END_HEADERS, 1, block))
        reader = client.makefile('rb')
        while True:
            head = reader.read(9)
            assert len(head) == 9, 'the connection was closed without an answer'
            payload = reader.read(int.from_bytes(head[:3], 'big'))
            assert head[3] != GOAWAY, payload
            if head[3] == HEADERS:
                return status_of(payload)


class Streams:
    """A connection without TLS, with as many requests for a path as are given, all at the same time.

    `window`: so many bytes of each response's body are accepted. `uploads`: they have bodies, of which
    send() sends the pieces, and whose length is not announced."""

    def __init__(self, port, count, path='/', source='127.0.0.1', window=65535, uploads=False):
        self.count = count
        settings = struct.pack('>HI', INITIAL_WINDOW_SIZE, window)
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=PATIENCE, source_address=(source, 0))
        self.reader = self.socket.makefile('rb')
        method, flags = ('POST', END_HEADERS) if uploads else ('GET', END_STREAM | END_HEADERS)
        fields = [(':method', method), (':scheme', 'http'), (':authority', 'example.org'), (':path', path)]
        block = b''.join(b'\0' + text(name) + text(value) for name, value in fields)
        self.socket.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(SETTINGS, payload=settings) +
                            self.frames(HEADERS, flags, block))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reader.close()
        self.socket.close()

    def frames(self, kind, flags, payload):
        return b''.join(frame(kind, flags, 2 * n + 1, payload) for n in range(self.count))

    def send(self, data, last=False):
        """One more piece of each body."""
        self.socket.sendall(self.frames(DATA, END_STREAM if last else 0, data))

    def statuses(self):
        """The status of each response, in the order of their arrival."""
        for _ in range(self.count):
            while (head := self.reader.read(9))[3] != HEADERS:
                self.reader.read(int.from_bytes(head[:3], 'big'))
            yield status_of(self.reader.read(int.from_bytes(head[:3], 'big')))


def status_of(block):
    """The :status that begins a header block of nginx."""
    while block[0] & 0xe0 == 0x20:  # a new size of the dynamic table
        block = block[1:]
    indexed = {0x88: 200, 0x89: 204, 0x8a: 206, 0x8b: 304, 0x8c: 400, 0x8d: 404, 0x8e: 500}
    if block[0] in indexed:
        return indexed[block[0]]
    assert block[0] in (0x08, 0x48) and block[1] == 3, block  # a literal of three digits
    return int(block[2:5])


def text(value):
    value = value.encode('latin-1')
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest, size = len(value) - 127, [127]
    while rest >= 128:
        size.append(rest % 128 + 128)
        rest //= 128
    return bytes([*size, rest]) + value


def frame(kind, flags=0, stream=0, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        '>I', stream) + payload
