"""Requests over HTTP/3, by the client of Debian's package ngtcp2-client: Debian's curl has no HTTP/3."""
import re
import subprocess

from support.environment import PATIENCE
from support.processes import find_program

CLIENT = find_program('gtlsclient')


def request(port, times=1):
    """The headers of each response, with `:status`, to as many requests on one connection, in their order."""
    done = subprocess.run(
        [CLIENT, '--no-quic-dump', '--exit-on-all-streams-close', f'--nstreams={times}',
         '127.0.0.1', str(port), 'https://localhost/'],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    streams = {}
    for stream, name, value in re.findall(r'^http: stream (0x[0-9a-f]+) \[(:?[^:\]]+): (.*)\]$', done.stdout,
                                          re.MULTILINE):
        streams.setdefault(int(stream, 16), {})[name] = value
    assert len(streams) == times, done.stdout
    return [headers for _, headers in sorted(streams.items())]
