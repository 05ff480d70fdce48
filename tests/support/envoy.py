"""gRPC's client for Node.js, which calls the gRPC door and shares no code with it."""
import json
import subprocess

from support import npm
from support.environment import BUILD, PATIENCE, ROOT


def install():
    """The folder with the client and its packages."""
    return npm.install(ROOT / 'tests/serve/envoy_client', f'{BUILD}/tests/envoy_client')


class Client:
    """A process of Node.js that makes the calls that it reads as lines of JSON."""

    def __init__(self, home, address, authority=None):
        """With TLS if `authority`, the file of a certificate, is given."""
        command = ['node', 'client.mjs', address, *([str(authority)] if authority else [])]
        self.process = subprocess.Popen(command, cwd=home, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, call, request, **metadata):
        self.process.stdin.write(json.dumps(
            {'call': call, 'request': request, 'metadata': metadata}) + '\n')
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def call(self, call, request, **metadata):
        self.send(call, request, **metadata)
        return self.receive()

    def decide(self, *descriptors, domain='shop', **more):
        """The response of ShouldRateLimit for these descriptors."""
        answer = self.call('ShouldRateLimit', request(*descriptors, domain=domain, **more))
        assert 'response' in answer, answer
        return answer['response']

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


def request(*descriptors, domain='shop', **more):
    """A RateLimitRequest; a descriptor may be text, as entries() takes it."""
    return {'domain': domain, 'descriptors': [
        descriptor if isinstance(descriptor, dict) else {'entries': entries(descriptor)}
        for descriptor in descriptors]} | more


def entries(text):
    """The entries of 'key=value,key=value'."""
    return [dict(zip(('key', 'value'), part.split('='))) for part in text.split(',')]
