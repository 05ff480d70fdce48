"""Hostile input: every byte is escaped in the response and the log, and nginx does not crash."""
from support import http2
from support.http_client import Connection
from support.policies import policies, policy

HELLO = 'location / { return 200 "hello"; }'
BUFFERS = 'large_client_header_buffers 8 64k; '


def printable(text):
    return all(' ' <= c <= '~' or c in '\n\t' for c in text)


def test_long_and_odd_header_values(nginx):
    file = policies(policy(quota=10, key='[header:x-key, cookie:c, query:q]'),
                    partition_key='plain')
    server = nginx(file, server=BUFFERS + HELLO)
    odd = [b'x' * 8192, b'\xff\xfe\x80', b'"quoted\\";r=9', b'%0d%0aRateLimit: 1', b'a\tb', b'',
           bytes(range(0x80, 0x100)), b'\x01\x02\x7f']
    for value in odd:
        with Connection(server.port) as connection:
            connection.send(b'GET /?q=' + value.replace(b'\t', b'').translate(
                None, bytes(range(0x21))).replace(b'\x7f', b'') +
                b' HTTP/1.1\r\nHost: a\r\nX-Key: ' + value + b'\r\nCookie: c=' + value + b'\r\n\r\n')
            response = connection.receive()
        assert response.status in (200, 400), value
        for name in ('RateLimit', 'RateLimit-Policy'):
            assert all(printable(v) for v in response.all(name)), value
        if response.status == 200 and len(value) < 8000:
            assert response.one('RateLimit').startswith('"burst";r=9;t=')
    assert server.request().status == 200
    for line in server.access(len(odd) + 1):
        assert printable('|'.join(line))


def test_a_malformed_host_is_refused(nginx):
    server = nginx(policies(policy(quota=50, match='[{host: api.example}]')), server='location / { return 200; }')
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; {HELLO}')
    server.reload()
    for host in ('u0@api.example', 'u:1@api.example', 'x:y@api.example', '%61pi.example', '\xaapi.example', 'h\\x?',
                 '.api.example', 'x1..api.example'):
        with Connection(server.port) as connection:
            assert connection.request(host=host).status == 400, host
        assert http2.status(server.other_port, host=host) == 400, host
    for host in ('api.example', 'API.example.:80'):
        with Connection(server.port) as connection:
            assert connection.request(host=host).one('RateLimit') is not None, host
        assert http2.status(server.other_port, host=host) == 200, host
    with Connection(server.port) as connection:
        assert connection.request('http://API.example:80/', host='other').r == 45


def test_a_dry_run_refuses_no_host(nginx):
    server = nginx(policies(policy(quota=5)), server='headgate_dry_run on; ' + HELLO)
    with Connection(server.port) as connection:
        assert connection.request(host='u0@api.example').status == 200
        assert connection.request('/x#y').status == 200


def test_missing_key_headers_share_one_partition(nginx):
    server = nginx(policies(policy(quota=3, key='[header:x-key]')), server=HELLO)
    assert [server.request().status for _ in range(4)] == [200, 200, 200, 429]
    assert server.request(headers=[('X-Key', '')]).status == 429
    assert server.request(headers=[('X-Key', 'a')]).status == 200


def test_a_key_that_comes_twice(nginx):
    server = nginx(policies(policy(quota=3, key='[header:x-key, query:k]')), server=HELLO)
    # The lines of a header are one list.
    lists = [[('X-Key', 'mine'), ('X-Key', 'yours')], [('X-Key', 'mine, yours')], [('X-Key', 'mine,yours')]]
    assert [server.request(headers=headers).r for headers in lists] == [2, 1, 0]
    # Different arguments are none.
    assert [server.request(path).r for path in ('/?k=mine&k=yours', '/?k=yours&k=mine', '/')] == [2, 1, 0]
    assert server.request('/?k=yours').r == 2


def test_a_variable_has_the_header_that_was_counted(nginx):
    server = nginx(policies(policy(quota=100)),
                   server='location / { return 200 "<$headgate_http_x_key><$headgate_http_x_absent>"; }')
    for lines, value in ((['a'], b'a'), (['\ta \t'], b'a'), (['a', 'b'], b'a, b'), (['a', '', 'b '], b'a, b'),
                         (['', 'a'], b'a'), ([''], b''), ([], b''), (['v'] * 500, b', '.join([b'v'] * 500))):
        response = server.request(headers=[('X-Key', line) for line in lines])
        assert response.body == b'<' + value + b'><>', lines


def test_conditions_read_all_lines_of_a_header(nginx):
    server = nginx(policies(policy(quota=3, match='[{header: {x-plan: free}}]')), server=BUFFERS + HELLO)
    lines = [('X-Plan', '')] * 900
    assert server.request(headers=lines).status == 200
    assert server.request(headers=lines + [('X-Plan', 'free')]).r == 2


def test_a_target_with_a_fragment_is_refused(nginx):
    """Its upstream would read another path than nginx."""
    server = nginx(policies(policy(quota=5, key='[path, query:k]')), server='location / { return 200; }')
    server.write(server=f'listen 127.0.0.1:{server.other_port} http2; {HELLO}')
    server.reload()
    for target in ('/#', '/x#/../login', '/?k=a#', '/?#&k=a', '/%23#'):
        assert server.request(target).status == 400, target
        assert http2.status(server.other_port, target) == 400, target
    assert server.request('/%23').status == 200


def test_a_request_without_host_has_that_of_the_server(nginx):
    server = nginx(policies(policy(quota=1, match='[{host: api.example}]')),
                   server='server_name api.example b.example; location / { return 200; }')
    with Connection(server.port) as connection:
        connection.send(b'GET / HTTP/1.0\r\n\r\n')
        assert connection.receive().status == 200
    with Connection(server.port) as connection:
        assert connection.request(host='api.example').status == 429
    with Connection(server.port) as connection:
        assert connection.request(host='b.example').status == 200


def test_parts_of_keys_do_not_run_together(nginx):
    server = nginx(policies(policy(quota=1, key='[header:a, header:b]')), server=HELLO)
    pairs = [('x', 'yz'), ('xy', 'z'), ('', 'xyz'), ('xyz', ''), ('x,y', 'z'), ('x', ';yz')]
    assert {server.request(headers=[('A', a), ('B', b)]).status for a, b in pairs} == {200}
    assert {server.request(headers=[('A', a), ('B', b)]).status for a, b in pairs} == {429}


def test_thousands_of_keys(nginx):
    server = nginx(policies(policy(quota=2, key='[header:x-key]')), server='keepalive_requests 100000; ' + HELLO,
                   gate='headgate_config headgate.yaml; headgate on; headgate_memory 64k;')
    offender = [('X-Key', 'offender')]
    assert [server.request(headers=offender).status for _ in range(3)] == [200, 200, 429]
    with Connection(server.port) as connection:
        for block in range(100):  # more keys than cells
            connection.send(b''.join(b'GET / HTTP/1.1\r\nHost: a\r\nX-Key: %d\r\n\r\n' % n
                                     for n in range(block * 90, block * 90 + 90)))
            statuses = {connection.receive().status for _ in range(90)}
            # Keys without a place share cells: they may be denied, and are always answered.
            assert statuses <= {200, 429} if block > 10 else statuses == {200}
    assert server.request(headers=offender).status == 429


def test_many_headers_and_cookies(nginx):
    server = nginx(policies(policy(quota=5, key='[header:x-key, cookie:c]')),
                   server=BUFFERS + HELLO)
    many = [(f'X-{n}', 'v') for n in range(500)]
    assert server.request(headers=many + [('x-KEY', 'k'), ('Cookie', 'c=' + 'y' * 4000)]).r == 4
    assert server.request(headers=[('X-Key', 'k')] + many + [('Cookie', 'c=' + 'y' * 4000)]).r == 3


def test_absolute_and_empty_paths(nginx):
    server = nginx(policies(policy(quota=5, match='[{path: "/", host: example.org}]')), server=HELLO)
    for target in ('http://example.org', 'http://example.org/', 'http://example.org?x',
                   'http://EXAMPLE.org:80/a/..'):
        with Connection(server.port) as connection:
            connection.send(f'GET {target} HTTP/1.1\r\nHost: other\r\n\r\n'.encode())
            response = connection.receive()
            assert response.status == 200 and len(response.all('RateLimit')) == 1, target
