"""A primary and a replica that three sentinels watch."""
import pytest

from load import Load, Nginx, Server, ask
from support.certificates import Authority
from support.http_client import read_metrics
from support.policies import YEAR
from support.processes import free_port, until
from support.redis_sentinels import Sentinels

PAGE = 'location / { return 200 "page"; } location = /metrics { headgate off; headgate_metrics; }'
# The load keeps its connections: nginx would close each after 1000 requests.
KEPT = 'keepalive_requests 1000000;'
WITHOUT = 'headgate_decisions_without_redis_total{policy="p"}'


@pytest.fixture
def pair(redis):
    """A primary and its replica, with their ports."""
    ports = [free_port(), free_port()]
    primary = redis('--port', str(ports[0]), '--bind', '127.0.0.1')
    replica = redis('--port', str(ports[1]), '--bind', '127.0.0.1', '--replicaof', f'127.0.0.1 {ports[0]}')
    until(lambda: replica.command('ROLE')[3] == 'connected', 'the replica is connected')
    return (primary, ports[0]), (replica, ports[1])


@pytest.fixture
def sentinels(pair, tmp_path):
    made = Sentinels(tmp_path, pair[0][1])
    yield made
    made.stop()


def settings(sentinels, name='main'):
    nodes = ', '.join(f'"127.0.0.1:{port}"' for port in sentinels.ports)
    return f'nodes: [{nodes}], sentinel: {name}'


def policies(redis, policy, timeout='5s'):
    return (f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{{redis}, timeout: {timeout}}}}}\n'
            f'policies:\n  - {{name: p, key: [], window: {YEAR}s, {policy}}}\n')


def role(server):
    """None while it has no answer: a sentinel that changes a server's role closes all its connections."""
    try:
        return server.command('ROLE')[0]
    except (ConnectionError, EOFError):
        return None


def is_up(*doors):
    return all(read_metrics(door.port)['headgate_redis_up'] == 1 for door in doors)


def test_a_failover_is_followed(pair, sentinels, serve, nginx):
    """The primary dies under load; its replica has all that was spent but the last moments."""
    (primary, _), (replica, second) = pair
    text = policies(settings(sentinels), 'quota: 4000, on-outage: {local: 1%}')
    one, gate = serve(text), nginx(text, server=PAGE, http=KEPT)
    load = Load([Server(one, key=''), Nginx(gate)])
    until(lambda: load.admitted > 500, 'requests are decided')
    assert read_metrics(one.port)[WITHOUT] == gate.metrics()[WITHOUT] == 0, 'also the first ones'
    primary.kill()
    until(lambda: one.until('Redis is away') and one.until('Redis is back'), 'it is over')
    assert replica.command('ROLE')[0] == 'master'
    until(lambda: sentinels.all_name(second), 'the third sentinel was told, too')
    until(lambda: is_up(one, gate), 'both follow')
    ended = load.stop()
    Load([Server(one, key=''), Nginx(gate)], requests=2500).join()
    counted = sum(metrics['headgate_decisions_total{policy="p",outcome="admitted"}']
                  for metrics in (read_metrics(one.port), gate.metrics()))
    # 1 % of the quota at each machine, and of four clients what the replica had not got.
    assert 4000 - 4 <= counted <= 4000 + 2 * 40 + 40, counted
    assert ended.longest < 7


def test_a_failover_that_an_operator_wants_is_followed(pair, sentinels, serve):
    """Both servers live: the former primary is a replica now, and is asked no more."""
    (primary, first), (replica, second) = pair
    one = serve(policies(settings(sentinels), 'quota: 100, on-outage: deny'))
    assert ask(one).r == 99
    until(lambda: primary.command('WAIT', 1, 1000) == 1, 'the replica has got everything')
    until(lambda: sentinels.command(0, 'SENTINEL', 'FAILOVER', 'main') == 'OK', 'it begins')
    until(lambda: role(replica) == 'master', 'the replica takes over')
    until(lambda: role(primary) == 'slave', 'the former primary is a replica')
    until(lambda: ask(one).status == 200, 'the new primary is asked')
    assert ask(one).r <= 97
    assert sentinels.primary(1) in (first, second)


def test_one_sentinel_is_enough(pair, sentinels, serve):
    for process in sentinels.processes[:2]:
        process.kill()
        process.wait()
    one = serve(policies(settings(sentinels), 'quota: 10, on-outage: deny'))
    assert [ask(one).r for _ in range(3)] == [9, 8, 7]


def test_sentinels_that_do_not_know_the_name_are_an_outage(sentinels, serve):
    one = serve(policies(settings(sentinels, 'other'), 'quota: 10, on-outage: deny'))
    assert ask(one).status == 503
    assert 'this sentinel knows no primary other' in one.until('Redis is away.*')[0]
    until(lambda: not is_up(one), 'the metrics say it')


def test_sentinels_without_a_name_are_an_outage(sentinels, serve):
    one = serve(policies(f'nodes: "127.0.0.1:{sentinels.ports[0]}"', 'quota: 10, on-outage: deny'))
    assert ask(one).status == 503
    assert "it is a sentinel; expected 'sentinel: NAME'" in one.until('Redis is away.*')[0]


def test_check_connect(pair, sentinels, headgate, tmp_path):
    def check(redis):
        (tmp_path / 'p.yaml').write_text(f'version: 1\nstore: {{redis: {{{redis}}}}}\npolicies: []\n')
        return headgate('check', '--connect', 'p.yaml')

    (primary, first), _ = pair
    result = check(settings(sentinels) + ', timeout: 5s')
    assert (result.returncode, result.stderr) == (0, '')
    for port in sentinels.ports:
        assert f'127.0.0.1:{port}: the primary of main is 127.0.0.1:{first}' in result.stdout
    assert result.stdout.count('a round trip takes') == 1
    assert 'scripts run' in result.stdout
    result = check(settings(sentinels, 'other'))
    assert result.returncode == 1
    assert result.stderr.count('this sentinel knows no primary other') == 3
    result = check(f'nodes: ["127.0.0.1:{first}"], sentinel: main')
    assert result.returncode == 1
    assert 'expected a sentinel' in result.stderr
    port = sentinels.ports[0]
    result = check(f'nodes: "127.0.0.1:{port}"')
    assert (result.returncode, result.stderr) == (
        1, f"127.0.0.1:{port}: it is a sentinel; expected 'sentinel: NAME', by which it knows the primary\n")


def test_a_password_of_the_primary_is_no_fault_of_the_sentinels(redis, serve, tmp_path):
    port, other = free_port(), free_port()
    options = ('--bind', '127.0.0.1', '--requirepass', 'secret', '--masterauth', 'secret')
    primary = redis('--port', str(port), *options, password='secret')
    redis('--port', str(other), '--replicaof', f'127.0.0.1 {port}', *options, password='secret')
    until(lambda: primary.command('ROLE')[2], 'the replica is connected')
    made = Sentinels(tmp_path, port, 'sentinel auth-pass main secret\n')
    try:
        (tmp_path / 'password').write_text('secret\n')
        one = serve(policies(settings(made) + f', password-file: {tmp_path}/password', 'quota: 10'))
        assert ask(one).r == 9
    finally:
        made.stop()


def test_a_failover_with_tls_and_a_password_everywhere(redis, serve, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign('redis')
    tls = {'tls-cert-file': certificate, 'tls-key-file': key, 'tls-ca-cert-file': authority.file,
           'tls-auth-clients': 'no', 'tls-replication': 'yes'}
    options = [word for name, value in tls.items() for word in (f'--{name}', str(value))]
    options += ['--bind', '127.0.0.1', '--requirepass', 'secret', '--masterauth', 'secret']
    port, other = free_port(), free_port()
    primary = redis('--tls-port', str(port), *options, password='secret')
    replica = redis('--tls-port', str(other), '--replicaof', f'127.0.0.1 {port}', *options, password='secret')
    until(lambda: replica.command('ROLE')[3] == 'connected', 'the replica is connected')
    more = ''.join(f'{name} {value}\n' for name, value in tls.items())
    made = Sentinels(tmp_path, port, listen='tls-port', password='secret', more=more + (
        'sentinel auth-pass main secret\nrequirepass secret\nsentinel sentinel-pass secret\n'))
    try:
        (tmp_path / 'password').write_text('secret\n')
        one = serve(policies(settings(made) + f', password-file: {tmp_path}/password, tls: {{ca: {authority.file}}}',
                             'quota: 10, on-outage: deny'))
        assert ask(one).r == 9
        until(lambda: primary.command('WAIT', 1, 1000) == 1, 'the replica has got it')
        primary.kill()
        until(lambda: ask(one).status == 200, 'the new primary is asked')
        until(lambda: made.all_name(other), 'the third sentinel was told, too')
        assert ask(one).r == 7
    finally:
        made.stop()
