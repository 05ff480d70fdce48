"""headgate check, and what all commands have in common."""
import pytest

from support.environment import HEADGATE
from support.terminal import shown_on_a_terminal

GOOD = """version: 1
policies:
  - {name: burst, quota: 100, window: 1m}
  - name: daily
    quota: 5000
    window: 1d
    key: [header:x-key]
    mode: shadow
    overrides: [{ids: [gold], quota: unlimited}]
"""


def test_a_good_file_is_printed(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text(GOOD)
    result = headgate('check', 'p.yaml')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout == """burst: 100 requests per 1m, linear
  key       [address]
  match     every request
daily: 5000 requests per 1d, linear, shadow: decides and counts, never denies
  key       [header:x-key]
  match     every request
  overrides unlimited
p.yaml: 2 policies, no faults
"""


def test_one_policy_is_one_policy(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text('{version: 1, policies: [{name: a, rate: 1/s}]}')
    assert headgate('check', 'p.yaml').stdout.endswith('\np.yaml: 1 policy, no faults\n')


def test_every_fault_of_a_bad_file_is_reported_with_its_place(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text('version: 1\npolicies:\n'
                                     '  - {name: a, quoat: 1, window: 1}\n'
                                     '  - {name: b, quota: 1, window: soon}\n')
    result = headgate('check', 'p.yaml')
    assert (result.returncode, result.stdout) == (1, '')
    lines = result.stderr.splitlines()
    assert any(line.startswith('p.yaml:3:') and 'quoat' in line and 'quota' in line for line in lines)
    assert any(line.startswith('p.yaml:4:') and 'soon' in line for line in lines)


@pytest.mark.parametrize('environment, place', (
    ({'TERM': 'xterm', 'NO_COLOR': ''}, b'\x1b[1;31mp.yaml:3:41\x1b[0m: '),
    ({'TERM': 'xterm', 'NO_COLOR': '1'}, b'p.yaml:3:41: '),
    ({'TERM': 'dumb', 'NO_COLOR': ''}, b'p.yaml:3:41: ')), ids=str)
def test_places_have_a_colour_on_a_terminal_unless_it_is_unwanted(tmp_path, environment, place):
    (tmp_path / 'p.yaml').write_text('version: 1\npolicies:\n  - {name: a, quota: 1, window: 1, key: no}\n')
    shown = shown_on_a_terminal([HEADGATE, 'check', 'p.yaml'], tmp_path, status=1, **environment)
    assert shown.startswith(place)
    assert (b'\x1b' in shown) == (b'\x1b' in place)


def test_a_warning_is_no_fault(headgate, tmp_path):
    """Boulder loads such ids, and never applies them."""
    (tmp_path / 'overrides.yml').write_text(
        '- CertificatesPerDomain:\n    {burst: 9, count: 9, period: 1h, ids: [ecdsa.le.wtf]}\n')
    (tmp_path / 'p.yaml').write_text('version: 1\nboulder: {overrides: overrides.yml}\n')
    result = headgate('check', 'p.yaml')
    assert result.returncode == 0, result
    assert result.stdout.endswith('no faults\n')
    assert result.stderr == (
        "warning: overrides.yml:2:44: id 'ecdsa.le.wtf' is never applied, because this limit counts "
        "by registered domains; expected le.wtf\n")


def test_a_missing_file_is_a_fault(headgate):
    result = headgate('check', 'nowhere.yaml')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.startswith('nowhere.yaml: ')
    assert 'No such file or directory' in result.stderr


def test_an_nginx_conf_is_searched_for_open_upgrades(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text(GOOD)
    (tmp_path / 'ws.conf').write_text('proxy_set_header Upgrade $http_upgrade;\n')
    (tmp_path / 'nginx.conf').write_text('http { server { location / {\n  include ws.conf;\n} } }\n')
    result = headgate('check', '--nginx', 'nginx.conf', 'p.yaml')
    assert result.returncode == 1
    assert result.stdout.endswith('p.yaml: 2 policies, no faults\n')
    assert result.stderr.startswith('ws.conf:1: a client can upgrade to h2c'), result.stderr
    (tmp_path / 'ws.conf').write_text('proxy_set_header Upgrade websocket;\n')
    result = headgate('check', '--nginx', 'nginx.conf')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout == "nginx.conf: no upgrade but WebSocket's is passed on\n"


@pytest.mark.parametrize('arguments', [
    [], ['check'], ['check', 'a', 'b'], ['check', '--frobnicate', 'a'], ['gateway'], ['simulate'],
    ['gateway', '--config', 'a'], ['simulate', '--config', 'a'], ['frobnicate'], ['--frobnicate'],
    ['simulate', '--config', 'a', '--format', 'xml', 'b'],
    ['simulate', '--config', 'a', '--memory', 'much', 'b'],
    ['gateway', '--config', 'a', '--upstream', 'http://b', '--workers', '0'],
])
def test_wrong_usage_is_reported_on_standard_error(headgate, arguments):
    result = headgate(*arguments)
    assert (result.returncode, result.stdout) == (2, '')
    assert result.stderr.startswith('headgate')


def test_an_unknown_command_names_the_known_ones(headgate):
    result = headgate('sreve')
    assert result.returncode == 2
    assert '"sreve"' in result.stderr
    assert ('check, completion, explain, fetch, gateway, help, schema, serve, simulate, top'
            in result.stderr)


@pytest.mark.parametrize('arguments, hint', (
    (['sreve'], 'there is no command "sreve"; did you mean serve? The commands are '),
    (['serve', '--confg', 'a'], 'there is no option --confg; did you mean --config?\n'),
    (['gateway', '--confg=a', '--upstream', 'http://b'], 'there is no option --confg; did you mean --config?\n'),
    (['check', '--conect', 'a'], 'there is no option --conect; did you mean --connect?\n'),
    (['check', '--frobnicate', 'a'], 'there is no option --frobnicate\n')), ids=str)
def test_a_misspelt_word_is_told_what_it_may_have_meant(headgate, arguments, hint):
    result = headgate(*arguments)
    assert (result.returncode, result.stdout) == (2, '')
    assert hint in result.stderr, result.stderr


@pytest.mark.parametrize('command', [[], ['gateway'], ['check'], ['simulate'], ['explain']])
def test_help_and_version_are_everywhere(headgate, command):
    result = headgate(*command, '--help')
    assert (result.returncode, result.stderr) == (0, '')
    assert 'Usage: headgate' in result.stdout
    result = headgate(*command, '--version')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith('headgate 0.')
