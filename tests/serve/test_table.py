"""The table of a decision server: what a reload may not change, and what can happen to its file."""
import json
import os
import resource
import shutil
import signal
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE
from support.http_client import read_metrics, request

POLICIES = '''
version: 1
store: {{table: {table}}}
policies:
  - {{name: burst, quota: {quota}, window: 1h}}
  - {{name: window, quota: {quota}, window: 1h, algorithm: fixed-window}}
'''
IN_FILE = '{memory: 128KiB, file: table}'


def policies(table, quota=3):
    return POLICIES.format(table=table, quota=quota)


def left(server, policy='burst'):
    """What is left of the quota after one more unit was taken."""
    body = json.dumps({'checks': [{'policy': policy, 'key': 'a'}]})
    response = request(server.port, '/v1/decide', 'POST', body, {'Content-Type': 'application/json'})
    assert response.status == 200
    return json.loads(response.text)['results'][0]['r']


def start_refused(directory, text, **options):
    """What `headgate serve` says that does not start."""
    (directory / 'policies.yaml').write_text(text)
    done = subprocess.run([HEADGATE, 'serve', '--config', directory / 'policies.yaml', '--http',
                           '127.0.0.1:0'], capture_output=True, text=True, timeout=PATIENCE, **options)
    assert done.returncode == 1, done
    return done.stderr


def test_time_goes_on_while_the_machine_sleeps(serve, tmp_path):
    """CLOCK_BOOTTIME alone tells of it: here by an hour, which is the window."""
    slept = ['unshare', '--map-root-user', '--time', '--boottime', '3600', '--kill-child']
    if subprocess.run([*slept, 'true'], capture_output=True).returncode != 0:
        pytest.skip('needs time namespaces')
    text = policies(f'{{memory: 128KiB, file: {tmp_path}/table}}')
    server = serve(text)
    assert left(server) == left(server, 'window') == 2
    server.kill()
    server = serve(text, prefix=slept)
    assert left(server) == left(server, 'window') == 2
    server.kill()  # with its child, which a SIGTERM would not reach


@pytest.mark.parametrize('other', ['{memory: 128KiB}', '{memory: 128KiB, file: other}'])
def test_a_reload_that_changes_the_table_is_refused_and_counted(serve, other):
    server = serve(policies(IN_FILE))
    assert left(server) == 2
    assert 'refused' in server.reload(policies(other, quota=9))
    assert any('policies.yaml: store: the table is to have' in line for line in server.seen), server.seen
    assert read_metrics(server.port)['headgate_refused_reloads_total'] == 1
    assert left(server) == 1  # by the policies before it
    assert 'in force' in server.reload(policies(IN_FILE, quota=9))


def test_a_reload_that_makes_the_table_larger_keeps_all_quotas(serve):
    server = serve(policies(IN_FILE))
    assert left(server) == left(server, 'window') == 2
    assert 'in force' in server.reload(policies(IN_FILE.replace('128KiB', '4MiB')))
    assert read_metrics(server.port)['headgate_table_memory_bytes'] == 4 << 20
    assert left(server) == left(server, 'window') == 1
    assert (server.policy_file.parent / 'table').stat().st_size == 4 << 20


def test_the_former_policy_file_is_accepted_after_its_table_has_grown(serve, tmp_path):
    former = policies(f'{{memory: 128KiB, file: {tmp_path}/table}}')
    server = serve(former.replace('128KiB', '1MiB'))
    assert left(server) == 2
    assert 'in force' in server.reload(former)
    assert left(server) == 1
    server.stop()
    server = serve(former)
    assert left(server) == 0
    assert (tmp_path / 'table').stat().st_size == 1 << 20
    assert any('/table: is a table of 1048576 bytes, and 131072 were asked for; all of it is used' in line
               for line in server.seen), server.seen


def test_a_table_beyond_the_limit_of_file_sizes_is_refused(serve, tmp_path):
    server = serve(policies(IN_FILE))
    assert left(server) == 2
    most = 1 << 20
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
    assert 'refused' in server.reload(policies(IN_FILE.replace('128KiB', '4MiB')))
    assert any('table: has 131072 bytes and cannot get 4194304' in line for line in server.seen), server.seen
    assert left(server) == 1
    folder = tmp_path / 'new'
    folder.mkdir()
    said = start_refused(folder, policies('{memory: 4MiB, file: table}'),
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    assert 'table: cannot reserve disk space: File too large' in said
    assert os.listdir(folder) == ['policies.yaml'], 'no draft is left'


def test_a_truncated_file_is_replaced_by_memory_and_announced(serve):
    server = serve(policies(IN_FILE))
    table = server.policy_file.parent / 'table'
    assert left(server) == left(server, 'window') == 2
    assert read_metrics(server.port)['headgate_table_file_lost'] == 0
    os.truncate(table, 0)
    assert [left(server) for _ in range(3)] == [2, 1, 0]
    assert [left(server, 'window') for _ in range(3)] == [2, 1, 0]
    server.until(f"headgate: {table}: the table's file was truncated while it was in use")
    assert read_metrics(server.port)['headgate_table_file_lost'] == 1
    assert server.stop() == 0
    assert f'{table}: is not a headgate table' in start_refused(table.parent, policies(IN_FILE))
    table.unlink()
    assert left(serve(policies(IN_FILE))) == 2


def test_a_deleted_file_is_in_the_metrics(serve):
    """Nothing is lost until a restart. Then nobody would have heard of it."""
    server = serve(policies(IN_FILE))
    table = server.policy_file.parent / 'table'
    assert left(server) == 2
    os.link(table, table.with_name('other'))
    assert read_metrics(server.port)['headgate_table_file_lost'] == 0
    table.unlink()
    assert read_metrics(server.port)['headgate_table_file_lost'] == 1
    assert left(server) == 1


def test_a_replaced_file_is_in_the_metrics(serve):
    """As after mv and cp, for a backup: the next server counts in the other file."""
    server = serve(policies(IN_FILE))
    table = server.policy_file.parent / 'table'
    table.rename(table.with_name('other'))
    shutil.copy(table.with_name('other'), table)
    assert read_metrics(server.port)['headgate_table_file_lost'] == 1


def test_a_link_to_nothing_is_no_table(tmp_path):
    (tmp_path / 'table').symlink_to('nowhere')
    assert 'is a symbolic link to a file that does not exist' in start_refused(tmp_path, policies(IN_FILE))


def test_a_reload_does_not_wait_for_a_pipe(serve):
    server = serve(policies(IN_FILE))
    server.policy_file.unlink()
    os.mkfifo(server.policy_file)
    server.process.send_signal(signal.SIGHUP)
    server.until('policies.yaml: is no regular file; expected a policy file')
    server.until('is refused')
    assert left(server) == 2
