"""Floods of HTTP/2 at the gRPC door take little memory and leave other clients their answers."""
import os
import re

import pytest

from support.floods import FLOODS, Flood
from support.frames import RATE_LIMIT, Http2
from support.grpc_door import POLICIES, REQUEST, TOKEN

FLOOD_BYTES = 128 << 20
GROWTH_MAX = 64 << 20
# Sanitizers keep memory that was given back.
SANITIZED = bool(os.environ.get('HEADGATE_SANITIZE'))
# Those that a client without the token cannot send: its calls are refused at their head.
AUTHORIZED = ['unfinished', 'unread', 'heads', 'bodies', 'reset calls', 'tables']


def peak_memory(server):
    """The most memory that the server has had so far [bytes]."""
    with open(f'/proc/{server.process.pid}/status') as status:
        return int(re.search(r'VmHWM:\s+(\d+) kB', status.read())[1]) << 10


@pytest.mark.parametrize('flood, token', [
    *((flood, True) for flood in FLOODS), *((flood, False) for flood in AUTHORIZED)])
def test_a_flood(serve, tmp_path, flood, token):
    arguments = ['--threads', '1']
    more = []
    if token:
        (tmp_path / 'token').write_text(TOKEN)
        (tmp_path / 'token').chmod(0o600)
        arguments += ['--token-file', tmp_path / 'token']
        more = [('authorization', f'Bearer {TOKEN}')]
    server = serve(POLICIES, doors={'grpc': '127.0.0.1:0'}, arguments=arguments)
    with Http2(server.addresses['grpc']) as client:
        assert client.call(RATE_LIMIT, REQUEST, *more).status == 0
        before = peak_memory(server)
        hostile = Flood(server.addresses['grpc'], flood, size=FLOOD_BYTES // 2)
        try:
            while hostile.under_way():
                assert client.call(RATE_LIMIT, REQUEST, *more).status == 0
                del client.responses[client.last]
        finally:
            hostile.stop()
        assert client.call(RATE_LIMIT, REQUEST, *more).status == 0
    if not SANITIZED:
        assert peak_memory(server) - before < GROWTH_MAX
