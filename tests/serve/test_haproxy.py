"""examples/haproxy does what its README says, with the HAProxy that is installed."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading

import pytest

from support import proxies
from support.certificates import Authority
from support.environment import HEADGATE, PATIENCE, ROOT
from support.http_client import Connection, read_metrics
from support.processes import Lines, children, free_port, runs, stop, until
from support.raw_server import Slow, Upstream

EXAMPLE = ROOT / 'examples/haproxy'
POLICIES = proxies.policies(EXAMPLE)
ME = [('X-API-Key', 'me')]


@pytest.fixture
def haproxy(tmp_path):
    """haproxy(PORTS OF AGENTS, changes of the two files) runs the example's with other ports."""
    started = []

    def start(*agents, upstream=None, config=lambda text: text, spoe=lambda text: text):
        directory = tmp_path / f'haproxy{len(started)}'
        directory.mkdir()
        port, sample = free_port(), free_port()
        text = proxies.with_ports((EXAMPLE / 'haproxy.cfg').read_text(), {8080: port, 8082: sample})
        if upstream:
            text = text.replace(f'server api 127.0.0.1:{sample}', f'server api 127.0.0.1:{upstream}')
        line = next(line for line in text.splitlines() if 'server headgate' in line)
        text = text.replace(line, '\n'.join(
            line.replace('server headgate', f'server agent{n}').replace(':8081', f':{agent}')
            for n, agent in enumerate(agents)))
        proxy = proxies.haproxy(directory, config(text), spoe((EXAMPLE / 'spoe.conf').read_text()), port)
        started.append(proxy)
        return proxy

    yield start
    for proxy in started:
        proxy.stop()


@pytest.fixture
def agent(serve):
    return serve(POLICIES, doors={'spoe': '127.0.0.1:0', 'http': '127.0.0.1:0'})


def ready(proxy):
    """The proxy, once it has an agent."""
    until(lambda: proxy.request('/v1/ready', headers=[('X-API-Key', 'ready')]).one('RateLimit'),
          'HAProxy asks the agent')
    return proxy


@pytest.fixture
def example(haproxy, agent):
    return ready(haproxy(agent.ports['spoe']))


def with_line(text, line, before):
    return text.replace(before, f'{line}\n{before}', 1)


def fail_closed(text):
    closed = text.replace('#http-request return status 503', 'http-request return status 503')
    assert closed != text
    return closed


# ---- what clients see

def test_the_fields_reach_the_client(example):
    denied = proxies.spend_all_of_ten(lambda path: example.request(path, headers=ME),
                                      '/v1/things?x=1', b'hello GET /v1/things?x=1\n')
    assert json.loads(denied.body)['violated-policies'] == ['burst']


def test_a_denial_without_a_problem_document(example):
    for _ in range(11):
        response = example.request('/v1/a', headers=[*ME, ('Accept', 'image/png')])
    assert (response.status, response.body) == (429, b'')
    assert response.one('RateLimit') == f'"burst";r=0;t={response.one("Retry-After")}'


def test_requests_with_bodies(example):
    responses = [example.request('/login', 'POST', body=b'user=me' * 1000) for _ in range(4)]
    assert [r.status for r in responses] == [200, 200, 200, 429]
    assert example.request('/login').status == 200  # only POST counts


def test_what_is_free_has_no_fields(example):
    assert [example.request('/').status for _ in range(20)] == [200] * 20
    assert example.request('/').all('RateLimit') == []


def test_requests_of_one_connection_are_decided_each(example):
    with Connection(example.port) as connection:
        lefts = [connection.request('/v1/a', headers=ME).r for _ in range(10)]
        assert lefts == list(range(9, -1, -1))
        assert connection.request('/v1/a', headers=ME).status == 429


@pytest.mark.parametrize('headers', [
    [], [('X-Forwarded-For', '9.9.9.9'), ('Forwarded', 'for=9.9.9.9'), ('X-Real-IP', '9.9.9.9')],
    [('X-Forwarded-Uri', '/free'), ('X-Original-Method', 'GET'), ('X-Forwarded-Method', 'GET')],
    [('Txn.headgate.verdict', 'admitted'), ('verdict', 'admitted')]])
def test_clients_cannot_speak_for_haproxy(example, headers):
    statuses = [example.request('/login?verdict=admitted', 'POST', headers=headers).status
                for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_requests_without_a_path(example):
    with Connection(example.port) as connection:
        connection.send(b'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n')
        assert connection.receive().status == 200


@pytest.mark.parametrize('target, host', [
    ('*/../login', 'localhost'), ('*\\..\\login', 'localhost'), ('*/../login?x=1', 'localhost'), ('http:///x/login', 'localhost'),
    ('HTTPS:////x/login', 'localhost'), ('/', 'x/login?'), ('/', 'x\\login#')])
def test_what_url_parsers_take_for_another_path_reaches_no_upstream(example, target, host):
    """Node's new URL(target, base), or new URL(`http://${host}${target}`), finds /login in it."""
    with Connection(example.port) as connection:
        connection.send(f'POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n'.encode())
        assert connection.receive().status == 400


@pytest.mark.parametrize('target, host', [
    ('/a:///b', 'localhost'), ('http://api.example:80/', 'api.example:80'), ('/', '[::1]:80'), ('/', 'a_b-c.example.')])
def test_other_targets_and_hosts_are_passed_on(example, target, host):
    with Connection(example.port) as connection:
        connection.send(f'GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
        assert connection.receive().status == 200


def test_the_example_runs_as_its_readme_says(tmp_path):
    """On the ports that its files name, if they are free."""
    with contextlib.ExitStack() as held:
        try:
            for port in (8080, 8081, 8082):
                held.enter_context(socket.create_server(('127.0.0.1', port)))
        except OSError:
            pytest.skip('another program uses the ports of the example')
    proxies.program('haproxy')
    run = subprocess.Popen([EXAMPLE / 'run', HEADGATE], stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        Lines(run.stdout).until('serving 3 policies')

        def limited():
            with contextlib.suppress(OSError), Connection(8080) as connection:
                return connection.request('/v1/things', headers=ME).one('RateLimit')
            return None
        assert '"burst";r=' in until(limited, 'the example answers')
        parts = children(run.pid)
    finally:
        stop(run)
    until(lambda: not any(map(runs, parts)), 'its programs have ended')


# ---- long heads, many connections

def test_big_heads_in_fragments(haproxy, agent):
    """Frames of 512 bytes, so that HAProxy sends each request in many fragments."""
    proxy = ready(haproxy(agent.ports['spoe'],
                          spoe=lambda text: with_line(text, '    max-frame-size 512', '    option var-prefix')))
    for left in range(9, -1, -1):
        response = proxy.request('/v1/a?' + 'x' * 2000,
                                 headers=[('Cookie', 'x' * 6000), ('X-API-Key', 'k' * 3000)])
        assert (response.status, response.r) == (200, left)
    assert proxy.request('/v1/a', headers=[('X-API-Key', 'k' * 3000)]).status == 429
    assert proxy.request('/v1/a', headers=[('X-API-Key', 'k' * 2999)]).status == 200


def test_the_longest_heads_are_decided(example):
    """As long as HAProxy accepts: a key behind them is found."""
    with Connection(example.port) as connection:
        for size in range(13000, 15200, 200):
            response = connection.request('/v1/a', headers=[('Cookie', 'x' * size), ('X-API-Key', str(size))])
            assert response.status == 200 and response.r == 9, size


def load(port, requests, threads, path, headers):
    """The statuses of that many requests from each of so many threads, each on a connection of its own."""
    statuses, failures = [], []

    def run():
        try:
            for _ in range(requests):
                with Connection(port) as connection:
                    statuses.append(connection.request(path, headers=headers).status)
        except Exception as fault:
            failures.append(fault)
    all_threads = [threading.Thread(target=run) for _ in range(threads)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    assert failures == []
    return statuses


def test_many_agents_and_connections_share_one_quota(haproxy, serve, tmp_path):
    text = ('version: 1\n' f'store: {{table: {{memory: 1MiB, file: {tmp_path}/table}}}}\n'
            'policies: [{name: burst, quota: 100, window: 1w, key: ["header:x-api-key"]}]\n')
    agents = [serve(text, doors={'spoe': '127.0.0.1:0', 'http': '127.0.0.1:0'}) for _ in range(3)]
    proxy = ready(haproxy(*[agent.ports['spoe'] for agent in agents]))
    statuses = load(proxy.port, 20, 10, '/v1/a', ME)
    assert sorted(statuses) == [200] * 100 + [429] * 100
    decided = [read_metrics(agent.port)['headgate_decision_duration_seconds_count{door="spoe"}']
               for agent in agents]
    # HAProxy may use two connections to agents for all of these requests.
    assert sum(decided) >= 200 and sum(map(bool, decided)) >= 2, decided


@pytest.fixture
def seen(haproxy, agent):
    """seen(HEADERS): the headers with which the upstream gets a request, or None if HAProxy refuses it."""
    headers_seen = []

    def respond(method, path, headers, body):
        headers_seen.append([(name.lower(), value) for name, value in headers])
        return 200, [], b''

    with Upstream(respond) as upstream:
        proxy = ready(haproxy(agent.ports['spoe'], upstream=upstream.port))

        def ask(headers):
            return headers_seen[-1] if proxy.request('/v1/a', headers=headers).status == 200 else None

        yield ask


def test_the_upstream_finds_no_other_key_than_headgate(seen):
    names = [name for name, _ in seen([('X_API_Key', 'other'), *ME])]
    assert 'x-api-key' in names and 'x_api_key' not in names
    assert seen([('X-API-Key', 'other'), *ME]) is None


def test_no_upgrade_but_websockets_is_passed_on(seen):
    key = ('Sec-WebSocket-Key', 'YWJjZGVmZ2hpamtsbW5vcA==')
    for lines, passed_on in ((['websocket'], ['websocket']), (['WebSocket'], ['websocket']), (['h2c'], []),
                             (['websocket, h2c'], []), (['websocket', 'h2c'], [])):
        headers = seen([('Connection', 'Upgrade, HTTP2-Settings'), ('HTTP2-Settings', 'AAMAAABkAAQAoAAAAAIAAAAA'), key,
                        *(('Upgrade', line) for line in lines)])
        assert [value.lower() for name, value in headers if name == 'upgrade'] == passed_on, lines


def test_no_tunnel_is_passed_on(example):
    """HAProxy does not see what is sent behind a CONNECT."""
    with Connection(example.port) as connection:
        connection.send(b'CONNECT api.example:80 HTTP/1.1\r\nHost: api.example:80\r\n\r\n')
        assert connection.receive().status == 405


# ---- settling

def test_slots_are_held_until_the_response(haproxy, agent):
    with Slow() as upstream:
        proxy = ready(haproxy(agent.ports['spoe'], upstream=upstream.port))
        upstream.hold()
        with Connection(proxy.port) as one, Connection(proxy.port) as two:
            for connection in (one, two):
                connection.send(b'GET /reports/a HTTP/1.1\r\nHost: h\r\nX-API-Key: me\r\n\r\n')
                assert upstream.begun.acquire(timeout=PATIENCE)
            denied = proxy.request('/reports/a', headers=ME)
            assert (denied.status, denied.one('RateLimit')) == (429, '"reports";r=0')
            upstream.go.set()
            assert [one.receive().status, two.receive().status] == [200, 200]
        # HAProxy sends the response only when the agent has settled it.
        for _ in range(10):
            assert proxy.request('/reports/a', headers=ME).status == 200


def test_settled_by_another_agent(haproxy, serve, tmp_path):
    text = POLICIES + f'store: {{table: {{memory: 1MiB, file: {tmp_path}/table}}}}\n'
    agents = [serve(text, doors={'spoe': '127.0.0.1:0'}) for _ in range(2)]
    proxy = ready(haproxy(*[agent.ports['spoe'] for agent in agents]))
    assert [proxy.request('/reports/a', headers=ME).status for _ in range(30)] == [200] * 30


def test_bytes_of_responses_are_charged(haproxy, serve):
    agent = serve('version: 1\npolicies: [{name: bytes, quota: 1000, window: 1w, cost: response-bytes,'
                  ' key: ["header:x-api-key"]}]\n', doors={'spoe': '127.0.0.1:0'})
    proxy = ready(haproxy(agent.ports['spoe']))
    body = proxy.request('/v1/a', headers=ME).body
    assert proxy.request('/v1/a', headers=ME).r == 1000 - len(body) - 1  # what this one is checked for


# ---- when one side is away, or starts anew

def test_without_an_agent_haproxy_admits_or_refuses_as_it_is_told(haproxy, agent):
    opened = ready(haproxy(agent.ports['spoe']))
    closed = ready(haproxy(agent.ports['spoe'], config=fail_closed))
    agent.kill()
    for _ in range(20):
        response = opened.request('/v1/a', headers=ME)
        assert (response.status, response.one('RateLimit')) == (200, None)
        assert closed.request('/v1/a', headers=ME).status == 503


def test_an_agent_that_comes_back_decides_again(haproxy, serve):
    port = free_port()
    doors = {'spoe': f'127.0.0.1:{port}'}
    first = serve(POLICIES, doors=doors)
    proxy = ready(haproxy(port))
    for restart in range(3):
        first.stop()
        assert proxy.request('/v1/a', headers=ME).status == 200
        first = serve(POLICIES, doors=doors)
        ready(proxy)


def test_the_reason_is_in_a_variable(haproxy, agent):
    """A mistake in spoe.conf: HAProxy gets 4, "invalid frame", to which it adds 256."""
    proxy = haproxy(
        agent.ports['spoe'], spoe=lambda text: text.replace('headers=req', 'heders=req'),
        config=lambda text: with_line(text, '    http-after-response set-header X-Error "%[var(txn.headgate.error)]"',
                                      '    default_backend'))
    until(lambda: proxy.request('/').one('X-Error') == '260', 'the agent refuses')
    agent.until("spoe: a connection from 127.0.0.1 is closed: .*did you mean 'headers'")


def test_both_sides_reload_under_load_without_a_failed_request(haproxy, agent):
    proxy = ready(haproxy(agent.ports['spoe'], config=fail_closed))  # an undecided request would be 503
    ends = threading.Event()
    statuses, failures = [], []

    def run(number):
        try:
            while not ends.is_set():
                with Connection(proxy.port) as connection:
                    statuses.append(connection.request('/reports/a',
                                                       headers=[('X-API-Key', str(number))]).status)
        except Exception as fault:
            failures.append(fault)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()

    def further(count):
        target = len(statuses) + count
        until(lambda: failures or len(statuses) >= target, 'requests were answered')
    for _ in range(3):
        further(50)
        assert 'in force' in agent.reload(POLICIES)
        further(50)
        workers = children(proxy.process.pid)
        os.kill(proxy.process.pid, signal.SIGUSR2)
        until(lambda: set(children(proxy.process.pid)) - set(workers), 'a new worker runs')
        further(50)
    ends.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert set(statuses) == {200}, {status: statuses.count(status) for status in set(statuses)}


def test_over_tls_to_another_machine(haproxy, serve, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign('server')
    (tmp_path / 'haproxy.pem').write_bytes(b''.join(file.read_bytes() for file in authority.sign('haproxy')))
    agent = serve(POLICIES, doors={'spoe': '127.0.0.1:0'},
                  arguments=('--tls-cert', certificate, '--tls-key', key, '--client-ca', authority.file))
    secure = f'ssl verify required ca-file {authority.file} crt {tmp_path}/haproxy.pem'
    proxy = ready(haproxy(agent.ports['spoe'],
                          config=lambda text: text.replace(' check inter', f' {secure} check inter')))
    assert proxy.request('/v1/a', headers=ME).r == 9
