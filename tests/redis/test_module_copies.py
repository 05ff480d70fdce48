"""What replicas and restarted servers have of the module's keys: the same bytes, which expire at the same time."""
import random

import pytest

from support.processes import free_port, until
from support.resp import Client

LAWS = ('100/1h', '7/1h', '99/50m,penalty=30s', 'exponential:50/1h', 'fixed-window:50/1h', 'sliding-window-counter:50/1h',
        'moving-window:50/1h', 'concurrency:50,lease=1h')
READ = ("local found = {} for _, key in ipairs(redis.call('KEYS', '*')) do found[#found + 1] = key .. ' ' .. "
        "redis.sha1hex(redis.call('GET', key)) .. ' ' .. redis.call('PEXPIRETIME', key) end return found")


def keys_of(server):
    """Each key with a hash of its bytes and the time at which it expires."""
    return sorted(server.command('EVAL', READ, 0))


def keys_that_stay(server):
    """The same, once the keys are gone that refunds have made full: they live for a second, and could end between two readings."""
    def stay():
        now = int(server.command('TIME')[0]) * 1000
        found = keys_of(server)
        return len(found) == server.command('DBSIZE') and all(int(key.split(' ')[-1]) > now + 10_000 for key in found)
    until(stay, 'keys that are full are gone')
    return keys_of(server)


def digest(server):
    return server.command('DEBUG', 'DIGEST')


def load(client, dice, calls):
    """Random calls of all commands, some of which are denied, in transactions and in scripts."""
    for _ in range(calls):
        law = dice.choice(LAWS)
        key = f'{law}:{dice.randrange(12)}'
        kind = dice.randrange(7)
        if kind == 0:
            reply = client.command('CL.THROTTLE', f't{dice.randrange(12)}', 15, 30, 3600, dice.randrange(-2, 9))
        elif kind == 1:
            reply = client.command('HG.REFUND', key, law, dice.randrange(4))
        elif kind == 2:
            other = dice.choice(LAWS)
            reply = client.command('HG.TAKE', key, law, dice.randrange(9), f'other:{other}', other, f'debit:{dice.randrange(9)}')
        elif kind == 3:
            reply = client.command('EVAL', "return redis.call('HG.TAKE', KEYS[1], ARGV[1], ARGV[2])", 1, key, law, dice.randrange(9))
        elif kind == 4:
            client.command('MULTI')
            client.command('HG.TAKE', key, law, dice.randrange(9))
            client.command('HG.PEEK', key, law, dice.randrange(9))
            reply = client.command('EXEC')
        else:
            reply = client.command('HG.TAKE', key, law, dice.randrange(9))
        assert isinstance(reply, list), reply


@pytest.fixture
def replicated(redis):
    """A primary with a port, and its replica, both with the module."""
    port = free_port()
    primary = redis('--port', str(port), '--enable-debug-command', 'yes', '--repl-diskless-sync-delay', '0', module=True)
    replica = redis('--replicaof', f'127.0.0.1 {port}', '--enable-debug-command', 'yes', module=True)
    until(lambda: 'master_link_status:up' in replica.command('INFO', 'replication'), 'the replica follows')
    return primary, replica


def test_a_replica_has_the_same_and_goes_on_when_it_is_promoted(replicated):
    primary, replica = replicated
    with Client(primary.node) as client:
        load(client, random.Random(1), 600)
        kept = keys_that_stay(primary)
        assert client.command('WAIT', 1, 30000) == 1
        monitored = client.command('INFO', 'commandstats')
    assert 'cmdstat_hg.take' in monitored
    assert 'cmdstat_hg.' not in replica.command('INFO', 'commandstats'), 'effects are replicated, not commands'
    assert keys_of(replica) == kept
    assert digest(primary) == digest(replica)
    assert replica.command('HG.TAKE', 'k', '10/1h', 1).startswith('READONLY ')
    seen = {law: primary.command('HG.PEEK', f'other:{law}', law, 0)[3] for law in LAWS}
    assert {law: replica.command('HG.PEEK', f'other:{law}', law, 0)[3][:3] for law in LAWS} == \
        {law: reply[:3] for law, reply in seen.items()}
    assert digest(primary) == digest(replica)
    primary.kill()
    assert replica.command('REPLICAOF', 'NO', 'ONE') == 'OK'
    with Client(replica.node) as client:
        assert client.command('HG.TAKE', 'other:fixed-window:50/1h', 'fixed-window:50/1h', 50)[0] == \
            (seen['fixed-window:50/1h'][2] == 50)
        load(client, random.Random(2), 50)


def test_a_replica_without_the_module_follows(redis):
    """So a server can be upgraded to the module, and back, one after the other."""
    port = free_port()
    primary = redis('--port', str(port), '--enable-debug-command', 'yes', '--repl-diskless-sync-delay', '0', module=True)
    replica = redis('--replicaof', f'127.0.0.1 {port}', '--enable-debug-command', 'yes')
    until(lambda: 'master_link_status:up' in replica.command('INFO', 'replication'), 'the replica follows')
    with Client(primary.node) as client:
        load(client, random.Random(3), 200)
        kept = keys_that_stay(primary)
        assert client.command('WAIT', 1, 30000) == 1
    assert keys_of(replica) == kept
    assert digest(primary) == digest(replica)


@pytest.mark.parametrize('kind', ('rdb', 'aof', 'rewritten aof'))
def test_a_restarted_server_has_the_same(redis, kind):
    server = redis(*(('--appendonly', 'yes', '--appendfsync', 'always') if 'aof' in kind else ()),
                   '--enable-debug-command', 'yes', module=True)
    with Client(server.node) as client:
        load(client, random.Random(4), 400)
        before, hashed = keys_that_stay(server), digest(server)
        if kind == 'rdb':
            assert client.command('SAVE') == 'OK'
        if kind == 'rewritten aof':
            client.command('BGREWRITEAOF')
            until(lambda: 'aof_rewrite_in_progress:0' in client.command('INFO', 'persistence') and
                  'aof_last_bgrewrite_status:ok' in client.command('INFO', 'persistence'), 'the file is rewritten')
    server.kill()
    server.start()
    assert len(before) > 50
    assert keys_of(server) == before
    assert digest(server) == hashed


def test_the_aof_has_states_and_no_commands_of_the_module(redis):
    server = redis('--appendonly', 'yes', '--appendfsync', 'always', '--aof-use-rdb-preamble', 'no', module=True)
    server.command('HG.TAKE', 'a', '10/1h', 1, 'b', 'fixed-window:10/1h', 1)
    server.command('CL.THROTTLE', 't', 15, 30, 3600)
    text = b''.join(file.read_bytes() for file in server.directory.rglob('*.aof'))
    assert text.count(b'PXAT') == 3
    assert b'hg.' not in text.lower() and b'throttle' not in text.lower()
    assert text.count(b'MULTI') == text.count(b'EXEC') == 1, 'both keys of a call together'
    # A server without the module reads it.
    server.kill()
    server.options = server.options[2:]
    server.start()
    assert server.command('DBSIZE') == 3


def test_watchers_see_what_a_script_would_show(redis):
    server = redis('--notify-keyspace-events', 'EA', module=True)
    with Client(server.node) as watcher:
        watcher.command('PSUBSCRIBE', '__keyevent@0__:*')
        server.command('HG.TAKE', 'k', '10/1h', 1)
        events = [watcher.reply()[2:] for _ in range(2)]
    assert events == [['__keyevent@0__:set', 'k'], ['__keyevent@0__:expire', 'k']]
