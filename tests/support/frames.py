"""HTTP/2 frame by frame, as a client that may do anything, and gRPC's calls on it."""
import socket
import struct

import hpack

from support.environment import PATIENCE

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE,
 CONTINUATION) = range(10)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
# Identifiers of settings, and codes of errors.
HEADER_TABLE_SIZE, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_HEADER_LIST_SIZE = 1, 3, 4, 6
PROTOCOL_ERROR, CANCEL, ENHANCE_YOUR_CALM = 1, 8, 11

RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'
HEALTH = '/grpc.health.v1.Health/'


def frame(kind, flags=0, stream=0, payload=b''):
    return struct.pack('>I', len(payload))[1:] + struct.pack('>BBI', kind, flags, stream) + payload


def settings(**values):
    names = {'table': HEADER_TABLE_SIZE, 'streams': MAX_CONCURRENT_STREAMS,
             'window': INITIAL_WINDOW_SIZE, 'head': MAX_HEADER_LIST_SIZE}
    return frame(SETTINGS, payload=b''.join(struct.pack('>HI', names[name], value)
                                            for name, value in values.items()))


def window_update(stream, size):
    return frame(WINDOW_UPDATE, stream=stream, payload=struct.pack('>I', size))


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, stream=stream, payload=struct.pack('>I', code))


def integer(value, bits, first=0):
    """An integer of HPACK in a byte of which the lower `bits` are free."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    value -= most
    octets = [first | most]
    while value >= 128:
        octets.append(128 | value % 128)
        value //= 128
    return bytes([*octets, value])


def literal(name, value):
    """A field line of HPACK that no table keeps."""
    return (b'\0' + integer(len(name), 7) + name.encode()
            + integer(len(value), 7) + value.encode())


def head_of_call(path, *more, **changed):
    """The field lines of a call, as a header block. A value None leaves a line out."""
    fields = {':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'h',
              'te': 'trailers', 'content-type': 'application/grpc'}
    fields |= {name.replace('__', ':').replace('_', '-'): value for name, value in changed.items()}
    return b''.join(literal(name, value)
                    for name, value in [*fields.items(), *more] if value is not None)


def message(payload, compressed=0):
    """A message in gRPC's framing."""
    return struct.pack('>BI', compressed, len(payload)) + payload


def nested(number, payload):
    """A field of protobuf that is a text or a message."""
    return integer(number << 3 | 2, 8) + varint(len(payload)) + payload


def varint(value):
    octets = []
    while value >= 128:
        octets.append(128 | value % 128)
        value //= 128
    return bytes([*octets, value])


def rate_limit_request(domain, *descriptors):
    """A RateLimitRequest in protobuf; descriptors are texts like 'key=value,key=value'."""
    encoded = nested(1, domain.encode())
    for descriptor in descriptors:
        entries = (part.split('=') for part in descriptor.split(','))
        encoded += nested(2, b''.join(nested(1, nested(1, key.encode()) + nested(2, value.encode()))
                                      for key, value in entries))
    return encoded


class Response:
    """What one stream has received."""

    def __init__(self):
        self.heads = []  # of each header block, its fields
        self.data = b''
        self.ended = False
        self.reset = None  # the code of RST_STREAM

    @property
    def fields(self):
        return {name: value for head in self.heads for name, value in head.items()}

    @property
    def status(self):
        return int(self.fields['grpc-status'])

    @property
    def messages(self):
        """The messages that have arrived whole."""
        rest, found = self.data, []
        while len(rest) >= 5:
            size = struct.unpack('>I', rest[1:5])[0]
            if len(rest) < 5 + size:
                break
            found.append(rest[5:5 + size])
            rest = rest[5 + size:]
        return found


class Http2:
    """A connection. Acknowledges settings and pings unless `polite` is False."""

    def __init__(self, address, polite=True, wrap=None, **with_settings):
        if address.startswith('unix:'):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE)
            self.socket.connect(address.removeprefix('unix:'))
        else:
            host, _, port = address.rpartition(':')
            self.socket = socket.create_connection((host.strip('[]'), int(port)), PATIENCE)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if wrap is not None:
            self.socket = wrap(self.socket)
        self.polite = polite
        self.decoder = hpack.Decoder()
        self.buffer = b''
        self.block = b''
        self.responses = {}
        self.settings = {}
        self.goaway = None  # (last stream, code)
        self.last = -1  # the last stream that this side has opened
        # The window of the connection is as large as it can be; those of streams are settings.
        self.send(PREFACE + settings(**with_settings) + window_update(0, 2**31 - 1 - 65535))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """Returns the next frame, (kind, flags, stream, payload), or None at the end."""
        while len(self.buffer) < 9 or len(self.buffer) < 9 + self.length():
            try:
                more = self.socket.recv(65536)
            except (ConnectionResetError, BrokenPipeError):
                return None
            if not more:
                return None
            self.buffer += more
        end = 9 + self.length()
        kind, flags, stream = struct.unpack('>BBI', self.buffer[3:9])
        payload, self.buffer = self.buffer[9:end], self.buffer[end:]
        self.take(kind, flags, stream, payload)
        return kind, flags, stream, payload

    def length(self):
        return int.from_bytes(self.buffer[:3], 'big')

    def take(self, kind, flags, stream, payload):
        response = self.responses.get(stream)
        if kind in (HEADERS, CONTINUATION):
            self.block += payload
            if flags & END_HEADERS:
                response.heads.append(dict(self.decoder.decode(self.block)))
                self.block = b''
        elif kind == DATA:
            response.data += payload
        elif kind == RST_STREAM and response is not None:
            response.reset = struct.unpack('>I', payload)[0]
        elif kind == GOAWAY:
            self.goaway = struct.unpack('>II', payload[:8])
        elif kind == SETTINGS and not flags & ACK:
            self.settings |= {name: value for name, value in struct.iter_unpack('>HI', payload)}
            if self.polite:
                self.send(frame(SETTINGS, ACK))
        elif kind == PING and not flags & ACK and self.polite:
            self.send(frame(PING, ACK, payload=payload))
        if response is not None and kind in (DATA, HEADERS) and flags & END_STREAM:
            response.ended = True

    def until(self, condition):
        """Receives until condition() is true; fails if the connection ends before."""
        while not condition():
            assert self.receive() is not None, f'closed, {self.goaway}'

    def to_the_end(self):
        """Receives until the server closes the connection. Returns the code of its GOAWAY or None."""
        while self.receive() is not None:
            pass
        return self.goaway and self.goaway[1]

    def open(self, block, flags=END_HEADERS):
        """Opens a stream with this header block, and returns its number."""
        self.last += 2
        self.responses[self.last] = Response()
        self.send(frame(HEADERS, flags, self.last, block))
        return self.last

    def start(self, path, payload, *more, **changed):
        """Sends a whole call of one message, and returns its stream."""
        stream = self.open(head_of_call(path, *more, **changed))
        self.send(frame(DATA, END_STREAM, stream, message(payload)))
        return stream

    def finish(self, stream):
        """Receives a stream's response to its end."""
        response = self.responses[stream]
        self.until(lambda: response.ended or response.reset is not None)
        return response

    def call(self, path, payload, *more, **changed):
        return self.finish(self.start(path, payload, *more, **changed))
