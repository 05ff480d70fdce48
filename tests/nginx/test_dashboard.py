"""headgate_dashboard: what its location answers, over all workers, over reloads and killed workers."""
import contextlib
import json
import os
import signal
import subprocess

import pytest

from support.http_client import Connection
from support.policies import ONE, policies, policy
from support.processes import children, runs, until

SHOWN = '''
location / { return 200 "hello"; }
location /headgate/ { headgate off; headgate_dashboard; add_header X-Worker $pid always; }
location /who { add_header X-Worker $pid always; return 200 "hello"; }
'''
PLAIN = policies(policy(quota=100000, key="['header:x-key']"), partition_key='plain')


def read(server, path):
    response = server.request('/headgate/' + path)
    assert response.status == 200, response
    return response


def top(server, query=''):
    response = read(server, 'v1/top' + query)
    assert response.one('Content-Type') == 'application/json'
    return json.loads(response.body)


def metrics(server):
    return server.metrics('/headgate/metrics')


def requests(server):
    counted = metrics(server)
    return [counted[f'headgate_requests_total{{outcome="{outcome}"}}']
            for outcome in ('admitted', 'denied', 'shadow-denied')]


def send(server, key, times):
    with Connection(server.port) as connection:
        for _ in range(times):
            assert connection.request(headers=[('X-Key', key)]).status in (200, 429)


def test_the_page_and_its_files(nginx):
    server = nginx(PLAIN, server=SHOWN)
    page = read(server, '')
    assert page.one('Content-Type') == 'text/html; charset=utf-8'
    assert page.body.startswith(b'<!DOCTYPE html>')
    assert "default-src 'none'" in page.one('Content-Security-Policy')
    assert page.one('X-Content-Type-Options') == 'nosniff'
    script = read(server, 'dashboard.js')
    assert script.one('Content-Type') == 'text/javascript; charset=utf-8'
    known = server.request('/headgate/dashboard.js', headers=[('If-None-Match', script.one('ETag'))])
    assert (known.status, known.body) == (304, b'')
    assert known.one('ETag') == script.one('ETag')
    head = server.request('/headgate/dashboard.js', 'HEAD')
    assert head.status == 200
    assert head.one('Content-Length') == str(len(script.body))
    assert server.request('/headgate').one('Location').endswith('/headgate/')


def test_pages_for_programs(nginx):
    server = nginx(PLAIN, server=SHOWN)
    assert read(server, 'healthz').body == b'ok\n'
    assert read(server, 'metrics').one('Content-Type') == 'text/plain; version=0.0.4; charset=utf-8'
    listed = json.loads(read(server, 'v1/policies').body)
    assert listed['file'] == f'{server.directory}/headgate.yaml'
    assert listed['number'] == 1
    assert [one['name'] for one in listed['policies']] == ['burst']
    assert top(server) == {'keys': 'plain', 'requests_per_second': 0, 'denied_per_second': 0,
                           'shadow_denied_per_second': 0, 'busiest': [], 'most_denied': []}
    refused = server.request('/headgate/v1/top?n=0')
    assert refused.status == 400
    assert json.loads(refused.body)['detail'] == 'expected the query n=N, with N from 1 to 100'


@pytest.mark.parametrize('path', ['v1', 'v1/', 'v1/top/', 'index.html', 'auth', 'v1/decide', 'v1/state',
                                  'metrics/x', 'metrics%2fx'])
def test_nothing_else_is_there(nginx, path):
    assert nginx(ONE, server=SHOWN).request('/headgate/' + path).status == 404


def test_other_methods_are_refused(nginx):
    server = nginx(ONE, server=SHOWN)
    for path in ('', 'v1/top', 'metrics'):
        assert server.request('/headgate/' + path, 'POST', body=b'x').status == 405


def test_access_is_that_of_nginx(nginx):
    server = nginx(ONE, server='location /headgate/ { headgate off; headgate_dashboard; deny all; }')
    for path in ('', 'v1/top', 'metrics', 'dashboard.js'):
        assert server.request('/headgate/' + path).status == 403


@pytest.mark.parametrize('place', ['= /headgate/', '/headgate', '~ ^/headgate/', '@headgate'])
def test_the_location_is_a_prefix_with_a_slash(nginx, place):
    accepted, said = nginx(ONE, server=f'location {place} {{ headgate_dashboard; }}', run=False).test()
    assert not accepted
    assert 'headgate_dashboard: expected a location with a prefix that ends with "/"' in said


def test_it_needs_a_policy_file(nginx):
    accepted, said = nginx(ONE, gate='', server='location / { headgate_dashboard; }', run=False).test()
    assert not accepted and '"headgate_dashboard" needs "headgate_config FILE"' in said


def test_requests_are_counted_once_however_many_policies_decide(nginx):
    six = [policy(f'p{n}', 100) for n in range(4)]
    six += [policy('least', 5), policy('trial', 3, mode='shadow')]
    server = nginx(policies(*six), server=SHOWN, workers=2)
    for _ in range(10):
        server.request()
    assert requests(server) == [3, 5, 2]
    seen = top(server)
    share = seen['denied_per_second'] / seen['requests_per_second']
    assert share == pytest.approx(0.5, abs=0.01)
    assert seen['shadow_denied_per_second'] == pytest.approx(0.2 * seen['requests_per_second'], rel=0.02)
    server.reload()
    server.write(policies=policies(policy('p0', 1000)))
    server.reload()
    server.request()
    assert requests(server) == [4, 5, 2]


def test_the_process_and_its_quotas_are_in_the_metrics(nginx, headgate):
    server = nginx(policies(policy('burst', 5, '90s'), policy('short', 7, '250ms', unit='tokens'),
                            '  - {name: slots, algorithm: concurrency, quota: 3, unit: concurrent-requests}'),
                   server=SHOWN)
    before = metrics(server)
    version, = (name for name in before if name.startswith('headgate_build_info'))
    version = version.split('"')[1]
    assert f'headgate {version}' in headgate('--version').stdout
    assert before['headgate_last_reload_timestamp_seconds'] == before['headgate_start_time_seconds']
    assert before['headgate_policy_quota{policy="burst",unit="requests"}'] == 5
    assert before['headgate_policy_quota{policy="short",unit="tokens"}'] == 7
    assert before['headgate_policy_quota{policy="slots",unit="concurrent-requests"}'] == 3
    assert before['headgate_policy_window_seconds{policy="burst"}'] == 90
    assert before['headgate_policy_window_seconds{policy="short"}'] == 0.25
    assert 'headgate_policy_window_seconds{policy="slots"}' not in before
    server.reload()
    after = metrics(server)
    assert after['headgate_start_time_seconds'] == before['headgate_start_time_seconds']
    assert after['headgate_last_reload_timestamp_seconds'] >= before['headgate_start_time_seconds']
    assert json.loads(read(server, 'v1/policies').body)['number'] == 2


@contextlib.contextmanager
def connections_to_two_workers(port):
    """Connections that different workers have accepted, by worker."""
    with contextlib.ExitStack() as opened:
        workers = {}

        def another():
            connection = opened.enter_context(Connection(port))
            workers.setdefault(connection.request('/who').one('X-Worker'), connection)
            return len(workers) >= 2
        until(another, 'two workers have answered')
        yield list(workers.values())


@pytest.fixture
def spread(nginx):
    """Starts an nginx whose `port` gives each connection to one of the workers, at random."""
    def start(policies, workers=2, **options):
        server = nginx(policies, workers=workers, run=False, **options)
        listen = f'listen 127.0.0.1:{server.other_port} reuseport;'
        server.write(http=f'server {{ {listen} {SHOWN} }}')
        server.start()
        server.port = server.other_port
        return server
    return start


def test_any_worker_shows_what_all_have_decided(spread):
    server = spread(PLAIN, workers=3)
    with connections_to_two_workers(server.port) as (one, other):
        for connection, key, times in ((one, 'a', 60), (other, 'a', 30), (other, 'b', 20), (one, 'c', 10)):
            for _ in range(times):
                assert connection.request(headers=[('X-Key', key)]).status == 200
        seen = {}
        for connection in (one, other):
            response = connection.request('/headgate/v1/top')
            rows = json.loads(response.body)['busiest']
            # Requests to /who have no key.
            seen[response.one('X-Worker')] = [row['key'] for row in rows if row['key']]
            rates = {row['key']: row['per_second'] for row in rows}
            assert rates['a'] > rates['b'] > rates['c'] > 0
            assert rates['a'] < 12 * rates['c']
        assert list(seen.values()) == [['a', 'b', 'c']] * 2


def test_headgate_top_shows_it(nginx, headgate):
    server = nginx(PLAIN, server=SHOWN, workers=2)
    send(server, 'somebody', 20)
    for url in (f'http://127.0.0.1:{server.port}/headgate', f'http://127.0.0.1:{server.port}/headgate/'):
        shown = headgate('top', '--url', url)
        assert (shown.returncode, shown.stderr) == (0, '')
        assert shown.stdout.startswith('requests ')
        assert 'burst   somebody' in shown.stdout


def test_reloads_keep_the_lists(nginx):
    server = nginx(PLAIN, server=SHOWN, workers=2)
    send(server, 'early', 50)
    for n in range(4):
        server.reload()
        send(server, f'key {n}', 5)
    rows = top(server)['busiest']
    assert rows[0]['key'] == 'early'
    assert {row['key'] for row in rows} == {'early', 'key 0', 'key 1', 'key 2', 'key 3'}


def test_a_dashboard_may_come_and_go(nginx):
    without = 'location / { return 200 "hello"; }'
    server = nginx(PLAIN, server=without)
    send(server, 'a', 5)
    server.write(server=SHOWN)
    server.reload()
    send(server, 'b', 5)
    assert [row['key'] for row in top(server)['busiest']] == ['b']
    assert requests(server) == [10, 0, 0]
    server.write(server=without)
    server.reload()
    server.write(server=SHOWN)
    server.reload()
    send(server, 'c', 5)
    assert [row['key'] for row in top(server)['busiest']] == ['c']


def test_a_killed_worker_is_succeeded(nginx):
    server = nginx(PLAIN, server=SHOWN)
    server.expect_death = True
    for n in range(3):
        send(server, 'a', 10)
        worker, = server.children()
        os.kill(int(worker), signal.SIGKILL)
        until(lambda: server.children() not in ([], [worker]), 'another worker is there')
    send(server, 'b', 10)
    rates = {row['key']: row['per_second'] for row in top(server)['busiest']}
    assert rates['a'] == pytest.approx(3 * rates['b'], rel=0.01)
    assert requests(server) == [40, 0, 0]


def start_as_daemon(server):
    """Returns the master. nginx can be upgraded only if the process that started it has ended."""
    conf = server.directory / 'nginx.conf'
    conf.write_text(conf.read_text().replace('daemon off;', 'daemon on;'))
    subprocess.run(server.command(), env=server.environment, check=True, stderr=subprocess.DEVNULL)
    return until(lambda: master_of(server), 'nginx runs')


def master_of(server):
    """None while the file is written."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return int((server.directory / 'nginx.pid').read_text())


def upgrade_and_roll_back(server, old):
    """As nginx's manual says, but for what the new master does meanwhile."""
    before = set(children(old))
    worker = server.request('/who').one('X-Worker')
    os.kill(old, signal.SIGUSR2)
    until(lambda: master_of(server) not in (None, old), 'there is a new master')
    new = master_of(server)
    until(lambda: children(new), 'it has a worker')
    os.kill(old, signal.SIGWINCH)
    until(lambda: f'{worker}#{worker}: gracefully shutting down' in server.log, 'the old one has none for new clients')
    os.kill(old, signal.SIGHUP)
    until(lambda: set(children(old)) - before - {new}, 'it has one again')
    os.kill(new, signal.SIGQUIT)
    until(lambda: not runs(new) and master_of(server) == old, 'the new master has gone')


def test_workers_of_an_upgrade_that_is_rolled_back_are_counted(nginx, upstream):
    """Also while workers from before it still have connections."""
    origin = upstream(lambda *_: (101, [('Upgrade', 'websocket'), ('Connection', 'upgrade')], b''))
    # nginx gives the new master no other variables; these are for an instrumented module.
    server = nginx(PLAIN, run=False, main='env LD_PRELOAD; env ASAN_OPTIONS;', server=SHOWN + f"""
        location /tunnel {{ proxy_pass http://127.0.0.1:{origin.port}; proxy_http_version 1.1;
                            proxy_set_header Upgrade websocket; proxy_set_header Connection upgrade; }}""")

    def listed():
        return [row['key'] for row in top(server)['busiest']]

    master = start_as_daemon(server)
    try:
        with contextlib.ExitStack() as tunnels:
            for key in ('a', 'b'):
                tunnel = tunnels.enter_context(Connection(server.port))
                assert tunnel.request('/tunnel', headers=[('Upgrade', 'websocket')]).status == 101
                upgrade_and_roll_back(server, master)
                send(server, key, 10)
                assert 'a' in listed()
            assert 'b' not in listed() and 'no place in the statistics' in server.log, 'three workers run'

        def is_counted():
            send(server, 'b', 1)
            return 'b' in listed()

        until(is_counted, 'it has the place of one that has ended')
    finally:
        os.kill(master, signal.SIGQUIT)
        until(lambda: not runs(master), 'nginx has ended')


def test_keys_are_hidden_unless_the_policy_file_shows_them(nginx):
    server = nginx(PLAIN.replace('plain', 'omit'), server=SHOWN, workers=2)
    send(server, 'somebody', 10)
    seen = top(server)
    assert seen['keys'] == 'opaque'
    assert 'somebody' not in json.dumps(seen)
    hidden = seen['busiest'][0]['key']
    assert hidden.startswith(':')

    server.write(policies=PLAIN)
    server.reload()
    assert top(server)['busiest'] == [], 'what was listed under other settings is not shown'
    send(server, 'somebody', 10)
    assert [row['key'] for row in top(server)['busiest']] == ['somebody']

    server.write(policies=PLAIN.replace('plain', 'opaque'))
    server.reload()
    assert 'somebody' not in json.dumps(top(server))
    send(server, 'somebody', 1)
    assert {row['key'] for row in top(server)['busiest']} == {hidden}


def test_without_a_master(nginx):
    # Not with a reload: after one, nginx without a master writes its log to its clients, with or without headgate.
    server = nginx(PLAIN, server=SHOWN, main='master_process off;', run=False)
    server.ready = lambda: server.process.poll() is None and answers_hello(server)
    server.start()
    send(server, 'a', 5)
    assert requests(server) == [5, 0, 0]
    assert [row['key'] for row in top(server)['busiest']] == ['a']


def answers_hello(server):
    with contextlib.suppress(OSError):
        return server.request('/headgate/healthz').status == 200
    return False
