"""headgate gateway with --overrides-file and --admin-token-file: the commands for one client work at the address
of its metrics."""
import json
import os
import re
import shutil
import signal

import pytest

from support.admin import ADMIN, change, listed, metric, put, quota, run, state
from support.processes import until

POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 3, window: 1h, key: ["header:x-key"]}
'''


@pytest.fixture
def start(gateway, directory, admin_token):
    """Starts a gateway. It is at the port for clients; what it returns beside is at that of the metrics."""
    folder = directory / 'kept'
    folder.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, 'www-data')

    def started(*arguments, policies=POLICIES):
        made = gateway(policies, '--metrics', '127.0.0.1:0', '--admin-token-file', admin_token, '--overrides-file',
                       folder / 'overrides', '--workers', '2', *arguments)
        made.admin = Door(made.metrics_port)
        return made
    return started


class Door:
    """What support.admin takes."""

    def __init__(self, port):
        self.port = port


def limit(gateway, key):
    return int(re.search(r'q=(\d+)', gateway.request(headers={'X-Key': key}).headers['RateLimit-Policy'])[1])


def test_an_override_is_in_force_and_outlives_reloads_and_restarts(start, admin_token):
    one = start()
    line = run(one.admin, 'override', 'set', 'burst', 'a', '50', '--reason', 'demo', token_file=admin_token)
    assert line == 'burst, key a: 50 (demo)\n'
    for _ in range(4):
        until(lambda: limit(one, 'a') == 50, 'it is in force')
    said = one.errors.until(r'headgate: 127\.0\.0\.1 sets the override (\{.*\}), client: ')
    assert json.loads(said[1])['reason'] == 'demo'
    one.policy_file.write_text(POLICIES.replace('quota: 3', 'quota: 4'))
    one.send(1)
    one.errors.until('reloaded')
    until(lambda: (limit(one, 'a'), limit(one, 'b')) == (50, 4), 'it is there with the new policies')
    assert one.stop() == 0
    again = start()
    assert (limit(again, 'a'), limit(again, 'b')) == (50, 3)
    assert metric(again.admin, 'headgate_overrides') == {'policy="burst"': 1}
    run(again.admin, 'override', 'remove', 'burst', 'a', token_file=admin_token)
    again.errors.until('removes the override')
    until(lambda: [limit(again, 'a') for _ in range(4)] == [3] * 4, 'it is removed')


def test_peek_why_and_reset(start, admin_token):
    one = start()
    assert [one.request(headers={'X-Key': 'a'}).status for _ in range(4)] == [200, 200, 200, 429]
    assert ' 0 of 3 requests per 1h left' in run(one.admin, 'peek', 'burst', 'a')
    assert run(one.admin, 'why', 'burst', 'a').startswith('Denied by burst for ')
    assert ' 3 of 3 requests per 1h left' in run(one.admin, 'reset', 'burst', 'a', token_file=admin_token)
    one.errors.until(r"headgate: 127\.0\.0\.1 asks for a full quota of policy 'burst' for key 'a'")
    assert one.request(headers={'X-Key': 'a'}).status == 200
    assert 'the server wants a token' in run(one.admin, 'reset', 'burst', 'a', status=1)


def test_without_the_options_nothing_can_be_changed(gateway):
    one = gateway(POLICIES, '--metrics', '127.0.0.1:0')
    door = Door(one.metrics_port)
    assert state(door, 'burst/a')['r'] == 3
    assert listed(door) == []
    assert '--admin-token-file FILE' in put(door, 'burst/a', 403, quota=1)['detail']
    assert quota(door, 'burst/a') == 3


def test_without_a_file_there_are_no_overrides(gateway, admin_token):
    one = gateway(POLICIES, '--metrics', '127.0.0.1:0', '--admin-token-file', admin_token)
    assert '--overrides-file FILE' in put(Door(one.metrics_port), 'burst/a', 409, quota=1)['detail']


def test_a_folder_that_the_workers_cannot_write_is_named(gateway, directory, admin_token):
    folder = directory / 'closed'
    folder.mkdir(mode=0o555)
    one = gateway(POLICIES, '--metrics', '127.0.0.1:0', '--admin-token-file', admin_token, '--overrides-file',
                  folder / 'overrides')
    said = change(Door(one.metrics_port), 'PUT', 'burst/a', {'quota': 1}, 503, ADMIN)['detail']
    assert re.fullmatch(rf'{folder}/overrides: cannot be changed: Permission denied; expected a folder that the user '
                        r'of this process, \d+, can write, and a file of this user', said)


def test_reloads_without_a_readable_token_are_refused_and_counted(start, admin_token):
    one = start()
    token = admin_token.read_text()
    for count in 1, 2:
        one.policy_file.write_text(POLICIES.replace('quota: 3', 'quota: 9'))
        admin_token.write_text('')
        one.send(signal.SIGHUP)
        one.errors.until('^headgate: reload refused; the policies in force stay')
        until(lambda: metric(one.admin, 'headgate_refused_reloads_total') == {'': count}, 'it is counted')
        assert limit(one, 'a') == 3
    admin_token.write_text(token)
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reloaded')
    assert limit(one, 'a') == 9
    assert metric(one.admin, 'headgate_refused_reloads_total') == {'': 2}
    assert metric(one.admin, 'headgate_reloads_total') == {'': 1}


def test_faults_are_said_before_the_start(fails, gateway, directory, admin_token):
    status, said = fails(POLICIES, '--admin-token-file', admin_token)
    assert status == 2 and '--admin-token-file requires --metrics' in said
    status, said = fails(POLICIES, '--metrics', '127.0.0.1:0', '--admin-token-file', directory / 'none')
    assert status == 1
    assert ("none: can't be read: No such file or directory; expected a file whose first line is the "
            'token') in said
    (directory / 'bad').write_text('nonsense')
    status, said = fails(POLICIES, '--overrides-file', directory / 'bad')
    assert status == 1 and f'{directory}/bad: byte 0: expected an object' in said
