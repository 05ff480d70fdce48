"""Clients of one decision server as processes of their own: polite ones that measure how late answers are, and
hostile ones that send as much as they can.

    strangers.py polite DOOR ADDRESS SECONDS TOKEN       (DOOR: http, https, resp or grpc)
    strangers.py newcomer https ADDRESS SECONDS TOKEN
    strangers.py hostile LOAD ADDRESS SECONDS TOKEN

prints what it has seen as JSON.
"""
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import select
import socket
import ssl
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / 'tests'))
from support import floods  # noqa: E402
from support.frames import PREFACE, RATE_LIMIT, Http2, rate_limit_request, settings  # noqa: E402
from support.http_client import Connection  # noqa: E402
from support.resp import Client  # noqa: E402

CHUNK = 1 << 20  # what a hostile connection sends together, about


# ---- polite

INTERVAL = 0.01  # seconds between the requests of a polite client
ELSEWHERE = '127.0.0.2'  # the address of a flood, other than that of the polite
RESET = b'\1\0\0\0\0\0\0\0'  # SO_LINGER, so that a closed connection is reset


def connect(address):
    host, _, port = address.rpartition(':')
    one = socket.create_connection((host, int(port)))
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


def tls():
    """A context that trusts every server: this one was started by the benchmark."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def ask_https(address, token):
    return ask_http(address, token, tls().wrap_socket(connect(address)))


def ask_http(address, token, one=None):
    connection = Connection(one or connect(address))
    body = b'{"checks": [{"policy": "burst", "key": "polite"}]}'
    headers = [('Authorization', f'Bearer {token}')]

    def ask():
        assert connection.request('/v1/decide', 'POST', headers, body).status == 200
    return ask


def ask_resp(address, token):
    client = Client(address if address.startswith('unix:') else int(address.rpartition(':')[2]))
    assert client.command('AUTH', token) == 'OK'

    def ask():
        assert client.command('CL.THROTTLE', 'polite', 999, 1000, 1)[1] == 1000
    return ask


def ask_grpc(address, token):
    client = Http2(address)
    request = rate_limit_request('headgate', 'policy=burst,key=polite')

    def ask():
        assert client.call(RATE_LIMIT, request, ('authorization', f'Bearer {token}')).status == 0
        client.responses.clear()
    return ask


ASK = {'http': ask_http, 'https': ask_https, 'resp': ask_resp, 'grpc': ask_grpc}


def run_first():
    """So that only the server is measured."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def be_polite(door, address, seconds, token):
    """Asks at even intervals. Returns how long after it was due each answer came [ms]."""
    run_first()
    ask = ASK[door](address, token)
    ask()
    late = []
    begin = time.monotonic()
    for number in range(int(seconds / INTERVAL)):
        due = begin + number * INTERVAL
        time.sleep(max(0, due - time.monotonic()))
        ask()
        late.append((time.monotonic() - due) * 1000)
    return late


def be_newcomer(address, seconds, token):
    """Asks over a new connection each time. Returns how long each took [ms]; without an end, as long as it
    was waited for."""
    run_first()
    took = []
    context = tls()
    end = time.monotonic() + seconds
    while (begin := time.monotonic()) < end:
        with contextlib.suppress(OSError), contextlib.closing(connect(address)) as one:
            one.settimeout(end - begin)
            ask_http(address, token, context.wrap_socket(one))()
        took.append((time.monotonic() - begin) * 1000)
        time.sleep(INTERVAL)
    return took


# ---- hostile

@dataclasses.dataclass
class Load:
    """What each of `connections` sends: `data` again and again without waiting ('pipeline'), or
    again when an answer has come ('ask'), or once per connection, which is closed when an answer has
    come ('once') or without waiting ('reset', from another address). `first` is what it sends at its beginning."""
    door: str
    connections: int
    data: bytes
    mode: str = 'pipeline'
    first: bytes = b''
    tls: bool = False  # to a server that speaks TLS


def http(target, token=None, method='GET', body=b''):
    lines = [f'{method} {target} HTTP/1.1', 'Host: localhost']
    if token:
        lines.append(f'Authorization: Bearer {token}')
    if body:
        lines.append(f'Content-Length: {len(body)}')
    return '\r\n'.join(lines).encode() + b'\r\n\r\n' + body


def often(data):
    return data * (CHUNK // len(data) + 1)


def client_hello():
    """The first bytes of a client's TLS handshake."""
    out = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        tls().wrap_bio(ssl.MemoryBIO(), out, server_hostname='localhost').do_handshake()
    return out.read()


# The one beside which newcomers are measured.
FLOOD = 'TLS, handshakes that are reset, 256 connections, another address'


def loads(token):
    """{name: Load}; the server's token is used by those whose name says so."""
    garbage = random.Random(1).randbytes(CHUNK)
    wrong = b'AUTH wrong-wrong-wrong\r\n'
    many = json.dumps({'checks': [{'policy': 'burst', 'key': f'key{n}'} for n in range(128)],
                       'op': 'peek'}).encode()
    throttle = b'CL.THROTTLE hostile 99 100 60\r\n'
    login = f'AUTH {token}\r\n'.encode()
    found = {
        'RESP, wrong AUTHs': Load('resp', 1, often(wrong)),
        'RESP, wrong AUTHs, 64 connections': Load('resp', 64, often(wrong)),
        'RESP, garbage': Load('resp', 4, garbage),
        'RESP, lines of garbage': Load('resp', 4, often(b'what is this\r\n')),
        'RESP, long commands': Load('resp', 4, often(b'*2\r\n$4\r\nECHO\r\n$60000\r\n' + b'x' * 60000 + b'\r\n')),
        'RESP with token, CL.THROTTLE': Load('resp', 4, often(throttle), first=login),
        'RESP with token, CL.THROTTLE one by one, 256 connections':
            Load('resp', 256, throttle, 'ask', first=login),
        'HTTP, no token': Load('http', 4, often(http('/metrics'))),
        'HTTP, wrong tokens, 64 connections': Load('http', 64, often(http('/metrics', 'wrong'))),
        'HTTP, dashboard': Load('http', 4, often(http('/dashboard.js'))),
        'HTTP with token, /metrics': Load('http', 4, often(http('/metrics', token))),
        'HTTP with token, /v1/policies': Load('http', 4, often(http('/v1/policies', token))),
        'HTTP with token, /v1/top': Load('http', 4, often(http('/v1/top?n=100', token))),
        'HTTP with token, /metrics one by one, 256 connections':
            Load('http', 256, http('/metrics', token), 'ask'),
        'HTTP with token, /v1/decide of 128 checks':
            Load('http', 4, often(http('/v1/decide', token, 'POST', many))),
        'HTTP with token, /v1/decide of 128 checks one by one, 256 connections':
            Load('http', 256, http('/v1/decide', token, 'POST', many), 'ask'),
        'TLS, handshakes, 256 connections':
            Load('http', 256, client_hello(), 'once', tls=True),
        FLOOD: Load('http', 256, client_hello(), 'reset', tls=True),
        'HTTP, connections': Load('http', 64, http('/healthz'), 'once'),
        'RESP, connections': Load('resp', 64, b'PING\r\n', 'once'),
        'gRPC, connections': Load('grpc', 64, PREFACE + settings(), 'once'),
    }
    for flood in ('ping', 'rapid reset', 'continuation', 'settings', 'priority', 'watches', 'bomb'):
        found[f'gRPC, {flood}'] = Load('grpc', 4, b''.join(floods.recorded(flood, 2 * CHUNK)),
                                       first=PREFACE + settings())
    return found


class Hostile:
    """Keeps the connections of a load open and busy."""

    def __init__(self, load, address):
        self.load, self.address = load, address
        self.epoll = select.epoll()
        self.open = {}  # by descriptor: [socket, what it still has to send]
        self.sent = self.received = self.connected = 0

    def connect(self):
        one = connect(self.address)
        one.setblocking(False)
        # Closed at once and without TIME_WAIT, so that the ports last.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.open[one.fileno()] = [one, memoryview(self.load.first + self.load.data)]
        self.epoll.register(one, select.EPOLLIN | select.EPOLLOUT)
        self.connected += 1

    def close(self, descriptor):
        one, _ = self.open.pop(descriptor)
        self.epoll.unregister(descriptor)
        one.close()

    def send(self, descriptor):
        state = self.open[descriptor]
        if not state[1] and self.load.mode == 'pipeline':
            state[1] = memoryview(self.load.data)
        if state[1]:
            count = state[0].send(state[1])
            self.sent += count
            state[1] = state[1][count:]
        if not state[1] and self.load.mode != 'pipeline':
            self.epoll.modify(descriptor, select.EPOLLIN)

    def receive(self, descriptor, room):
        state = self.open[descriptor]
        count = state[0].recv_into(room)
        self.received += count
        if count == 0 or self.load.mode == 'once':
            return self.close(descriptor)
        if self.load.mode == 'ask' and not state[1] and count < len(room):
            state[1] = memoryview(self.load.data)
            self.epoll.modify(descriptor, select.EPOLLIN | select.EPOLLOUT)

    def reset(self, seconds):
        """Opens connections without waiting, and resets the oldest for each new one."""
        host, _, port = self.address.rpartition(':')
        end = time.monotonic() + seconds
        opened = collections.deque()
        while time.monotonic() < end:
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            one.bind((ELSEWHERE, 0))
            one.setblocking(False)
            with contextlib.suppress(OSError):
                one.connect_ex((host, int(port)))
                self.sent += one.send(self.load.data)
                self.connected += 1
            opened.append(one)
            if len(opened) > self.load.connections:
                opened.popleft().close()

    def run(self, seconds):
        if self.load.mode == 'reset':
            self.reset(seconds)
        else:
            self.keep(seconds)
        return {'sent': self.sent / seconds, 'received': self.received / seconds,
                'connected': self.connected / seconds}

    def keep(self, seconds):
        room = bytearray(1 << 18)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                while len(self.open) < self.load.connections:
                    self.connect()
            for descriptor, events in self.epoll.poll(0.1):
                try:
                    if events & select.EPOLLIN:
                        self.receive(descriptor, room)
                    if events & select.EPOLLOUT and descriptor in self.open:
                        self.send(descriptor)
                    if events & (select.EPOLLERR | select.EPOLLHUP) and descriptor in self.open:
                        self.close(descriptor)
                except BlockingIOError:
                    pass
                except OSError:
                    self.close(descriptor)


def main():
    role, what, address, seconds, token = sys.argv[1:]
    if role == 'polite':
        result = be_polite(what, address, float(seconds), token)
    elif role == 'newcomer':
        result = be_newcomer(address, float(seconds), token)
    else:
        result = Hostile(loads(token)[what], address).run(float(seconds))
    print(json.dumps(result))


if __name__ == '__main__':
    main()
