"""headgate gateway: a real nginx with the module, in front of a real upstream."""
import base64
import contextlib
import functools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess

import pytest

from conftest import WIDE
from support.environment import HEADGATE, PATIENCE
from support.gateway import Gateway, Streaming
from support.http_client import Connection, request
from support.processes import free_port, runs, until
from support.raw_server import RawServer, Slow, response

NARROW = 'version: 1\npolicies: [{name: narrow, quota: 2, window: 1h}]\n'
BAD = 'version: 1\npolicies: [{name: wide, quota: many, window: 1h}]\n'


@pytest.fixture
def streaming():
    """An upstream whose answers end when the test ends them."""
    server = Streaming()
    yield server
    server.close()


# ---- what passes through

def test_fields_then_429_with_retry_after(gateway):
    one = gateway(NARROW)
    response = one.request()
    assert response.status == 200
    assert response.headers['RateLimit-Policy'] == '"narrow";q=2;w=3600'
    assert response.headers['RateLimit'] == '"narrow";r=1;t=1800'
    assert response.headers['Server'] == 'echo/1'
    assert one.request().status == 200
    response = one.request(headers={'Accept': 'application/problem+json'})
    assert response.status == 429
    assert 1 <= int(response.headers['Retry-After']) <= 1800
    assert response.headers['RateLimit'] == f'"narrow";r=0;t={response.headers["Retry-After"]}'
    assert 'quota-exceeded' in response.text


def test_the_first_connection_to_a_socket_of_systemd_starts_it(gateway):
    port = free_port()
    address = f'127.0.0.1:{port}'
    one = gateway(NARROW, '--listen', address, prefix=['systemd-socket-activate', '-l', address], wait=False)
    one.errors.until(f'Listening on {address}')
    assert [request(port).status for _ in range(3)] == [200, 200, 429]
    assert one.errors.until('^headgate: listening on ').string.startswith(f'headgate: listening on http://{address} ')
    assert one.stop() == 0


def test_a_socket_of_systemd_that_covers_the_address_and_is_another_one_is_named(gateway):
    port = free_port()
    one = gateway(NARROW, '--listen', f'127.0.0.1:{port}',
                  prefix=['systemd-socket-activate', '-l', f'0.0.0.0:{port}'], wait=False)
    one.errors.until('Listening on ')
    with socket.create_connection(('127.0.0.1', port)):
        one.errors.until(rf'passes a socket for 0\.0\.0\.0:{port}, which no option names')
        assert one.wait() == 1


def test_the_upstream_sees_the_request_as_the_client_sent_it(gateway, upstream):
    one = gateway(url=upstream.url + '/base/')
    seen = one.seen_upstream(path='/a%2Fb//c/../d?q=%20&x', headers={'Host': 'API.example:99'})
    assert seen['path'] == '/base/a%2Fb//c/../d?q=%20&x'
    assert seen['headers']['host'] == ['API.example:99']
    assert 'connection' not in seen['headers']


def test_forwarding_fields_of_untrusted_clients_are_not_passed_on(gateway):
    said = {'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'b',
            'Forwarded': 'for=192.0.2.7', 'Host': 'a:99'}
    headers = gateway().seen_upstream(headers=said)['headers']
    assert headers['x-forwarded-host'] == ['a:99']
    assert headers['x-forwarded-for'] == ['192.0.2.7, 127.0.0.1']
    assert headers['x-forwarded-proto'] == ['http']
    assert 'forwarded' not in headers


def test_those_of_trusted_proxies_are_also_after_a_reload(gateway):
    said = {'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'b', 'Forwarded': 'for=192.0.2.7'}
    one = gateway()
    one.policy_file.write_text('client-address: {trusted-proxies: [127.0.0.0/8]}\n' + WIDE)
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reloaded')
    headers = one.seen_upstream(headers=said)['headers']
    assert headers['x-forwarded-proto'] == ['https']
    assert headers['forwarded'] == ['for=192.0.2.7']
    assert headers['x-forwarded-host'] == ['b']


TRUSTING = 'client-address: {trusted-proxies: [127.0.0.1]}\n' + WIDE


def test_every_proxy_may_be_trusted(gateway):
    one = gateway('client-address: {trusted-proxies: [0.0.0.0/0, "::/0", "::/0"]}\n' + WIDE)
    assert one.seen_upstream(headers={'X-Forwarded-Proto': 'gopher'})['headers']['x-forwarded-proto'] == ['gopher']
    assert one.stop() == 0
    assert len(one.errors.rest()) == 1, 'nginx complains of its configuration'


def test_the_upstream_gets_all_lines_of_trusted_proxies(gateway):
    """A proxy may add its own line behind the one that a client has forged: the last one counts."""
    one = gateway('partition-key: plain\n' + TRUSTING, '--access-log', '-')
    said = exchange(one, b'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n'
                    b'Forwarded: for=192.0.2.7\r\nForwarded: for=203.0.113.9\r\n'
                    b'X-Forwarded-Proto: http\r\nX-Forwarded-Proto: https\r\n'
                    b'User-Agent: a/1\r\nUser-Agent: b/1\r\n\r\n')
    head, _, body = said.partition(b'\r\n\r\n')
    assert b';pk=:%s:' % base64.b64encode(b'203.0.113.9') in head
    headers = json.loads(body)['headers']
    assert headers['forwarded'] == ['for=192.0.2.7, for=203.0.113.9']
    assert headers['x-forwarded-proto'] == ['http, https']
    assert one.output.until('"GET / ').string.endswith('"-" "a/1, b/1" admitted "-"')


def test_large_bodies_pass_in_either_framing_and_nothing_is_written_to_disk(gateway):
    body = b'x' * 3_000_000
    one = gateway()
    assert one.seen_upstream('POST', body=body)['body_bytes'] == len(body)
    chunks = (body[at:at + 70_000] for at in range(0, len(body), 70_000))
    seen = one.seen_upstream('POST', body=chunks, encode_chunked=True,
                             headers={'Transfer-Encoding': 'chunked'})
    assert seen['body_bytes'] == len(body)


def test_bodies_that_are_counted_before_they_pass_may_be_large(gateway):
    one = gateway('version: 1\npolicies: [{name: bytes, quota: 1000000, window: 1h, '
                  'unit: content-bytes, cost: request-bytes}]\n')
    seen = one.seen_upstream('POST', body=iter([b'x' * 300_000]), encode_chunked=True,
                             headers={'Transfer-Encoding': 'chunked'})
    assert seen['body_bytes'] == 300_000


def exchange(one, request):
    """All bytes that come back for these until the connection is closed."""
    with socket.create_connection(('127.0.0.1', one.port), timeout=PATIENCE) as client:
        client.sendall(request)
        return client.makefile('rb').read()


def test_policies_and_upstream_see_the_same_host(gateway):
    one = gateway('version: 1\npolicies: [{name: api, quota: 1000, window: 1h, '
                  'match: [{host: api.example}]}]\n')
    end = b'Connection: close\r\n\r\n'
    # RFC 9112, section 3.2.2: the host of an absolute target goes before the header field.
    said = exchange(one, b'GET http://other.example/ HTTP/1.1\r\nHost: api.example\r\n' + end)
    assert b'RateLimit:' not in said and b'"host": ["other.example"]' in said
    said = exchange(one, b'GET  HTTP+x://Api.example:99/a HTTP/1.1\r\nHost: other.example\r\n' + end)
    assert b'RateLimit: "api";r=999' in said and b'"host": ["Api.example:99"]' in said
    said = exchange(one, b'GET http://api.example?x HTTP/1.1\r\nHost: other.example\r\n' + end)
    assert b'RateLimit: "api";r=998' in said and b'"host": ["api.example"]' in said


@pytest.mark.parametrize('host', [
    b'u0@api.example', b'u:1@api.example', b'other.example:1@api.example', b'%61pi.example', b'h\\login?', b'h#',
    b'\xaapi.example', b'ap\xadi.example', b'[api.example]', b'a,api.example', b'h:x'])
def test_a_malformed_host_reaches_no_upstream(gateway, host):
    one = gateway('version: 1\npolicies: [{name: api, quota: 1000, window: 1h, match: [{host: api.example}]}, '
                  '{name: all, quota: 1000, window: 1h}]\n')
    end = b'\r\nConnection: close\r\n\r\n'
    said = exchange(one, b'GET /x HTTP/1.1\r\nHost: ' + host + end)
    assert said.startswith(b'HTTP/1.1 400 '), said
    # It is charged, but to the policies of no host.
    assert b'RateLimit: "all";r=999;' in said and b'"api"' not in said
    for good in b'api.example', b'API_1.example.:8080', b'[::1]:80', b'192.0.2.1':
        assert exchange(one, b'GET /x HTTP/1.1\r\nHost: ' + good + end).startswith(b'HTTP/1.1 200 '), good


@pytest.mark.parametrize('host', [b'node.1', b'192.0.2.256', b'[::1::2]'])
def test_a_host_that_is_no_address_reaches_no_upstream_if_a_policy_asks_for_a_host(gateway, host):
    end = b'\r\nConnection: close\r\n\r\n'
    said = exchange(gateway(), b'GET /x HTTP/1.1\r\nHost: ' + host + end)
    assert said.startswith(b'HTTP/1.1 200 '), said
    one = gateway('version: 1\npolicies: [{name: api, quota: 1000, window: 1h, match: [{host: api.example}]}]\n')
    said = exchange(one, b'GET /x HTTP/1.1\r\nHost: ' + host + end)
    assert said.startswith(b'HTTP/1.1 400 '), said


def test_a_request_without_host_is_passed_on_with_the_upstreams(gateway, upstream):
    said = exchange(gateway(), b'GET / HTTP/1.0\r\n\r\n')
    assert f'"host": ["{upstream.url[7:]}"]'.encode() in said


def test_a_request_without_host_meets_the_policies_of_the_upstreams(gateway):
    one = gateway('version: 1\npolicies: [{name: api, quota: 1, window: 1h, match: [{host: 127.0.0.1}]}]\n')
    assert b'"api";r=0;' in exchange(one, b'GET / HTTP/1.0\r\n\r\n')
    assert exchange(one, b'GET / HTTP/1.0\r\n\r\n').startswith(b'HTTP/1.1 429 ')


@pytest.mark.parametrize('target', ['/x#/../login', '/login#', '/?#&k=1', 'http://h/#'])
def test_a_target_with_a_fragment_reaches_no_upstream(gateway, target):
    said = exchange(gateway(), f'GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'.encode())
    assert said.startswith(b'HTTP/1.1 400 '), said


def test_responses_of_nginx_itself_are_charged_and_have_fields(gateway):
    said = exchange(gateway(), b'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')
    assert said.startswith(b'HTTP/1.1 400 ')
    assert b'\r\nRateLimit: "wide";r=999;' in said


@pytest.mark.parametrize('spelled', [b'websocket', b'WebSocket', b' websocket '])
def test_a_websocket_is_handed_over(gateway, spelled):
    one = gateway()
    with socket.create_connection(('127.0.0.1', one.port), timeout=PATIENCE) as client:
        client.sendall(b'GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: ' + spelled +
                       b'\r\n\r\n')
        reader = client.makefile('rb')
        assert reader.readline() == b'HTTP/1.1 101 Switching Protocols\r\n'
        headers = {line.partition(b':')[0].lower() for line in iter(reader.readline, b'\r\n')}
        assert b'ratelimit' in headers
        client.sendall(b'hello\n')
        assert reader.readline() == b'HELLO\n'


@pytest.mark.parametrize('protocol', ['h2c', 'H2C', 'h2c, websocket', 'websocket, h2c', 'TLS/1.0',
                                      'websocket2', ' h2c\t'])
def test_no_other_upgrade_is_passed_on(gateway, protocol):
    headers = {'Connection': 'Upgrade, HTTP2-Settings', 'Upgrade': protocol,
               'HTTP2-Settings': 'AAMAAABkAAQAoAAAAAIAAAAA'}
    seen = gateway().seen_upstream(headers=headers)['headers']
    assert not {'upgrade', 'http2-settings'} & seen.keys(), seen
    assert seen.get('connection', ['']) in (['keep-alive'], ['']), seen


def test_an_upgrade_to_one_of_two_protocols_is_not_passed_on(gateway):
    said = exchange(gateway(), b'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, close\r\n'
                    b'Upgrade: websocket\r\nUpgrade: h2c\r\n\r\n')
    assert said.startswith(b'HTTP/1.1 200 ') and b'"upgrade"' not in said


def test_the_upstream_gets_the_header_that_was_counted(gateway):
    one = gateway('version: 1\npolicies: [{name: k, quota: 9, window: 1w, key: ["header:x-api-key"]}]\n')
    for lines, seen in (([b'secret'], ['secret']), ([b'secret', b'junk'], ['secret, junk']),
                        ([b'\tsecret', b''], ['secret']), ([], None), ([b''], None)):
        sent = b''.join(b'X-Api-Key:' + line + b'\r\n' for line in lines)
        said = exchange(one, b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n' + sent + b'\r\n')
        headers = json.loads(said.partition(b'\r\n\r\n')[2])['headers']
        assert headers.get('x-api-key') == seen, lines


def test_denials_do_not_wait_for_headgate(gateway):
    """It reads what nginx logs, but not while it does something else."""
    one = gateway(NARROW)
    one.send(signal.SIGSTOP)
    try:
        statuses = []
        for _ in range(4):
            with Connection(one.port) as connection:
                statuses += [connection.request().status for _ in range(500)]
        assert statuses == [200] * 2 + [429] * 1998
    finally:
        one.send(signal.SIGCONT)
    assert one.stop() == 0


@pytest.mark.parametrize('size', [64, 255])
def test_names_of_headers_that_are_counted_may_be_long(gateway, size):
    name = 'x-' + 'n' * (size - 2)
    one = gateway(f'version: 1\npolicies: [{{name: each, quota: 9, window: 1h, key: ["header:{name}"]}}]\n')
    assert one.seen_upstream(headers={name: 'v'})['headers'][name] == ['v']


def test_metrics_have_a_listener_of_their_own(gateway):
    one = gateway(WIDE, '--metrics', '127.0.0.1:0')
    metrics = one.errors.seen[-1].partition(', metrics on http://')[2]
    address = metrics.partition('/')[0]
    one.request()
    text = subprocess.run(['curl', '-s', f'http://{metrics}'], capture_output=True, text=True,
                          check=True).stdout
    assert 'headgate' in text and 'wide' in text
    elsewhere = subprocess.run(['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}',
                                f'http://{address}/x'], capture_output=True, text=True).stdout
    assert elsewhere == '404'
    assert one.request(path='/metrics').status == 200  # from the upstream


def test_top_and_the_dashboard_are_at_the_listener_of_the_metrics(gateway, headgate):
    six = ''.join(f'  - {{name: p{n}, quota: {n + 10}, window: 1h}}\n' for n in range(6))
    one = gateway('version: 1\npartition-key: plain\npolicies:\n' + six, '--metrics', '127.0.0.1:0')
    for _ in range(20):
        one.request()
    counted = one.metrics()
    assert [counted[f'headgate_requests_total{{outcome="{outcome}"}}']
            for outcome in ('admitted', 'denied', 'shadow-denied')] == [10, 10, 0]
    assert sum(value for name, value in counted.items() if name.startswith('headgate_decisions_total')) > 20
    shown = headgate('top', '--url', f'http://127.0.0.1:{one.metrics_port}')
    assert (shown.returncode, shown.stderr) == (0, '')
    lines = shown.stdout.splitlines()
    assert re.match(r'requests [\d.]+/s   denied [\d.]+/s \(50\.0 %\)$', lines[0]), lines
    assert re.search(r'\nMost denied\n.*\n +[\d.]+ +0 +p0 +127\.0\.0\.1\n', shown.stdout + '\n')
    page = request(one.metrics_port, '/')
    assert (page.status, page.getheader('Content-Type')) == (200, 'text/html; charset=utf-8')
    assert request(one.metrics_port, '/v1/policies').status == 200


def test_the_dashboard_is_not_for_pages_whose_name_points_here(gateway):
    one = gateway(WIDE, '--metrics', '127.0.0.1:0')

    def status(path, host):
        return request(one.metrics_port, path, headers={'Host': f'{host}:{one.metrics_port}'}).status

    for host in ('127.0.0.1', 'localhost', 'LOCALHOST', 'a.localhost', 'metrics', '[::1]'):
        assert status('/', host) == 200, host
    for host in ('evil.example', '127.0.0.1.evil.example', 'localhost.evil.example', '10.0.0.1'):
        for path in ('/', '/v1/top', '/dashboard.js'):
            assert status(path, host) == 403, host
        assert status('/metrics', host) == 200, host


def test_keys_on_an_address_for_all_are_warned_of(gateway):
    plain = 'partition-key: plain\n' + WIDE
    one = gateway(plain, '--metrics', '0.0.0.0:0', wait=False)
    one.errors.until('shows the keys of clients to everyone who can connect')
    port = int(one.errors.until(r', metrics on http://0\.0\.0\.0:(\d+)/metrics$')[1])
    assert request(port, '/', headers={'Host': 'gateway.example'}).status == 200
    assert one.stop() == 0


def test_a_json_log_replays_what_was_decided(gateway, headgate, directory):
    text = """version: 1
policies:
  - {name: keys, quota: 3, window: 1w, key: "header:x-api-key"}
  - {name: plans, quota: 2, window: 1w, key: [], match: {header: {x-plan: 'fr"ee*'}}}
"""
    log = directory / 'access.json'
    one = gateway(text, '--access-log', log, '--access-log-format', 'json')
    for key, plan, requests in (('a', 'paid', 5), ('b', 'fr"ee\\', 4), ('c"\\', 'x', 1)):
        for _ in range(requests):
            one.request(headers={'X-API-Key': key, 'X-Plan': plan})
    assert one.stop() == 0
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        assert entry['http_x_api_key'] in ('a', 'b', 'c"\\')
        assert (entry['status'] == '429') == (entry['headgate_verdict'] == 'denied')
    (directory / 'p.yaml').write_text(text)
    result = headgate('simulate', '--config', f'{directory}/p.yaml', '--json', '--field', 'duration=request_time', str(log))
    said = json.loads(result.stdout)
    assert (said['requests'], said['skipped'], said['admitted'], said['denied']) == (10, 0, 3 + 2 + 1, 2 + 2)
    assert {policy['name']: policy['partitions'] for policy in said['policies']} == {'keys': 3, 'plans': 1}


def test_the_access_log_has_the_verdict(gateway):
    one = gateway(NARROW, '--access-log', '-')
    for _ in range(3):
        one.request(path='/x')
    lines = [one.output.until(r'"GET /x HTTP/1.1" \d+ .*')[0] for _ in range(3)]
    # Each worker writes its own lines: their order is not that of the requests.
    verdicts = sorted(' '.join(line.split()[-2:]) for line in lines)
    assert verdicts == ['admitted "-"', 'admitted "-"', 'denied "narrow"']


def test_the_upstreams_orders_to_nginx_are_passed_on_and_not_obeyed(gateway):
    orders = [('X-Accel-Redirect', '/other'), ('X-Accel-Expires', '5'), ('X-Accel-Limit-Rate', '1'),
              ('X-Accel-Charset', 'koi8-r'), ('X-Accel-Buffering', 'no'), ('Content-Type', 'text/plain')]
    with RawServer(lambda *_: response(fields=orders, body=b'body' * 10)) as server:
        answer = gateway(url=server.url).request('POST', '/order', body=b'')
        assert (answer.status, answer.text) == (200, 'body' * 10)
        assert [(name, answer.headers[name]) for name, _ in orders] == orders
        assert server.paths == ['/order']


@pytest.mark.parametrize('size, status', [(30_000, 200), (33_000, 502)])
def test_the_header_of_a_response_is_bounded(gateway, size, status):
    cookies = [('Set-Cookie', f'c{n}=' + 'x' * 2980) for n in range(size // 3000)]
    with RawServer(lambda *_: response(fields=cookies, body=b'body')) as server:
        assert gateway(url=server.url).request().status == status


def test_a_silent_upstream_is_given_up(gateway):
    with Slow() as server:
        server.hold()
        assert gateway(WIDE, '--response-timeout', '50ms', url=server.url).request().status == 504
        server.go.set()


# ---- its life

@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_it_stops_cleanly_and_leaves_nothing_behind(gateway, number):
    one = gateway()
    one.request()
    nginx = one.nginx()
    assert len(nginx) >= 2
    assert len(one.left_behind()) == 1
    assert one.stop(number) == 0
    assert one.left_behind() == []
    assert not any(runs(pid) for pid in nginx)
    assert one.errors.rest()[1:] == []


def test_it_stops_also_if_its_parent_ignores_the_end_of_children(gateway):
    one = gateway(prefix=['env', '--ignore-signal=CHLD'])
    assert one.stop() == 0
    assert one.left_behind() == []


def test_a_stop_waits_for_requests(gateway, upstream):
    one = gateway()
    connection = one.connect()
    connection.request('GET', '/hold/')
    assert upstream.held.wait(PATIENCE)
    one.send(signal.SIGINT)
    upstream.release.set()
    assert connection.getresponse().status == 200
    assert one.wait() == 0


def test_a_second_signal_does_not(gateway, upstream):
    one = gateway()
    connection = one.connect()
    connection.request('GET', '/hold/')
    assert upstream.held.wait(PATIENCE)
    one.send(signal.SIGINT)
    one.send(signal.SIGTERM)
    assert one.wait() == 0
    assert not upstream.release.is_set()
    assert one.left_behind() == []


def test_a_stop_while_it_starts_makes_nginx_dump_no_memory(gateway, directory, monkeypatch):
    """Until nginx handles SIGQUIT, with which it is stopped later, that would end it with a core dump."""
    program = directory / 'nginx'
    program.write_text("""#!/bin/sh
trap 'echo SIGQUIT >&2; exit' QUIT
trap 'echo SIGTERM >&2; exit' TERM
echo reads its configuration >&2
while :; do sleep 0.02; done
""")
    program.chmod(0o755)
    monkeypatch.setenv('PATH', f'{directory}:{os.environ["PATH"]}')
    one = gateway(wait=False)
    one.errors.until('reads its configuration')
    assert one.stop() == 0
    assert one.errors.rest()[1:] == ['SIGTERM']
    assert one.left_behind() == []


def reload(one):
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reloaded')


def test_streams_survive_reloads_and_end_when_their_upstream_ends_them(gateway, streaming):
    one = gateway(url=streaming.url)
    events = [streaming.open_events(one), streaming.open_socket(one)]
    for policies in NARROW, WIDE, NARROW:
        one.policy_file.write_text(policies)
        reload(one)
        events.append(streaming.open_events(one))
    for each in events:
        assert each.hears('still there')
    for each in events:
        each.finish()
        assert each.ended()
    assert one.stop() == 0


def test_drain_bounds_how_long_they_survive_it(gateway, streaming):
    short = gateway(WIDE, '--drain', '100ms', url=streaming.url)
    unbounded = gateway(WIDE, url=streaming.url)
    cut, kept = streaming.open_events(short), streaming.open_events(unbounded)
    cut_socket, kept_socket = streaming.open_socket(short), streaming.open_socket(unbounded)
    for one in unbounded, short:
        reload(one)
    assert cut.ended() and cut_socket.ended()
    assert kept.hears('still there') and kept_socket.hears('still there')


def test_drain_bounds_a_stop(gateway, streaming):
    one = gateway(WIDE, '--drain', '100ms', url=streaming.url)
    events = streaming.open_events(one)
    assert one.stop() == 0
    assert events.ended()
    assert 'headgate: requests still in progress are cut off: the time of --drain, or 10 s, is over' \
        in one.errors.rest()


def test_a_reload_puts_a_good_file_in_force_and_keeps_what_was_spent(gateway):
    one = gateway(NARROW)
    one.request()
    one.policy_file.write_text(NARROW.replace('quota: 2', 'quota: 20'))
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reloaded')
    response = one.request()
    assert response.headers['RateLimit-Policy'] == '"narrow";q=20;w=3600'
    left = int(re.match('"narrow";r=([0-9]+);', response.headers['RateLimit'])[1])
    assert 9 <= left < 19  # half of it had been spent
    assert one.stop() == 0


def test_a_reload_refuses_a_bad_file_and_keeps_the_old_one(gateway):
    one = gateway(NARROW)
    one.request()
    one.policy_file.write_text(BAD)
    one.send(signal.SIGHUP)
    fault = one.errors.until(r':2:\d+: ')
    assert fault.string.startswith(str(one.policy_file)) and 'many' in fault.string
    one.errors.until('^headgate: reload refused; the policies in force stay')
    assert one.request().headers['RateLimit'].startswith('"narrow";r=0;')
    one.policy_file.write_text(NARROW)
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reloaded')
    assert one.request().status == 429
    assert one.stop() == 0


def test_refused_reloads_are_counted_and_told_once(gateway):
    one = gateway(NARROW, '--metrics', '127.0.0.1:0')
    two_faults = BAD.replace('window: 1h', 'window: long')
    for count, bad in enumerate((BAD, two_faults, 'version: 1\npolicies: []\nboulder: {defaults: b}\n'), 1):
        (one.policy_file.parent / 'b').write_text('Limit: {burst: many, count: 1, period: 1s}\n')
        one.policy_file.write_text(bad)
        one.send(signal.SIGHUP)
        one.errors.until('^headgate: reload refused; the policies in force stay')
        until(lambda: one.metrics()['headgate_refused_reloads_total'] == count, 'it is counted')
    one.policy_file.write_text(WIDE)
    reload(one)
    assert one.metrics()['headgate_refused_reloads_total'] == 3
    assert one.metrics()['headgate_reloads_total'] == 1
    assert one.stop() == 0
    said = one.errors.rest()
    assert len([line for line in said if "'many'" in line]) == 3, said
    assert len([line for line in said if "'long'" in line]) == 1, said
    assert len([line for line in said if 'refused' in line]) == 3, said


def test_warnings_are_told_once(gateway):
    policies = 'version: 1\npolicies: [{name: each, quota: 9, window: 1h, match: {host: "a:80"}}]\n'
    one = gateway(policies)
    reload(one)
    assert one.stop() == 0
    place = f"warning: {one.policy_file}:2:61: host 'a:80' matches no request"
    said = [line for line in one.errors.rest() if 'a:80' in line]
    assert len(said) == 2 and all(line.startswith(place) and '/nginx.conf' not in line for line in said), said


def test_a_file_that_changes_while_it_is_refused(gateway):
    """nginx reads it after the gateway has, and then has fewer faults to report than were shown."""
    one = gateway(NARROW, '--metrics', '127.0.0.1:0')
    master = one.nginx()[0]
    os.kill(master, signal.SIGSTOP)
    one.policy_file.write_text(BAD.replace('window: 1h', 'window: long'))
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reload refused')
    one.policy_file.write_text(BAD)
    os.kill(master, signal.SIGCONT)
    until(lambda: one.metrics()['headgate_refused_reloads_total'] == 1, 'nginx has refused it')
    one.policy_file.write_text(WIDE)
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reloaded')
    assert one.stop() == 0


def with_another_table(gateway, before, after):
    """A gateway that has used one unit and is told to reload with these settings of its table."""
    state = 'store: {table: {%s}}\n' + NARROW
    one = gateway(state % before, '--metrics', '127.0.0.1:0')
    one.request()
    one.policy_file.write_text(state % after)
    one.send(signal.SIGHUP)
    return one


def test_a_configuration_that_cannot_be_written_is_refused_and_counted(gateway):
    one = gateway(WIDE, '--metrics', '127.0.0.1:0')
    [conf] = one.temporary.glob('*/nginx.conf')
    draft = conf.with_name('nginx.conf.draft')
    draft.mkdir()
    for count in 1, 2:
        one.send(signal.SIGHUP)
        one.errors.until(f"^headgate: can't write {re.escape(str(conf))}: Is a directory$")
        one.errors.until('^headgate: reload refused')
        until(lambda: one.metrics()['headgate_refused_reloads_total'] == count, 'it is counted')
    draft.rmdir()
    reload(one)
    assert not [line for line in one.errors.seen if 'unexpected end' in line]


def test_a_reload_makes_the_private_directory_again(gateway):
    one = gateway()
    [private] = one.temporary.iterdir()
    mode = private.stat().st_mode
    shutil.rmtree(private)
    reload(one)
    assert private.stat().st_mode == mode
    gateway()  # removes directories that no process has locked
    assert (private / 'nginx.conf').exists()


def test_nothing_is_read_from_a_directory_that_another_has_put_in_its_place(gateway, directory):
    one = gateway(WIDE)
    [private] = one.temporary.iterdir()
    shutil.rmtree(private)
    other = directory / 'other'
    other.mkdir()
    (other / 'nginx.conf').write_text('not for headgate\n')
    private.symlink_to(other)
    for policies, words in (WIDE, "can't make the directory .* again: File exists"), (BAD, 'many'):
        one.policy_file.write_text(policies)
        one.send(signal.SIGHUP)
        one.errors.until(words)
        one.errors.until('^headgate: reload refused')
    assert one.request().status == 200
    assert one.stop() == 0
    assert [file.name for file in other.iterdir()] == ['nginx.conf']
    assert (other / 'nginx.conf').read_text() == 'not for headgate\n'


def test_a_table_that_cannot_be_opened_is_refused_and_counted(gateway):
    one = with_another_table(gateway, 'memory: 128KiB, file: table', 'memory: 128KiB, file: no/table')
    assert 'No such file' in one.errors.until('no/table').string
    one.errors.until('^headgate: reload refused; the policies in force stay')
    until(lambda: one.metrics()['headgate_refused_reloads_total'] == 1, 'it is counted')
    assert one.request().headers['RateLimit'].startswith('"narrow";r=0;')


def test_a_table_that_is_larger_than_asked_for_is_used_as_it_is(gateway):
    one = with_another_table(gateway, 'memory: 128KiB, file: table', 'memory: 64KiB, file: table')
    assert 'is a table of 131072 bytes' in one.errors.until('/table').string
    one.errors.until('^headgate: reloaded')
    assert one.metrics()['headgate_tables_changed_total'] == 0
    assert one.request().headers['RateLimit'].startswith('"narrow";r=0;')


def test_lost_quotas_are_announced_and_counted(gateway):
    one = with_another_table(gateway, 'memory: 128KiB', 'memory: 64KiB')
    one.errors.until('quotas kept in the old one are lost')
    one.errors.until('^headgate: reloaded')
    assert one.metrics()['headgate_tables_changed_total'] == 1
    assert one.request().headers['RateLimit'].startswith('"narrow";r=1;')


def test_a_table_grows_and_keeps_the_quotas(gateway):
    one = with_another_table(gateway, 'memory: 64KiB', 'memory: 1MiB')
    one.errors.until('^headgate: reloaded')
    assert one.metrics()['headgate_table_memory_bytes'] == 1 << 20
    assert one.metrics()['headgate_tables_changed_total'] == 0
    assert one.request().headers['RateLimit'].startswith('"narrow";r=0;')


# ---- clients that send little

HALF = b'GET / HTTP/1.1\r\nHost: a\r\n'


def is_served(one, address):
    with contextlib.suppress(OSError), Connection(one.port, source=address) as connection:
        return connection.request('/').status == 200
    return False


def test_one_address_cannot_use_up_the_connections(gateway):
    """All half heads come from one address; another one is served, and counted are those refused."""
    one = gateway(WIDE, '--workers', '1', '--connections-per-address', '20', '--metrics', '127.0.0.1:0')
    halves = [Connection(one.port, source='127.0.0.2') for _ in range(50)]
    for half in halves:
        with contextlib.suppress(OSError):  # those that are closed
            half.send(HALF)
    # nginx accepts in order: when the last one of another address is answered, all are accepted.
    with Connection(one.port, source='127.0.0.3') as other:
        assert other.request('/').status == 200
    assert one.metrics()['headgate_refused_connections_total'] == 30
    one.errors.until('refused because one address has too many connections: 1, the last one from 127.0.0.2$')
    assert sum(half.is_closed() for half in halves) == 30
    for half in halves:
        half.close()
    until(lambda: is_served(one, '127.0.0.2'), 'the address is served again')


def test_trusted_proxies_may_have_any_number_of_connections(gateway):
    one = gateway('client-address: {trusted-proxies: [127.0.0.2]}\n' + WIDE, '--workers', '1',
                  '--connections-per-address', '5')
    held = [Connection(one.port, source='127.0.0.2') for _ in range(20)]
    for each in held:
        assert each.request('/').status == 200


def test_a_body_is_read_whole_before_the_upstream_gets_it_if_that_is_wanted(gateway, upstream):
    one = gateway(WIDE, '--buffer-requests', '1MiB')
    with Connection(one.port) as slow:
        slow.send(b'POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n' + b'x' * 100_000)
        assert one.request(path='/quick').status == 200
        assert '/slow' not in upstream.paths
        slow.send(b'x' * 100_000)
        assert slow.receive().status == 200
    assert '/slow' in upstream.paths
    assert one.request('POST', '/long', body=b'x' * ((1 << 20) + 1)).status == 413
    assert '/long' not in upstream.paths


def test_a_body_is_forwarded_while_it_arrives_otherwise(gateway, upstream):
    one = gateway(WIDE)
    with Connection(one.port) as slow:
        slow.send(b'POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx')
        until(lambda: '/slow' in upstream.paths, 'the upstream has the head')
        slow.send(b'x')
        assert slow.receive().status == 200


def test_a_response_before_the_whole_body_ends_the_connection_and_says_so(gateway):
    """nginx does not answer what comes behind the body there."""
    one = gateway(WIDE, url=f'http://127.0.0.1:{free_port()}')
    with Connection(one.port) as client:
        client.send(b'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n')
        early = client.receive()
        assert (early.status, early.one('Connection')) == (502, 'close')
    with Connection(one.port) as client:
        whole = client.request('/', 'POST', body=b'12345')
        assert (whole.status, whole.one('Connection')) == (502, 'keep-alive')


# ---- clients that do not read

class Endless(RawServer):
    """Answers / with a short body, and every other path with one that does not end."""

    def __init__(self):
        self.ended = 0  # of the endless ones
        super().__init__(lambda path, *_: response(body=b'short') if path == '/' else self.parts())

    def parts(self):
        try:
            yield b'HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n'
            while True:
                yield bytes(1 << 16)
        finally:
            self.ended += 1


def has_ended(connection):
    """Whether the other side has closed it, also if there is data that was not read."""
    poll = select.poll()
    poll.register(connection.socket, 0)
    return bool(poll.poll(0))


def peak_memory(process):
    """The most memory that it has had so far [bytes]."""
    status = pathlib.Path(f'/proc/{process}/status').read_text()
    return int(re.search(r'VmHWM:\s+(\d+) kB', status)[1]) << 10


def test_a_client_that_does_not_read_is_bounded_and_closed(gateway):
    """In the worker's memory, on disk and in time; others are served, and the upstream is let go."""
    count = 100
    with Endless() as upstream:
        one = gateway(WIDE, '--workers', '1', '--unread-timeout', '1s', url=upstream.url)
        worker = one.nginx()[-1]
        assert one.request().status == 200
        before = peak_memory(worker)
        unread = [Connection(one.port, source='127.0.0.2') for _ in range(count)]
        for connection in unread:
            connection.send(b'GET /endless HTTP/1.1\r\nHost: a\r\n\r\n' * 10)
        assert one.request().status == 200
        until(lambda: upstream.ended == count, 'the upstream is let go')
        until(lambda: all(map(has_ended, unread)), 'all are closed')
        assert upstream.paths.count('/endless') == count, 'no further request is read'
        # Buffers of the response are 68 KiB; the rest is what nginx has for every request.
        assert peak_memory(worker) - before < count * (128 << 10)
        assert not [file for file in one.temporary.glob('*/tmp/**/*') if file.is_file()]
        for connection in unread:
            connection.close()


@pytest.mark.parametrize('option, value, words', [
    ('--drain', '0', 'is out of range'), ('--unread-timeout', '0', 'is out of range'),
    ('--response-timeout', '0', 'is out of range'), ('--drain', 'soon', 'is not a duration'),
    ('--buffer-requests', '1 MB', 'is not a size'), ('--buffer-requests', '0', 'is out of range'),
])
def test_a_quantity_that_is_none_is_wrong_usage(fails, option, value, words):
    status, said = fails(WIDE, option, value)
    assert status == 2
    assert said.startswith(f'headgate: {option} "{value}" {words}'), said


def test_a_killed_nginx_is_reported_and_cleaned_up(gateway):
    one = gateway()
    nginx = one.nginx()
    os.kill(nginx[0], signal.SIGKILL)
    assert one.wait() == 1
    assert 'headgate: nginx was killed by signal 9' in one.errors.rest()
    assert one.left_behind() == []
    assert not any(runs(pid) for pid in nginx)


def wait_for_the_end_of(watched):
    """Waits for processes, by file descriptors from os.pidfd_open()."""
    for fd in watched:
        with open(fd, 'rb') as process:
            ended = select.select([process], [], [], PATIENCE)[0]
            assert ended, 'an nginx process is still there'


def test_a_killed_worker_is_replaced(gateway):
    one = gateway(WIDE, '--workers', '1')
    for _ in range(3):
        assert one.request().status == 200
        _, worker = one.nginx()
        os.kill(worker, signal.SIGKILL)
        until(lambda: not runs(worker), 'it has ended')
    assert one.request().status == 200
    assert one.stop() == 0


def test_a_worker_that_ends_by_itself_stops_no_reload(gateway):
    one = gateway(WIDE, '--workers', '1')
    for _ in range(2):
        until(lambda: len(one.nginx()) == 2, 'the one before the reload has ended')
        assert one.request().status == 200  # it takes signals
        _, worker = one.nginx()
        os.kill(worker, signal.SIGTERM)
        until(lambda: not runs(worker), 'it has ended')
        reload(one)
    assert one.stop() == 0


NO_WORKER = 'headgate: nginx could not start any worker, and serves nobody; its lines above say why'


@pytest.mark.parametrize('happens', [lambda one: one.send(signal.SIGHUP),
                                     lambda one: os.kill(one.nginx()[1], signal.SIGKILL)],
                         ids=['a reload', 'a killed worker'])
def test_a_gateway_that_can_start_no_worker_ends(without_root, happens):
    one = without_root(WIDE, '--workers', '1')
    one.request()  # the worker runs
    of_its_user = without_root.keywords['prefix']
    subprocess.run([*of_its_user, 'prlimit', f'--pid={one.nginx()[0]}', '--nproc=1'], check=True)
    happens(one)
    assert one.wait() == 1
    said = one.errors.rest()
    assert NO_WORKER in said
    assert [line for line in said if 'fork() failed' in line] and not [line for line in said if 'reloaded' in line]
    assert one.left_behind() == []


def without_right(*names):
    """A prefix for a root who lacks these rights, as that of a container may."""
    if os.geteuid() != 0:
        pytest.skip('not root')
    less = ','.join(f'-{name}' for name in names)
    return ['setpriv', f'--bounding-set={less}', f'--inh-caps={less}', '--']


def test_a_root_who_may_not_change_the_users_of_workers_ends(fails):
    status, said = fails(WIDE, '--workers', '2', prefix=without_right('setuid', 'setgid'))
    assert status == 1
    assert NO_WORKER in said
    assert 'setgid' in said


def test_a_root_who_may_not_give_files_away_does_not_start(fails, directory):
    status, said = fails(WIDE, prefix=without_right('chown'))
    assert status == 1
    assert re.fullmatch(f"headgate: can't give {directory}/tmp/headgate-gateway-[A-Za-z0-9]{{6}} to the group of "
                        "nginx's workers, [0-9]+: Operation not permitted; run the gateway as a user who is not root",
                        said)


def test_nginx_does_not_outlive_a_killed_headgate(gateway):
    one = gateway()
    watched = [os.pidfd_open(pid) for pid in one.nginx()]
    one.process.kill()
    wait_for_the_end_of(watched)


def test_what_a_killed_headgate_left_is_removed_by_the_next(gateway, directory):
    one = gateway()
    watched = [os.pidfd_open(pid) for pid in one.nginx()]
    one.process.kill()
    one.wait()
    wait_for_the_end_of(watched)
    left, = one.left_behind()
    alike = directory / 'tmp' / 'headgate-other'
    alike.mkdir()
    two = gateway()
    three = gateway()
    assert len(two.left_behind()) == 3 and left not in two.left_behind()
    assert two.request().status == three.request().status == 200
    assert two.stop() == three.stop() == 0
    assert three.left_behind() == [alike.name]


def test_the_table_of_the_policy_file_lies_beside_it(gateway, directory):
    one = gateway('store: {table: {memory: 64KiB, file: state/table}}\n' + NARROW, wait=False)
    one.wait()  # there is no such directory
    assert f'{directory}/state/table' in '\n'.join(one.errors.rest())
    (directory / 'state').mkdir()
    assert gateway('store: {table: {memory: 64KiB, file: state/table}}\n' + NARROW).stop() == 0
    assert (directory / 'state/table').exists()


def test_a_path_through_a_link_is_that_of_the_system(directory, upstream):
    (directory / 'releases/5').mkdir(parents=True)
    (directory / 'current').symlink_to('releases/5')
    (directory / 'policies.yaml').write_text(NARROW)
    one = Gateway(directory / 'current/..', WIDE, upstream.url)  # that is in releases
    try:
        assert one.request().getheader('RateLimit').startswith('"wide"')
    finally:
        one.end()


@pytest.fixture
def without_root(gateway, directory):
    """without_root(policies, ...) starts a gateway of another user than root."""
    prefix = ()
    if os.geteuid() == 0:
        prefix = ('setpriv', '--reuid', 'nobody', '--regid', 'nogroup', '--clear-groups', '--')
    # The build may be in a directory that other users cannot enter, such as the home of root.
    built = pathlib.Path(HEADGATE)
    for part in ('bin/headgate', 'modules/ngx_http_headgate_module.so'):
        (directory / part).parent.mkdir()
        shutil.copy(built.parents[1] / part, directory / part)
    return functools.partial(gateway, prefix=prefix, program=directory / 'bin/headgate')


def test_it_runs_without_root(without_root):
    one = without_root(NARROW)
    assert one.request().headers['RateLimit'] == '"narrow";r=1;t=1800'
    assert one.stop() == 0
    assert one.left_behind() == []
    assert one.errors.rest()[1:] == []


def test_root_does_not_serve_as_root(gateway):
    if os.geteuid() != 0:
        pytest.skip('not root')
    one = gateway(WIDE, '--workers', '1')
    one.request()  # a worker that answers has already changed its user
    _, worker = one.nginx()
    status = pathlib.Path(f'/proc/{worker}/status').read_text()
    assert not re.search(r'^(Uid|Gid):.*\t0\b', status, re.M)


def test_no_worker_waits_for_a_connection_that_another_took(gateway):
    """nginx inherits the listening socket, and expects that it is non-blocking."""
    one = gateway(WIDE)
    own = pathlib.Path(f'/proc/{one.process.pid}')
    listening = [file.name for file in (own / 'fd').iterdir()
                 if os.readlink(file).startswith('socket:')]
    assert listening
    for name in listening:
        flags = re.search(r'^flags:\s*([0-7]+)$', (own / 'fdinfo' / name).read_text(), re.M)
        assert int(flags[1], 8) & os.O_NONBLOCK


# ---- what keeps it from starting

def test_a_port_in_use(fails):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        address = f'127.0.0.1:{taken.getsockname()[1]}'
        status, said = fails(WIDE, '--listen', address)
    assert status == 1
    assert said.startswith(f'headgate: --listen {address} is in use by another program')


@pytest.mark.parametrize('url, words', [
    ('localhost:3000', 'expected http://HOST[:PORT][/PATH]'),
    ('http://localhost:http', 'a port from 1 to 65535'),
    ('http://localhost/{', 'percent-encoded'),
    ('http://Unix:81', 'Unix socket'),
])
def test_a_bad_upstream_url_is_wrong_usage(fails, url, words):
    status, said = fails(url=url)
    assert status == 2
    assert said.startswith(f'headgate: --upstream "{url}": ') and words in said


def test_an_unknown_upstream(fails):
    status, said = fails(url='http://nowhere.invalid')
    assert status == 1
    assert "the upstream's host" in said and 'nowhere.invalid' in said and 'not found' in said


def test_a_bad_policy_file(fails):
    status, said = fails(BAD)
    assert status == 1
    assert '/policies.yaml:2:' in said and 'many' in said


def test_a_missing_module(fails):
    status, said = fails(WIDE, '--module', '/no/module.so')
    assert status == 1
    assert said.startswith('headgate: the nginx module is missing: /no/module.so: No such file')


def test_a_module_that_is_none(fails, directory):
    (directory / 'module.so').write_text('not at all')
    status, said = fails(WIDE, '--module', str(directory / 'module.so'))
    assert status == 1
    assert said.startswith(f'headgate: the module {directory}/module.so can\'t be loaded: ')


def test_a_bad_address_is_wrong_usage(fails):
    status, said = fails(WIDE, '--listen', '8080')
    assert status == 2
    assert said.startswith('headgate: --listen "8080": expected ADDRESS:PORT')
    status, said = fails(WIDE, '--listen', '[fe80::1%lo]:0')
    assert status == 2
    assert said.startswith('headgate: --listen "[fe80::1%lo]:0": nginx can\'t listen on an address '
                           'with a zone')


def test_an_access_log_whose_name_nginx_would_take_apart(fails, directory):
    status, said = fails(WIDE, '--access-log', f'{directory}/$host.log')
    assert status == 2
    assert said.startswith(f'headgate: --access-log "{directory}/$host.log": nginx takes what '
                           'follows a $ for a variable')


def test_a_folder_whose_name_nginx_would_take_apart(fails, directory):
    place = directory / 'us$d'
    place.mkdir()
    for options, file in ((['--access-log', 'log'], 'log'), (['--tls-cert', 'cert', '--tls-key', 'key'], 'cert')):
        status, said = fails(WIDE, *options, prefix=['env', '-C', place])
        assert status == 2 and f'"{place}/{file}": nginx takes what follows a $ for a variable' in said
