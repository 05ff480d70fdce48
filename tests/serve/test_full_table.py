"""A flood of keys fills the table of a real server: who is limited, and the alert that fires."""
import pathlib
import re
import socket

from prometheus_client.parser import text_string_to_metric_families

from support.admin import ADMIN, put, state
from support.environment import PATIENCE
from support.http_client import request

OPERATIONS = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'operations.md'
ALERT = re.compile(r'^\| `Headgate\w+`: `rate\((\w+)\[(\d+)m\]\) > (\d+)` \|.*table', re.MULTILINE)
POLICIES = '''
version: 1
store: {table: {memory: 1MiB}}
policies:
  - {name: linear, quota: 3, window: 1h}
  - {name: moving, quota: 3, window: 1h, algorithm: moving-window}
'''
DOORS = {'http': '127.0.0.1:0', 'resp': '127.0.0.1:0'}
BATCH = 500  # commands whose answers fit into the buffers of a connection


class Client:
    """Sends HG.DECIDE in batches."""

    def __init__(self, server):
        self.connection = socket.create_connection(('127.0.0.1', server.ports['resp']), PATIENCE)
        self.replies = self.connection.makefile('rb')

    def admitted(self, policy, keys):
        """How many requests are admitted, one for each of `keys`."""
        count = 0
        for at in range(0, len(keys), BATCH):
            batch = keys[at:at + BATCH]
            self.connection.sendall(b''.join(f'HG.DECIDE {policy} {key}\r\n'.encode()
                                             for key in batch))
            for _ in batch:
                assert self.replies.readline() == b'*5\r\n'
                answer = [self.replies.readline() for _ in range(5)]
                count += answer[0] == b':1\r\n'
        return count

    def close(self):
        self.replies.close()
        self.connection.close()


def sample(server, name):
    for family in text_string_to_metric_families(request(server.port, '/metrics').text):
        for found in family.samples:
            if found.name == name:
                return found.value
    raise AssertionError(f'no {name}')


def test_a_flood_frees_nobody_and_the_alert_of_the_documentation_fires(serve):
    alerts = ALERT.findall(OPERATIONS.read_text())
    assert [name for name, _, _ in alerts] == ['headgate_table_unkept_total']
    name, minutes, limit = alerts[0]
    server = serve(POLICIES, doors=DOORS)
    client = Client(server)
    cells = int(sample(server, 'headgate_table_cells'))

    def fires_after(before):
        return (sample(server, name) - before) / (int(minutes) * 60) > int(limit)

    for policy in ('linear', 'moving'):
        quiet = sample(server, name)
        assert client.admitted(policy, ['offender'] * 10) == 3
        client.admitted(policy, [f'early{i}' for i in range(100)])
        assert not fires_after(quiet)
        client.admitted(policy, [f'flood{i}' for i in range(2 * cells)])
        assert fires_after(quiet)
        assert client.admitted(policy, ['offender'] * 10) == 0
        assert client.admitted(policy, [f'early{i}' for i in range(100)] * 3) == 200
        assert client.admitted(policy, ['newcomer'] * 1000) <= 3
    client.close()


def test_a_key_without_a_place_cannot_be_reset_and_that_is_said(serve, tmp_path):
    token = tmp_path / 'admin'
    token.write_text(ADMIN + '\n')
    token.chmod(0o600)
    server = serve(POLICIES, doors=DOORS, arguments=('--admin-token-file', token, '--overrides-file',
                                                     tmp_path / 'overrides'))
    client = Client(server)
    client.admitted('linear', ['early'] * 10)
    client.admitted('linear', [f'flood{i}' for i in range(2 * int(sample(server, 'headgate_table_cells')))])
    client.admitted('linear', ['192.0.2.9'] * 10)
    assert state(server, 'linear/early', 'DELETE', ADMIN)['r'] == 3
    refused = state(server, 'linear/192.0.2.9', 'DELETE', ADMIN, 503)
    assert 'the table is full' in refused['detail'] and 'override' in refused['detail']
    assert client.admitted('linear', ['192.0.2.9'] * 10) == 0
    put(server, 'linear/192.0.2.9', quota='unlimited')
    assert client.admitted('linear', ['192.0.2.9'] * 10) == 10
    client.close()
