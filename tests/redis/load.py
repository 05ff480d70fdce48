"""Clients that ask several doors at the same time."""
import json
import threading
import time

from support.http_client import Connection


def ask(server, path='/auth', *args):
    """One request on a connection of its own."""
    with Connection(server.port) as connection:
        return connection.request(path, *args)


class Server:
    """A decision server, asked for a policy by name."""

    def __init__(self, serve, policy='p', key='k'):
        self.port = serve.port
        self.body = json.dumps({'checks': [{'policy': policy, 'key': key}]}).encode()

    def ask(self, connection):
        response = connection.request('/v1/decide', 'POST', [('Content-Type', 'application/json')],
                                      self.body)
        assert response.status == 200, response
        return json.loads(response.body)['admitted']


class Nginx:
    """An nginx, asked for a page."""

    def __init__(self, nginx):
        self.port = nginx.port

    @staticmethod
    def ask(connection):
        status = connection.request('/').status
        assert status in (200, 429), status
        return status == 200


class Load:
    """Threads that ask until they are stopped, or so many times each."""

    def __init__(self, doors, threads=2, requests=None):
        self.admitted = self.denied = 0
        self.longest = 0.0
        self.failures = []
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(door, requests))
                        for door in doors for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, door, requests):
        try:
            with Connection(door.port) as connection:
                done = 0
                while not self.ends.is_set() and done != requests:
                    begin = time.monotonic()
                    admitted = door.ask(connection)
                    took = time.monotonic() - begin
                    done += 1
                    with self.lock:
                        self.admitted += admitted
                        self.denied += not admitted
                        self.longest = max(self.longest, took)
        except Exception as fault:  # reported by join()
            self.failures.append(fault)

    @property
    def asked(self):
        with self.lock:
            return self.admitted + self.denied

    def join(self):
        for thread in self.threads:
            thread.join()
        assert self.failures == []
        return self

    def stop(self):
        self.ends.set()
        return self.join()
