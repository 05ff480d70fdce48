"""headgate's module in a redis-server: its commands, and how it behaves as a part of Redis."""
import os
import random
import shutil
import subprocess

import pytest

from support import environment
from support.processes import until
from support.resp import Client, Error, encode

LAWS = ('100/1h', '7/1h', '20/500ms,refill=40/1s', 'exponential:50/1h', 'fixed-window:50/1h',
        'sliding-window-counter:50/1h', 'moving-window:50/1h', 'concurrency:50,lease=1h')


@pytest.fixture
def module(redis):
    """A connection to a server with the module."""
    with Client(redis(module=True).node) as client:
        yield client


def test_throttle_answers_as_the_resp_door(redis, serve):
    """Random calls, reply by reply. The doors' first calls of a key are at two moments, so that seconds may differ
    by one where a second has ended between them."""
    server = serve('version: 1\npolicies: []\n', doors={'resp': '127.0.0.1:0'})
    dice = random.Random(20)
    with Client(server.ports['resp']) as door, Client(redis(module=True).node) as module:
        for key in range(150):
            burst, count, period = dice.randrange(20), dice.randrange(1, 4), dice.randrange(1000, 9999)
            for _ in range(8):
                if dice.random() < 0.1:
                    burst = dice.randrange(20)
                words = ['CL.THROTTLE', f'k{key}', burst, count, period]
                if dice.random() < 0.6:
                    words.append(dice.choice((0, 1, 2, burst, burst + 1, burst + 2, -1)))
                if dice.random() < 0.05:
                    words[dice.randrange(2, len(words))] = dice.choice(('x', '', '-1', '0', 10**19, '1.5', '+1'))
                ours, other = door.command(*words), module.command(*words)
                if isinstance(ours, Error):
                    assert isinstance(other, Error) and other == ours, words
                    continue
                assert other[:3] == ours[:3], words
                assert all(abs(a - b) <= 1 and (a < 0) == (b < 0) for a, b in zip(other[3:], ours[3:])), (words, ours, other)
        for words in (['CL.THROTTLE'], ['CL.THROTTLE', 'k', 1, 1], ['CL.THROTTLE', 'k', 1, 1, 1, 1, 1]):
            assert module.command(*words) == door.command(*words)


def test_each_law_admits_its_quota(module):
    for law in LAWS:
        quota = int(law.split(':')[-1].split('/')[0].split(',')[0])
        replies = [module.command('HG.TAKE', law, law, 1) for _ in range(quota + 2)]
        assert [reply[0] for reply in replies] == [1] * quota + [0, 0] or 'refill' in law or 'exponential' in law, law
        assert all(reply[3][1] == quota for reply in replies)
        assert module.command('HG.PEEK', law, law, 0)[0] == 1
        module.command('HG.REFUND', law, law, 1)
        assert module.command('HG.TAKE', law, law, 1)[0] == 1, law


def test_the_time_of_a_decision_is_that_of_redis(module):
    before = module.command('TIME')
    now = module.command('HG.TAKE', 'k', '10/10s', 1)[1:3]
    after = module.command('TIME')
    assert [int(part) for part in before] <= now <= [int(part) for part in after]
    assert int(module.command('GET', 'k')) == (now[0] * 10**6 + now[1]) * 1000 + 10**9


def test_keys_expire_by_themselves(module):
    for i, law in enumerate(('10/10ms', 'fixed-window:10/10ms', 'moving-window:10/10ms', 'concurrency:1,lease=10ms',
                             'exponential:10/10ms', 'sliding-window-counter:10/10ms')):
        module.command('HG.TAKE', i, law, 1)
        assert 0 < module.command('PTTL', i) <= 1100, law
    module.command('CL.THROTTLE', 'k', 15, 30, 60)
    assert 2000 < module.command('PTTL', 'k') <= 3000
    until(lambda: module.command('DBSIZE') == 1, 'all others are gone')


def test_a_value_of_another_kind_stays(module):
    module.command('RPUSH', 'list', 'x')
    module.command('SET', 'text', 'hello')
    for key in ('list', 'text'):
        for words in (('HG.TAKE', key, '10/1h', 1), ('HG.TAKE', 'other', '10/1h', 1, key, 'fixed-window:10/1h', 1),
                      ('HG.PEEK', key, '10/1h', 1), ('HG.REFUND', key, 'concurrency:10', 1),
                      ('CL.THROTTLE', key, 1, 1, 1), ('HG.INFO', key, '10/1h')):
            assert module.command(*words) == 'WRONGTYPE Operation against a key holding the wrong kind of value'
    assert module.command('GET', 'text') == 'hello'
    assert module.command('LRANGE', 'list', 0, -1) == ['x']
    assert module.command('EXISTS', 'other') == 0


def test_transactions_and_scripts(module):
    module.send(b''.join(encode(*words) for words in (
        ('MULTI',), ('HG.TAKE', 'k', '2/1h', 1), ('HG.TAKE', 'k', '2/1h', 2), ('CL.THROTTLE', 't', 0, 1, 1000), ('EXEC',))))
    assert [module.reply() for _ in range(4)] == ['OK', 'QUEUED', 'QUEUED', 'QUEUED']
    first, second, third = module.reply()
    assert (first[0], second[0], third[:3]) == (1, 0, [0, 1, 0])
    script = "return redis.call('HG.TAKE', KEYS[1], ARGV[1], '1')"
    assert module.command('EVAL', script, 1, 'k', '2/1h')[0] == 1
    assert module.command('EVAL', script, 1, 'k', '2/1h')[0] == 0
    assert 'WRONGTYPE' in module.command('EVAL', "redis.call('SET', KEYS[1], 'x') " + script, 1, 'l', '2/1h')
    # A key that was watched has changed.
    assert module.command('WATCH', 'w') == 'OK'
    module.command('HG.TAKE', 'w', '2/1h', 1)
    module.command('MULTI')
    module.command('PING')
    assert module.command('EXEC') == [], 'none of the transaction is executed'


def test_resp3(module):
    module.command('HELLO', 3)
    assert module.command('HG.TAKE', 'k', '10/1h', 3)[3][:3] == [1, 10, 7]
    assert module.command('CL.THROTTLE', 't', 0, 1, 1000) == [0, 1, 0, -1, 1000]
    assert any(line.startswith('remaining: 7 of 10') for line in module.command('HG.INFO', 'k', '10/1h'))


def test_without_memory_units_are_still_given_back(module):
    module.command('HG.TAKE', 'k', '10/1h', 3)
    module.command('CONFIG', 'SET', 'maxmemory', 1)
    assert module.command('HG.TAKE', 'k', '10/1h', 1).startswith('OOM ')
    assert module.command('CL.THROTTLE', 'k', 1, 1, 1).startswith('OOM ')
    assert module.command('HG.PEEK', 'k', '10/1h', 0)[3][2] == 7
    assert module.command('HG.REFUND', 'k', '10/1h', 3)[3][2] == 10


def test_rights_for_keys(redis):
    server = redis(module=True)
    server.command('ACL', 'SETUSER', 'api', 'on', '>secret', '~api:*', '%R~seen:*', '+@all')
    with Client(server.node) as client:
        client.command('AUTH', 'api', 'secret')
        assert client.command('HG.TAKE', 'api:a', '10/1h', 1)[0] == 1
        assert client.command('HG.PEEK', 'seen:a', '10/1h', 1)[0] == 1
        for words in (('HG.TAKE', 'other', '10/1h', 1), ('HG.TAKE', 'api:a', '10/1h', 1, 'other', '10/1h', 1),
                      ('HG.TAKE', 'seen:a', '10/1h', 1), ('HG.REFUND', 'seen:a', '10/1h', 1),
                      ('HG.PEEK', 'other', '10/1h', 1), ('HG.INFO', 'other'), ('CL.THROTTLE', 'other', 1, 1, 1)):
            assert client.command(*words).startswith('NOPERM '), words
    server.command('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '-@all', '+hg.peek', '+hg.info')
    with Client(server.node) as client:
        client.command('AUTH', 'reader', 'secret')
        assert client.command('HG.PEEK', 'api:a', '10/1h', 0)[3][2] == 9
        for words in (('HG.TAKE', 'api:a', '10/1h', 1), ('HG.REFUND', 'api:a', '10/1h', 1), ('CL.THROTTLE', 'api:a', 1, 1, 1)):
            assert client.command(*words).startswith('NOPERM '), words
    assert server.command('COMMAND', 'GETKEYS', 'HG.TAKE', 'a', '1/1s', 1, 'b', '1/1s', 1) == ['a', 'b']


def test_it_can_be_unloaded_and_loaded_again(redis):
    server = redis('--enable-module-command', 'yes', module=True)
    server.command('HG.TAKE', 'k', '10/1h', 1)
    assert server.command('MODULE', 'UNLOAD', 'headgate') == 'OK'
    assert server.command('HG.TAKE', 'k', '10/1h', 1).startswith('ERR unknown command')
    assert server.command('MODULE', 'LOAD', environment.REDIS_MODULE) == 'OK'
    assert server.command('HG.TAKE', 'k', '10/1h', 1)[3][2] == 8


def test_what_keeps_it_from_being_loaded_is_in_the_log(redis, tmp_path):
    log = tmp_path / 'log'
    server = redis('--enable-module-command', 'yes', '--logfile', str(log), module=True)
    copy = tmp_path / 'copy.so'
    shutil.copy(environment.REDIS_MODULE, copy)
    assert server.command('MODULE', 'LOAD', str(copy)).startswith('ERR')
    assert 'headgate: a module of this name is already loaded' in log.read_text()
    assert server.command('HG.TAKE', 'k', '10/1h', 1)[0] == 1
    assert server.command('MODULE', 'UNLOAD', 'headgate') == 'OK'
    assert server.command('MODULE', 'LOAD', environment.REDIS_MODULE, 'fast').startswith('ERR')
    assert 'headgate: the module takes no arguments' in log.read_text()
    assert server.command('HG.TAKE', 'k', '10/1h', 1).startswith('ERR unknown command')


def test_only_redis_allocates():
    """The module imports no allocator: what it needs beyond the stack comes from RedisModule_Alloc."""
    symbols = subprocess.run(['nm', '--dynamic', '--undefined-only', environment.REDIS_MODULE], check=True, text=True,
                             capture_output=True).stdout
    if 'asan' in symbols:
        pytest.skip('AddressSanitizer brings its own')
    names = {line.split()[-1].split('@')[0] for line in symbols.splitlines()}
    assert not names & {'malloc', 'calloc', 'realloc', 'posix_memalign', 'aligned_alloc', 'mmap', '_Znwm', '_Znam'}


def test_random_bytes_never_end_the_server(redis):
    server = redis(module=True)
    dice = random.Random(7)
    words = ('k', 'l', '', '10/1h', '0/1s', '7/1h', 'concurrency:3', 'moving-window:3/1h,log=2', 'fixed-window:5/1m,denied=spend',
             'exponential:5/1m,late', '1', '0', 'debit:9', 'refund:1@5', 'peek:1', 'denied:1', '999999999999999', '-1', 'x', '10')
    with Client(server.node) as client:
        for _ in range(3000):
            name = dice.choice(('HG.TAKE', 'HG.PEEK', 'HG.REFUND', 'HG.INFO', 'CL.THROTTLE', 'SET'))
            call = [name, *(dice.choice(words) for _ in range(dice.randrange(7)))]
            if name == 'SET':
                call = ['SET', dice.choice(('k', 'l')), dice.randbytes(dice.choice((16, 24, 32, 19)))]
            client.command(*call)
        assert client.command('PING') == 'PONG'


# ---- examples/redis-module

def test_the_example_runs(tmp_path):
    if os.environ.get('HEADGATE_SANITIZE'):
        pytest.skip('its redis-server does not load the library of AddressSanitizer')
    example = environment.ROOT / 'examples/redis-module'
    said = subprocess.run([example / 'run', environment.REDIS_MODULE], check=True, text=True, capture_output=True,
                          timeout=60).stdout

    def without_times(lines):
        """Calls, and the first three numbers of a reply: others depend on how fast the machine is."""
        return [line if line.startswith('>') else line.split()[:3] for line in lines]

    shown = [line[4:] for line in (example / 'README.md').read_text().splitlines() if line.startswith('    ')][2:]
    assert len(shown) == 6
    assert without_times(said.splitlines())[:6] == without_times(shown)
    assert 'remaining: 5 of 5' in said.splitlines()[-1]
