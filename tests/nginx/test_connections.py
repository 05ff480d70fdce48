"""headgate_connections_per_address, where a connection has many requests at a time."""
from support import http2
from support.environment import PATIENCE
from support.policies import policies, policy
from support.processes import until
from support.raw_server import Slow

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
