"""Clients of all doors: polite ones that check every answer, and hostile ones that ignore them."""
import contextlib
import json
import pathlib
import random
import re
import socket
import subprocess
import threading
import time

from support import resp
from support.http_client import Connection

POLICIES = '''
version: 1
store: {table: {memory: 1MiB}}
envoy: [envoy.yaml]
policies:
  - {name: burst, quota: 100, window: 1m, key: [query:k]}
  - {name: moving, quota: 10, window: 10s, algorithm: moving-window, key: [query:k]}
  - {name: probe, quota: 1000000, window: 1s, key: [], match: [{path: /none}]}
  - {name: strict, quota: 5, window: 1d, key: [], match: [{path: /none}]}
'''
OTHER_POLICIES = POLICIES.replace('quota: 100,', 'quota: 90,')
BROKEN_POLICIES = POLICIES.replace('version: 1', 'version: none')
ENVOY = '''
domain: shop
descriptors:
  - key: client
    rate_limit: {unit: minute, requests_per_unit: 50}
'''


def field(number, data):
    """A field of protobuf: a number, and bytes of fewer than 128."""
    return bytes([number << 3 | 2, len(data)]) + data


def envoy_query(client):
    """A RateLimitRequest in gRPC's frame."""
    entry = field(1, b'client') + field(2, client)
    message = field(1, b'shop') + field(2, field(1, entry))
    return b'\0' + len(message).to_bytes(4, 'big') + message


class Load:
    """Threads that send requests until stop(). `faults` has what a polite client should not have seen."""

    def __init__(self, serve, gateway, scratch):
        self.serve, self.gateway = serve, gateway
        self.query = pathlib.Path(scratch) / 'query'
        self.ended = threading.Event()
        self.faults = []
        self.requests = {}
        self.latencies = {'HTTP': [], 'RESP': [], 'gateway': []}
        self.strict = 0  # admitted by a policy that admits 5 per day
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(turn, name), daemon=True)
                        for name, turn in {
                            'HTTP': self.http_turn, 'RESP': self.resp_turn, 'gRPC': self.grpc_turn,
                            'gateway': self.gateway_turn, 'hostile': self.hostile_turn,
                            'flood': self.flood_turn}.items()]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(60)

    def run(self, turn, name):
        dice = random.Random(name)
        while not self.ended.is_set():
            try:
                count = turn(dice)
            except Exception as fault:  # noqa: BLE001: every fault is part of the verdict
                if self.ended.is_set():
                    return
                count = 0
                with self.lock:
                    self.faults.append(f'{name}: {fault!r}')
            with self.lock:
                self.requests[name] = self.requests.get(name, 0) + count

    def timed(self, door, request):
        begin = time.monotonic()
        answer = request()
        with self.lock:
            self.latencies[door].append((time.monotonic() - begin) * 1000)
        return answer

    def take_latencies(self):
        """{door: [ms]} since the last call."""
        with self.lock:
            taken, self.latencies = self.latencies, {door: [] for door in self.latencies}
        return taken

    # ---- polite

    def http_turn(self, dice):
        with Connection(self.serve.ports['http']) as connection:
            for number in range(200):
                policy = 'strict' if number == 0 else dice.choice(['burst', 'moving', 'probe'])
                key = '' if policy in ('strict', 'probe') else str(dice.randrange(20000))
                body = json.dumps({'checks': [{'policy': policy, 'key': key}]}).encode()
                answer = self.timed('HTTP', lambda: connection.request('/v1/decide', 'POST', body=body))
                assert answer.status == 200, answer
                self.strict += policy == 'strict' and json.loads(answer.body)['admitted']
        return 200

    def resp_turn(self, dice):
        with resp.Client(self.serve.ports['resp']) as client:
            for _ in range(200):
                key = str(dice.randrange(20000))
                answer = self.timed('RESP', lambda: client.command('CL.THROTTLE', key, 99, 100, 60))
                assert answer[1] == 100, answer
        return 200

    def grpc_turn(self, dice):
        self.query.write_bytes(envoy_query(str(dice.randrange(20000)).encode()))
        result = subprocess.run(
            ['h2load', '-n', '500', '-c', '4', '-m', '8', '-d', str(self.query),
             '-H', 'content-type: application/grpc', '-H', 'te: trailers',
             f'http://{self.serve.addresses["grpc"]}'
             '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        done = re.search(r'(\d+) succeeded', result.stdout)
        assert done and done[1] == '500', result.stdout[-400:]
        return 500

    def gateway_turn(self, dice):
        with Connection(self.gateway.port) as connection:
            for number in range(50):
                path = f'/?k={dice.randrange(20000)}'
                try:
                    answer = self.timed('gateway', lambda: connection.request(path))
                except ConnectionError:
                    # A server may close a connection that was idle, as nginx does when it reloads.
                    if number > 0 and connection.buffer == b'':
                        return number
                    raise
                assert answer.status in (200, 429), answer
        return 50

    # ---- hostile: whatever happens to the connection is right

    def ports(self):
        return [*self.serve.ports.values(), self.gateway.port]

    def hostile_turn(self, dice):
        with contextlib.suppress(OSError, EOFError):
            kind = dice.randrange(5)
            with socket.create_connection(('127.0.0.1', dice.choice(self.ports())), timeout=1) as s:
                if kind == 0:
                    s.sendall(dice.randbytes(dice.randrange(1, 20000)))
                elif kind == 1:
                    s.sendall(b'GET / HTTP/1.1\r\nHost: x\r\nX: ' + b'a' * dice.randrange(40000))
                elif kind == 2:
                    s.sendall(b'*3\r\n$4\r\nAUTH\r\n$1\r\na\r\n$1\r\nb\r\n' * 200)
                elif kind == 3:
                    s.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + dice.randbytes(2000))
                else:
                    s.sendall(b'POST /v1/decide HTTP/1.1\r\nContent-Length: 9999\r\n\r\n{')
                    # A reset in place of an orderly end.
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
                    return 1
                s.recv(1000)
        return 1

    def flood_turn(self, dice):
        """Keys that were not sent before, ten times as many as the table has room for, and more."""
        with resp.Client(self.serve.ports['resp']) as client:
            for _ in range(20):
                batch = [resp.encode('CL.THROTTLE', dice.randbytes(12), 99, 100, 3600)
                         for _ in range(500)]
                client.send(b''.join(batch))
                for _ in batch:
                    client.reply()
                if self.ended.wait(0.05):
                    break
        return 10000
