"""headgate_connections_per_address, where a connection has many requests at a time."""
import pytest

from support import http2
from support.environment import PATIENCE
from support.http_client import Connection
from support.nginx import PRELOAD
from support.policies import policies, policy
from support.processes import until
from support.raw_server import Slow
from support.wall_clock import WallClock

GATE = 'headgate_config headgate.yaml; headgate on; headgate_connections_per_address 4;'
WIDE = policies(policy(quota=1000))


def test_requests_over_http2_count_like_connections(nginx):
    """Each of them may need a connection to the upstream. One HTTP/2 connection has 128 at most."""
    with Slow() as upstream:
        server = nginx(WIDE, gate=GATE, server='location /m { headgate off; headgate_metrics; }', run=False)
        server.write(http=f"""server {{ listen 127.0.0.1:{server.other_port} http2;
                                       error_page 503 /busy;
                                       location / {{ proxy_pass {upstream.url}; }}
                                       location /busy {{ return 200 page; }} }}""")
        server.start()

        def ask(count, source='127.0.0.2', **options):
            return http2.Streams(server.other_port, count, source=source, **options)

        upstream.hold()
        with ask(128) as first:
            for _ in range(128):
                assert upstream.begun.acquire(timeout=PATIENCE)
            with ask(3, window=0) as second:
                assert list(second.statuses()) == [503] * 3
                # They have ended: nothing is kept for a client that reads no body.
                assert [line[1] for line in server.access(3)] == ['503'] * 3
            with ask(1, '127.0.0.3') as other:
                assert upstream.begun.acquire(timeout=PATIENCE)
                upstream.go.set()
                assert list(other.statuses()) == [200]
            assert list(first.statuses()) == [200] * 128
        assert server.metrics('/m')['headgate_refused_connections_total'] == 3
        assert server.log.count('refused because one address has too many connections') == 1

        def is_served():
            with ask(1) as again:
                return list(again.statuses()) == [200]
        until(is_served, 'the address is served again')


def test_refusals_are_logged_also_after_the_wall_clock_was_set_back(nginx, tmp_path, monkeypatch):
    """10 s after the line before."""
    if PRELOAD:
        pytest.skip('the library of faketime does not go with a sanitizer')
    clock = WallClock(tmp_path)
    clock.set(24 * 3600)
    for name, value in clock.environment.items():
        monkeypatch.setenv(name, value)
    keep = ' '.join(f'env {name};' for name in clock.environment)
    server = nginx(WIDE, gate=GATE.replace('address 4', 'address 1'), main=keep, run=False)
    server.start()

    def lines_after_one_more():
        with Connection(server.port, '127.0.0.2') as refused:
            until(refused.is_closed, 'it is refused')
        return server.log.count('refused because one address has too many connections')

    with Connection(server.port, '127.0.0.2'):
        assert lines_after_one_more() == 1
        clock.set(0)
        until(lambda: lines_after_one_more() == 2, 'there is a second line')
