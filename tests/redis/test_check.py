"""headgate check --connect: what it finds, and what it says is missing."""
import pytest

from support.processes import free_port


@pytest.fixture
def check(headgate, tmp_path):
    """check(redis) runs it with this text as the value of `redis`."""
    def run(redis):
        (tmp_path / 'p.yaml').write_text(f'version: 1\nstore: {{redis: {redis}}}\npolicies: []\n')
        return headgate('check', '--connect', 'p.yaml')
    return run


def test_all_is_well(redis, check):
    server = redis()
    result = check(f'{{nodes: "{server.node}", timeout: 5s}}')
    assert (result.returncode, result.stderr) == (0, '')
    assert f'{server.node}: version ' in result.stdout
    assert f'{server.node}: a round trip takes ' in result.stdout
    assert f'{server.node}: its clock, which decides, is ' in result.stdout
    assert 'scripts run, and keys that begin with hg: can be written' in result.stdout


@pytest.mark.parametrize('memory, policy, drops', [('1gb', 'volatile-ttl', True), ('1gb', 'noeviction', False),
                                                  ('0', 'allkeys-lru', False)])
def test_a_redis_that_drops_keys(redis, check, memory, policy, drops):
    server = redis('--maxmemory', memory, '--maxmemory-policy', policy)
    result = check(f'{{nodes: "{server.node}", timeout: 5s}}')
    assert (result.returncode, result.stderr) == (0, '')
    assert (f'maxmemory-policy is {policy}; expected noeviction' in result.stdout) == drops


def test_the_documented_rights_are_enough_and_each_is_needed(redis, check, tmp_path):
    server = redis()
    rights = '~hg:* +role +script|load +eval +evalsha +get +set +mget +time'.split()
    (tmp_path / 'password').write_text('secret\n')
    settings = f'{{nodes: "{server.node}", user: headgate, password-file: password, timeout: 5s}}'
    assert server.command('ACL', 'SETUSER', 'headgate', 'on', '>secret', *rights) == 'OK'
    result = check(settings)
    assert (result.returncode, result.stderr) == (0, '')
    assert 'its version is not known: NOPERM' in result.stdout
    for right in rights:
        server.command('ACL', 'SETUSER', 'headgate', 'reset', 'on', '>secret',
                       *(one for one in rights if one != right))
        result = check(settings)
        assert result.returncode == 1, right
        assert server.node in result.stderr, right
        assert 'docs/redis.md has the rights' in result.stderr or 'NOPERM' in result.stderr or \
            'script' in result.stderr, (right, result.stderr)


@pytest.mark.parametrize('options, settings, says', (
    (('--requirepass', 'a'), '', 'NOAUTH'),
    (('--replicaof', '127.0.0.1 1'), '', 'it is a replica; expected the primary'),
    (('--replicaof', 'master 1'), '', 'it is a replica; expected the primary'),
    ((), ', cluster: true', 'CLUSTER: ERR This instance has cluster support disabled'),
))
def test_what_is_missing(redis, check, options, settings, says):
    server = redis(*options)
    result = check(f'{{nodes: "{server.node}"{settings}}}')
    assert result.returncode == 1
    assert f'{server.node}: ' in result.stderr and says in result.stderr


def test_nothing_listens(check):
    port = free_port()
    result = check(f'{{nodes: "127.0.0.1:{port}"}}')
    assert result.returncode == 1
    assert result.stderr == f'127.0.0.1:{port}: it cannot be reached: Connection refused\n'


def test_a_cluster_without_slots(redis, check):
    server = redis('--cluster-enabled', 'yes')
    result = check(f'{{nodes: "{server.node}", cluster: true, timeout: 5s}}')
    assert result.returncode == 1
    assert "0 of the cluster's 16384 slots have a server; expected all" in result.stderr


@pytest.mark.parametrize('kind', ('', ', cluster: true', ', sentinel: mymaster'))
@pytest.mark.parametrize('tls, says', ((', tls: {}', 'the TLS handshake failed'), ('', 'it is no Redis')))
def test_a_server_that_is_no_redis(serve, check, kind, tls, says):
    server = serve()  # speaks HTTP
    result = check(f'{{nodes: "127.0.0.1:{server.port}"{kind}{tls}}}')
    assert result.returncode == 1
    assert result.stderr.startswith(f'127.0.0.1:{server.port}: ') and says in result.stderr
    assert result.stderr.count('\n') == 1


def test_without_redis(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text('version: 1\npolicies: []\n')
    result = headgate('check', '--connect', 'p.yaml')
    assert (result.returncode, result.stderr) == (0, '')
    assert 'store: the table, which needs no connection' in result.stdout
