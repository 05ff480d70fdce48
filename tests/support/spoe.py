"""HAProxy's side of its Stream Processing Offload Protocol, byte by byte."""
import contextlib
import ipaddress
import socket
import struct

from support.environment import PATIENCE

UNSET, HELLO, DISCONNECT, NOTIFY = 0, 1, 2, 3
AGENT_HELLO, AGENT_DISCONNECT, ACK = 101, 102, 103
FIN, ABORT = 1, 2


# ---- writing

def varint(number):
    if number < 240:
        return bytes([number])
    out = [number & 255 | 240]
    number = (number - 240) >> 4
    while number >= 128:
        out.append(number & 255 | 128)
        number = (number - 128) >> 7
    return bytes([*out, number])


def text(value):
    value = value.encode('latin-1') if isinstance(value, str) else value
    return varint(len(value)) + value


def data(value):
    """A typed value; bytes are binary, an address is one of ipaddress."""
    if value is None:
        return b'\x00'
    if isinstance(value, bool):
        return b'\x11' if value else b'\x01'
    if isinstance(value, int):
        return b'\x04' + varint(value & (1 << 64) - 1)
    if isinstance(value, ipaddress.IPv4Address):
        return b'\x06' + value.packed
    if isinstance(value, ipaddress.IPv6Address):
        return b'\x07' + value.packed
    return (b'\x08' if isinstance(value, str) else b'\x09') + text(value)


def items(values):
    return b''.join(text(name) + data(value) for name, value in values.items())


def frame(kind, payload=b'', stream=0, number=0, flags=FIN):
    body = bytes([kind]) + struct.pack('>I', flags) + varint(stream) + varint(number) + payload
    return struct.pack('>I', len(body)) + body


def hello(**changes):
    return frame(HELLO, items({'supported-versions': '2.0', 'max-frame-size': 16380,
                               'capabilities': 'pipelining,async'} |
                              {name.replace('_', '-'): value for name, value in changes.items()}))


def message(name, arguments):
    return text(name) + bytes([len(arguments)]) + items(arguments)


def headers(lines):
    """What req.hdrs_bin gives."""
    return b''.join(text(part) for line in lines for part in line) + b'\0\0'


def request(path='/', method='GET', src='127.0.0.1', lines=(('host', 'localhost'),), **more):
    return message('headgate-request', {'method': method, 'path': path,
                                        'src': ipaddress.ip_address(src),
                                        'headers': headers(lines), **more})


def response(receipt, status=200, **more):
    return message('headgate-response', {'receipt': receipt, 'status': status, **more})


# ---- reading

class Reader:
    def __init__(self, raw):
        self.raw = raw

    def take(self, size):
        part, self.raw = self.raw[:size], self.raw[size:]
        assert len(part) == size, 'cut'
        return part

    def varint(self):
        number = self.take(1)[0]
        if number < 240:
            return number
        shift = 4
        while True:
            part = self.take(1)[0]
            number += part << shift
            shift += 7
            if part < 128:
                return number

    def text(self):
        return self.take(self.varint())

    def data(self):
        head = self.take(1)[0]
        kind = head & 15
        if kind == 0:
            return None
        if kind == 1:
            return bool(head >> 4)
        if kind < 6:
            return self.varint()
        if kind < 8:
            return ipaddress.ip_address(self.take(4 if kind == 6 else 16))
        return self.text().decode('latin-1') if kind == 8 else self.text()


class Answer:
    """A frame of the agent. `values` are the variables that it sets, or the items of its payload."""

    def __init__(self, body):
        reader = Reader(body)
        self.kind = reader.take(1)[0]
        self.flags = struct.unpack('>I', reader.take(4))[0]
        self.stream, self.number = reader.varint(), reader.varint()
        self.values, self.unset = {}, []
        while reader.raw:
            if self.kind != ACK:
                name = reader.text().decode()
                self.values[name] = reader.data()
                continue
            action, arguments, scope = reader.take(3)
            name = reader.text().decode()
            assert (action, arguments, scope) in ((1, 3, 2), (2, 2, 2))
            if action == 1:
                self.values[name] = reader.data()
            else:
                self.unset.append(name)

    def __getattr__(self, name):
        return self.values.get(name)

    def __repr__(self):
        return f'{self.kind} {self.flags} {self.stream}/{self.number} {self.values} {self.unset}'


class Engine:
    """One connection to an agent."""

    def __init__(self, to, greets=True, **changes):
        if isinstance(to, int):
            self.socket = socket.create_connection(('127.0.0.1', to), PATIENCE)
        else:
            self.socket = to
        self.last = 0
        if greets:
            self.send(hello(**changes))
            self.hello = self.receive()
            assert self.hello.kind == AGENT_HELLO, self.hello

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, raw):
        self.socket.sendall(raw)

    def receive(self):
        """The next frame; None at the end of the connection."""
        head = self.take(4)
        return head and Answer(self.take(struct.unpack('>I', head)[0]))

    def take(self, size):
        raw = b''
        with contextlib.suppress(ConnectionResetError):
            while len(raw) < size and (part := self.socket.recv(size - len(raw))):
                raw += part
        assert len(raw) in (0, size), raw
        return raw or None

    def ask(self, payload):
        """Sends a NOTIFY frame and returns its ACK."""
        self.last += 1
        self.send(frame(NOTIFY, payload, 1, self.last))
        answer = self.receive()
        assert (answer.kind, answer.stream, answer.number) == (ACK, 1, self.last), answer
        return answer
