"""A server of the dashboard's files with made-up answers: what a server says is chosen by the test."""
import json
import pathlib
import time

from support.environment import ROOT
from support.raw_server import RawServer, response

TYPES = {'.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml'}


def policy(name, quota=100, window_ns=60_000_000_000, **other):
    """A policy as /v1/policies has it."""
    return {'name': name, 'mode': 'enforce', 'algorithm': 'linear', 'quota': quota, 'unit': 'requests',
            'window_ns': window_ns, 'key': '[address]', 'match': '', 'cost': '1', 'status': 429, 'overrides': 0,
            **other}


def ranked(policy, key, per_second, **other):
    """A row of /v1/top."""
    return {'policy': policy, 'key': key, 'per_second': per_second, 'at_most_per_second': per_second, **other}


class CannedView(RawServer):
    """Answers beneath `prefix`, which ends with a slash, and with 404 elsewhere.

    rates        {(metric, labels): what it grows by per second}, where labels is 'policy="a",outcome="denied"'
    metrics      {metric with its labels: value}
    policies     rows of /v1/policies; most_denied and busiest: rows of /v1/top
    pages        {path: JSON} of other pages

    All can be changed at any time.
    """

    def __init__(self, prefix='/', policies=(), rates={}):
        self.prefix = prefix
        self.policies = list(policies)
        self.rates = dict(rates)
        self.metrics = {'headgate_table_live_cells': 1234, 'headgate_table_cells': 1 << 22,
                        'headgate_table_kind_live_cells{kind="narrow"}': 1234,
                        'headgate_table_kind_cells{kind="narrow"}': 1 << 21,
                        'headgate_table_kind_live_cells{kind="wide"}': 0,
                        'headgate_table_kind_cells{kind="wide"}': 1 << 21,
                        'headgate_table_memory_bytes': 64 << 20, 'headgate_table_unkept_total': 0}
        self.busiest, self.most_denied, self.keys = [], [], 'plain'
        self.pages = {}
        self.restart()
        super().__init__(lambda path, *_: self.answer_to(path))

    def restart(self):
        """Counters begin at 0 again."""
        self.began = time.monotonic()

    def answer_to(self, path):
        if not path.startswith(self.prefix):
            return response(404)
        name = path[len(self.prefix):].partition('?')[0] or 'index.html'
        if name == 'metrics':
            return response(200, [('Content-Type', 'text/plain')], self.exposition().encode())
        if name == 'v1/top':
            return self.json({'keys': self.keys, 'busiest': self.busiest, 'most_denied': self.most_denied})
        if name == 'v1/policies':
            return self.json({'file': '/etc/headgate/policies.yaml', 'number': 1, 'policies': self.policies})
        if name in self.pages:
            return self.json(self.pages[name])
        file = ROOT / 'web' / pathlib.PurePath(name).name
        if '/' in name or not file.is_file() or file.suffix not in TYPES:
            return response(404)
        return response(200, [('Content-Type', TYPES[file.suffix]), ('Cache-Control', 'no-store')],
                        file.read_bytes())

    @staticmethod
    def json(value):
        return response(200, [('Content-Type', 'application/json')], json.dumps(value).encode())

    def exposition(self):
        age = time.monotonic() - self.began
        lines = [f'{name}{{{labels}}} {int(rate * age)}' for (name, labels), rate in self.rates.items()]
        return '\n'.join(lines + [f'{name} {value}' for name, value in self.metrics.items()]) + '\n'
