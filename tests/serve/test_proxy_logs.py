"""headgate simulate reads the access logs that HAProxy and Caddy themselves write."""
import json

import pytest

from support import proxies
from support.http_client import Connection
from support.processes import free_port, until

POLICIES = '''
version: 1
policies:
  - {name: addresses, rate: 100/hour}
  - {name: reports, rate: 100/hour, match: {path: "/reports/*", method: POST}}
  - {name: agents, rate: 100/hour, key: "header:user-agent", match: {has: "header:user-agent"}}
'''
HAPROXY = '''
global
    log stdout format raw local0
defaults
    mode http
    log global
    option httplog
    timeout client 30s
    timeout server 30s
    timeout connect 30s
frontend web
    bind 127.0.0.1:%d
    capture request header Host len 20
    http-request return status 200 content-type text/plain string ok
'''
CADDY = '''
{
    admin off
    auto_https off
}
http://:%d {
    log {
        output file access.log
    }
    respond ok
}
'''


def ask(port):
    """Four requests of one client."""
    with Connection(port) as connection:
        for path, method, body in (('/a?b=c', 'GET', b''), ('/reports/1', 'POST', b'x' * 100), ('/reports/2', 'GET', b''),
                                   ('/"q"', 'GET', b'')):
            assert connection.request(path, method, [('User-Agent', 'test "1"')], body).status == 200


@pytest.fixture
def simulated(headgate, tmp_path):
    """{policy: requests that it counted}, and the whole result."""
    def run(log, *arguments):
        (tmp_path / 'p.yaml').write_text(POLICIES)
        result = headgate('simulate', '--config', 'p.yaml', '--json', *arguments, str(log))
        assert result.returncode == 0, result.stderr
        whole = json.loads(result.stdout)
        return {policy['name']: policy['admitted'] for policy in whole['policies']}, whole
    return run


def lines_of(log, count, is_request):
    """Waits for the log of that many requests."""
    until(lambda: log.exists() and sum(map(is_request, log.read_text().splitlines())) == count, 'all are logged')


def test_haproxy(simulated, tmp_path):
    port = free_port()
    proxy = proxies.haproxy(tmp_path, HAPROXY % port, '', port)
    try:
        ask(port)
        lines_of(proxy.log_file, 4, lambda line: ' HTTP/1.1"' in line)
    finally:
        proxy.stop()
    for arguments in ((), ('--format', 'haproxy')):
        counts, whole = simulated(proxy.log_file, *arguments)
        assert whole['requests'] == 4
        assert counts == {'addresses': 4, 'reports': 1, 'agents': 0}


def test_caddy(simulated, tmp_path):
    port = free_port()
    proxy = proxies.caddy(tmp_path, CADDY % port, port)
    log = tmp_path / 'access.log'
    try:
        ask(port)
        lines_of(log, 4, lambda line: '"handled request"' in line and 'test ' in line)
    finally:
        proxy.stop()
    for arguments in ((), ('--format', 'json', '--field', 'address=request.remote_ip')):
        counts, whole = simulated(log, *arguments)
        assert whole['skipped'] == 0
        assert (counts['reports'], counts['agents']) == (1, 4)
