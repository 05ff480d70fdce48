"""The alert rules and the board of examples/prometheus, with Prometheus' own tool and the metrics of real servers."""
import json
import re
import subprocess

import pytest
import yaml

from support.environment import ROOT
from support.http_client import Connection
from support.nginx import Nginx
from support.policies import policies, policy
from support.processes import find_program

EXAMPLE = ROOT / 'examples/prometheus'
RULES = yaml.safe_load((EXAMPLE / 'headgate.rules.yaml').read_text())
ALERTS = {rule['alert']: rule for group in RULES['groups'] for rule in group['rules'] if 'alert' in rule}
RECORDED = [rule['record'] for group in RULES['groups'] for rule in group['rules'] if 'record' in rule]
BOARD = json.loads((EXAMPLE / 'grafana.json').read_text())
PROMTOOL = find_program('promtool')

# Two hours, a sample a minute: series that are as they should be.
QUIET = {
    'up{job="headgate"}': '1x120',
    'headgate_decisions_total{policy="burst",outcome="admitted"}': '0+100x120',
    'headgate_decisions_total{policy="burst",outcome="denied"}': '0+10x120',
    'headgate_refused_reloads_total': '2x120',
    'headgate_tables_changed_total': '1x120',
    'headgate_table_file_lost': '0x120',
    'headgate_decisions_without_redis_total{policy="burst"}': '4x120',
    'headgate_table_unkept_total': '0+30x120',
    'headgate_table_kind_live_cells{kind="narrow"}': '60x120',
    'headgate_table_kind_cells{kind="narrow"}': '100x120',
    'headgate_table_kind_live_cells{kind="wide"}': '0x120',
    'headgate_table_kind_cells{kind="wide"}': '1000x120',
    'headgate_table_merged_total': '5x120',
    'headgate_decision_duration_seconds_bucket{door="http",le="0.005"}': '0+100x120',
    'headgate_decision_duration_seconds_bucket{door="http",le="0.01"}': '0+100x120',
    'headgate_decision_duration_seconds_bucket{door="http",le="+Inf"}': '0+100x120',
    'headgate_refused_connections_total{door="http"}': '7x120',
    'headgate_crowded_out_connections_total{door="http"}': '7x120',
    'headgate_accept_failures_total{door="http"}': '7x120',
    'headgate_wrong_tokens_total{door="http"}': '7x120',
}
# What changes in them for each alert.
FIRES = {
    'HeadgateDown': {'up{job="headgate"}': '1x100 0x20'},
    'HeadgateReloadRefused': {'headgate_refused_reloads_total': '2x100 3x20'},
    'HeadgateQuotasLost': {'headgate_tables_changed_total': '1x100 2x20'},
    'HeadgateTableFileLost': {'headgate_table_file_lost': '0x100 1x20'},
    'HeadgateRedisAway': {'headgate_decisions_without_redis_total{policy="burst"}': '4+1x120'},
    'HeadgateKeysWithoutPlace': {'headgate_table_unkept_total': '0+90x120'},
    'HeadgateTableNearlyFull': {'headgate_table_kind_live_cells{kind="narrow"}': '60x100 71x20'},
    'HeadgateRecordsMerged': {'headgate_table_merged_total': '5x100 6x20'},
    'HeadgateDecisionsLate': {
        'headgate_decision_duration_seconds_bucket{door="http",le="0.005"}': '0+98x120'},
    'HeadgateConnectionsRefused': {'headgate_refused_connections_total{door="http"}': '7+1x120'},
    'HeadgateStrangersCrowdOut': {'headgate_crowded_out_connections_total{door="http"}': '7+1x120'},
    'HeadgateAcceptFailures': {'headgate_accept_failures_total{door="http"}': '7+1x120'},
    'HeadgateWrongTokens': {'headgate_wrong_tokens_total{door="http"}': '7+1x120'},
    'HeadgateManyDenials': {
        'headgate_decisions_total{policy="burst",outcome="denied"}': '0+110x120'},
}
# An alert has the labels of its expression.
LABELS = {'HeadgateDown': {'job': 'headgate'},
          'HeadgateTableNearlyFull': {'kind': 'narrow'},
          **dict.fromkeys(('HeadgateManyDenials', 'HeadgateRedisAway'), {'policy': 'burst'}),
          **dict.fromkeys(('HeadgateDecisionsLate', 'HeadgateConnectionsRefused', 'HeadgateStrangersCrowdOut',
                           'HeadgateAcceptFailures', 'HeadgateWrongTokens'), {'door': 'http'})}
AT = '118m'


def promtool(*arguments):
    done = subprocess.run([PROMTOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def unit_test(fires):
    """A test of promtool: with the series of this alert, it fires and no other does."""
    series = QUIET | FIRES.get(fires, {})
    expected = {fires: [{'exp_labels': ALERTS[fires]['labels'] | LABELS.get(fires, {}),
                         'exp_annotations': ALERTS[fires]['annotations']}]} if fires else {}
    return {'interval': '1m', 'name': fires or 'nothing fires',
            'input_series': [{'series': name, 'values': values} for name, values in series.items()],
            'alert_rule_test': [{'eval_time': AT, 'alertname': name, 'exp_alerts': expected.get(name, [])}
                                for name in ALERTS]}


@pytest.fixture(scope='module')
def exposed(tmp_path_factory):
    """The names of all metrics that a decision server and nginx show."""
    from support.serve import Serve
    one = policies(policy('burst', 3))
    server = Serve(tmp_path_factory.mktemp('serve'), one, {'http': '127.0.0.1:0'})
    nginx = Nginx(tmp_path_factory.mktemp('nginx'), one,
                  'location /metrics { headgate off; headgate_metrics; }').start()
    names = {'up'}
    for port in (server.port, nginx.port):
        with Connection(port) as connection:
            text = connection.request('/metrics').body.decode()
        types = dict(re.findall(r'^# TYPE (\S+) (\S+)', text, re.MULTILINE))
        names |= set(types) | {f'{name}_bucket' for name, kind in types.items() if kind == 'histogram'}
    server.stop()
    nginx.stop()
    return names


def metrics_of(expression):
    return set(re.findall(r'\b(?:[a-z]+:)?headgate_\w+(?::\w+)?', re.sub(r'"[^"]*"', '', expression)))


def expressions_of_board():
    return [target['expr'] for panel in BOARD['panels'] for target in panel['targets']]


@pytest.mark.parametrize('alert', [None, *ALERTS])
def test_each_alert_fires_and_no_other_does(tmp_path, alert):
    test = tmp_path / 'test.yaml'
    test.write_text(json.dumps({'rule_files': [str(EXAMPLE / 'headgate.rules.yaml')],
                                'evaluation_interval': '1m', 'tests': [unit_test(alert)]}))
    promtool('test', 'rules', test)
    assert alert is None or alert in FIRES


def test_the_configuration_is_accepted():
    promtool('check', 'config', EXAMPLE / 'prometheus.yaml')


def test_every_metric_of_rules_and_board_exists(exposed):
    expressions = [rule['expr'] for group in RULES['groups'] for rule in group['rules']]
    used = set().union(*map(metrics_of, expressions + expressions_of_board()))
    assert used and used <= exposed | set(RECORDED), used - exposed


def test_operations_md_has_the_alerts():
    page = (ROOT / 'docs/operations.md').read_text()
    section = page.partition('### What to alert on')[2].partition('\n#')[0]
    shown = dict(re.findall(r'^\| `(Headgate\w+)`: `([^`]+)`', section, re.MULTILINE))
    assert shown == {name: rule['expr'] for name, rule in ALERTS.items()}


def test_the_expressions_of_the_board_are_correct(tmp_path):
    rules = [{'record': f'panel:{n}', 'expr': re.sub(r'\$__rate_interval', '5m', expression)}
             for n, expression in enumerate(expressions_of_board())]
    (tmp_path / 'board.yaml').write_text(json.dumps({'groups': [{'name': 'board', 'rules': rules}]}))
    promtool('check', 'rules', tmp_path / 'board.yaml')


def test_the_board_can_be_imported():
    """What Grafana needs of a board: it gives a new one its number, and panels have places of their own."""
    assert 'id' not in BOARD and BOARD['title'] and BOARD['schemaVersion'] >= 36
    variables = {one['name'] for one in BOARD['templating']['list']}
    assert set(re.findall(r'\$\{?(\w+)', json.dumps(BOARD['panels']))) - {'__rate_interval'} <= variables
    numbers = [panel['id'] for panel in BOARD['panels']]
    assert len(set(numbers)) == len(numbers)
    taken = set()
    for panel in BOARD['panels']:
        at = panel['gridPos']
        assert at['x'] + at['w'] <= 24
        cells = {(x, y) for x in range(at['x'], at['x'] + at['w']) for y in range(at['y'], at['y'] + at['h'])}
        assert not cells & taken, panel['title']
        taken |= cells
