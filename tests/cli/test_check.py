"""headgate check, and what all commands have in common."""
import array
import contextlib
import fcntl
import json
import os
import re
import subprocess
import termios

import pytest

from support.environment import HEADGATE, PATIENCE
from support.processes import until
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


def test_calendars_and_preflights_are_printed(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text('''version: 1
cors: {preflights: free}
policies:
  - {name: monthly, rate: 5000/month, time-zone: Europe/Berlin, overrides: [{ids: [10.0.0.1], quota: 9}]}
  - {name: weekly, rate: 1 per week, time-zone: UTC, reset: next}
''')
    assert headgate('check', 'p.yaml').stdout == '''cors: no policy counts preflights
monthly: 5000 requests per month, fixed-window by the clocks of Europe/Berlin
  key       [address]
  match     every request
  overrides 9 requests per month
weekly: 1 requests per week, from Monday, fixed-window by the clocks of UTC
  key       [address]
  match     every request
  reset     next
p.yaml: 2 policies, no faults
'''


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


def test_a_part_without_effect_is_a_warning_with_its_place(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text('version: 1\npolicies:\n'
                                     '  - {name: a, quota: 3, window: 1m, cost: 5}\n'
                                     '  - {name: b, rate: 1/s, match: {host: "a.example:80"}}\n')
    result = headgate('check', 'p.yaml')
    assert result.returncode == 0, result
    assert result.stdout.endswith('p.yaml: 2 policies, no faults\n')
    cost, host = result.stderr.splitlines()
    assert cost.startswith('warning: p.yaml:3:43: quota 3 is below the cost 5, so every request is denied')
    assert host.startswith("warning: p.yaml:4:40: host 'a.example:80' matches no request")


def run(tmp_path, *arguments, stdin='', **more):
    return subprocess.run([HEADGATE, *arguments], cwd=tmp_path, input=stdin, text=True, timeout=PATIENCE,
                          **({'capture_output': True} | more))


def test_standard_input_is_a_file_named_dash(tmp_path):
    result = run(tmp_path, 'check', '-', stdin=GOOD)
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.endswith('-: 2 policies, no faults\n')
    result = run(tmp_path, 'check', '-', stdin='version: 1\npolicies: [{name: a, rate: often}]\n')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.startswith('-:2:28: rate \'often\' is not a rate')
    result = run(tmp_path, 'check', '-', '-', stdin=GOOD)
    assert result.returncode == 2 and 'standard input can be read only once' in result.stderr


# Node and ssh pass such a pipe on. What has not come yet is not the end.
@pytest.mark.parametrize('words, before, after, said', (
    (['check', '-'], 'version: 1\npolicies:\n  - {name: a, rate: 5/s}\n', '  - {name: b, rat: 5/s}\n', '-:4:'),
    (['explain'], 'HTTP/1.1 200 OK\nRateLimit: "a";r=5;t=3\n', 'Retry-After: 30\n\n', 'wait 30 s')),
    ids=('check', 'explain'))
def test_a_pipe_that_does_not_block_is_read_to_its_end(words, before, after, said):
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    os.write(theirs, before.encode())
    with subprocess.Popen([HEADGATE, *words], stdin=ours, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        until(lambda: is_empty(ours), 'the first half is read')
        os.write(theirs, after.encode())
        os.close(theirs)
        os.close(ours)
        output, _ = process.communicate(timeout=PATIENCE)
    assert said in output.decode(), output


def is_empty(pipe):
    waiting = array.array('i', [0])
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0] == 0


@pytest.mark.parametrize('words', (['check', '-'], ['explain'], ['why', '--problem', '-', 'a']))
def test_a_standard_input_that_cannot_be_read_is_not_empty(tmp_path, words):
    with directory(tmp_path) as folder:
        result = subprocess.run([HEADGATE, *words], stdin=folder, text=True, capture_output=True, timeout=PATIENCE)
    assert (result.returncode, result.stdout) == (1, ''), result
    assert "can't be read: Is a directory" in result.stderr, result


@contextlib.contextmanager
def directory(path):
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_several_files_are_checked_and_one_fault_is_enough(headgate, tmp_path):
    (tmp_path / 'good.yaml').write_text(GOOD)
    (tmp_path / 'bad.yaml').write_text('version: 1\n')
    result = headgate('check', 'bad.yaml', 'good.yaml')
    assert result.returncode == 1
    assert result.stdout.endswith('good.yaml: 2 policies, no faults\n')
    assert result.stderr == "bad.yaml:1:1: the file has no 'policies'; expected a list of policies\n"
    assert headgate('check', 'good.yaml', 'good.yaml').stdout.count('good.yaml: 2 policies, no faults\n') == 2


def test_quiet_prints_only_what_is_wrong(headgate, tmp_path):
    (tmp_path / 'good.yaml').write_text(GOOD)
    (tmp_path / 'nginx.conf').write_text('events {}\n')
    result = headgate('check', '--quiet', '--nginx', 'nginx.conf', 'good.yaml')
    assert (result.returncode, result.stdout, result.stderr) == (0, '', '')
    (tmp_path / 'bad.yaml').write_text('version: 1\n')
    result = headgate('check', '--quiet', 'bad.yaml')
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.startswith('bad.yaml:1:1: ')


def test_json_has_every_fault_and_warning(headgate, tmp_path):
    (tmp_path / 'good.yaml').write_text(GOOD)
    (tmp_path / 'warned.yaml').write_text('version: 1\npolicies: [{name: "a\\"b", rate: 1/s, cost: 2}]\n')
    (tmp_path / 'bad.yaml').write_text('version: 1\n')
    result = headgate('check', '--json', 'good.yaml', 'warned.yaml', 'bad.yaml', 'nowhere.yaml')
    assert (result.returncode, result.stderr) == (1, '')
    good, warned, bad, nowhere = json.loads(result.stdout)['files']
    assert good == {'file': 'good.yaml', 'good': True, 'policies': ['burst', 'daily'], 'faults': [], 'warnings': []}
    assert (warned['good'], warned['policies'], warned['faults']) == (True, ['a"b'], [])
    (warning,) = warned['warnings']
    assert (warning['file'], warning['line'], warning['column']) == ('warned.yaml', 2, 44)
    assert warning['what'].startswith('quota 1 is below the cost 2')
    assert bad == {'file': 'bad.yaml', 'good': False, 'policies': [], 'warnings': [], 'faults': [
        {'file': 'bad.yaml', 'line': 1, 'column': 1,
         'what': "the file has no 'policies'; expected a list of policies"}]}
    assert nowhere['faults'][0]['line'] is None and 'No such file' in nowhere['faults'][0]['what']
    result = headgate('check', '--json', '--connect', 'good.yaml')
    assert json.loads(result.stdout)['files'][0]['store'] == {
        'findings': ['good.yaml: store: the table, which needs no connection'], 'faults': []}
    assert headgate('check', '--json', '--quiet', 'good.yaml').returncode == 2


@pytest.mark.parametrize('arguments', (
    ['check', 'p.yaml'], ['check', '--json', 'p.yaml'], ['schema'], ['completion', 'bash'], ['help', 'check'],
    ['check', '--help'], ['--version'], ['simulate', '--config', 'p.yaml', 'log'], ['explain']), ids=' '.join)
def test_lost_output_is_a_failure(tmp_path, arguments):
    (tmp_path / 'p.yaml').write_text(GOOD)
    (tmp_path / 'log').write_text('10.0.0.1 - - [10/Oct/2023:13:55:36 +0000] "GET / HTTP/1.1" 200 1\n')
    with open('/dev/full', 'w') as full:
        result = run(tmp_path, *arguments, stdin='RateLimit: "a";r=1\n', capture_output=False, stdout=full,
                     stderr=subprocess.PIPE)
    assert result.returncode == 1
    assert re.search('^headgate: standard output cannot be written(: No space left on device)?$', result.stderr, re.M)


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
    [], ['check'], ['check', '--frobnicate', 'a'], ['gateway'], ['simulate'],
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
    assert ('check, completion, explain, fetch, gateway, help, override, peek, reset, schema, serve, simulate, top, why'
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
