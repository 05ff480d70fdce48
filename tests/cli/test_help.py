"""headgate help, --version, completion, and the manual pages."""
import os
import re
import shutil
import subprocess

import pytest

from support.environment import HEADGATE, PATIENCE

COMMANDS = ('gateway', 'serve', 'check', 'simulate', 'explain', 'fetch', 'top', 'peek', 'reset', 'why',
            'override', 'schema', 'help', 'completion')


def test_help_of_a_command_is_its_help_option(headgate):
    for command in COMMANDS:
        assert headgate('help', command).stdout == headgate(command, '--help').stdout
    assert headgate('help').stdout == headgate('--help').stdout


def test_help_of_an_unknown_command_lists_the_commands(headgate):
    result = headgate('help', 'sreve')
    assert (result.returncode, result.stdout) == (2, '')
    assert result.stderr == ('headgate help: there is no command "sreve"; did you mean serve? The commands are '
                             + ', '.join(sorted(COMMANDS)) + '\n')


def test_the_version_names_commit_and_libraries(headgate):
    first, second = headgate('--version').stdout.splitlines()
    assert re.fullmatch(r'headgate \d+\.\d+\.\d+( \(commit [0-9a-f]{12}\+?\))?', first)
    assert re.match(r'built with GNU \d+\.\d+\.\d+, Boost 1\.\d+\.\d+, absl_time \d+, libcurl \d+\.\d+', second)


@pytest.mark.parametrize('command', COMMANDS)
def test_every_option_needs_its_value(headgate, command):
    """An empty one is that of a variable that is not set; the next option is that without quotes."""
    values = re.findall(r'^ +(--?[a-z-]+) [A-Z]+(?![a-z])', headgate(command, '--help').stdout, re.M)
    for option in set(values) - {'--reason'}:
        for value in '', '--other=1':
            done = headgate(command, option, value)
            assert done.returncode == 2 and done.stderr.startswith(f'headgate {command}: {option}: '), (option, done)


def options_of(headgate, command):
    return set(re.findall(r'^ +(--?[a-z-]+)', headgate(command, '--help').stdout, re.M)) | {'-h', '--help'}


def bash(script, words, tmp_path):
    line = ' '.join(f"'{word}'" for word in words)
    done = subprocess.run(['bash', '-c', f'''{script}
COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}
_headgate; printf '%s\\n' "${{COMPREPLY[@]}}"'''], capture_output=True, text=True, check=True,
                          cwd=tmp_path, timeout=PATIENCE)
    assert done.stderr == ''
    return set(done.stdout.split())


def fish(script, words, tmp_path):
    (tmp_path / 'headgate.fish').write_text(script)
    done = subprocess.run(['fish', '--no-config', '-c', 'source headgate.fish; complete -C "$argv"',
                           ' '.join(words)], capture_output=True, text=True, check=True,
                          cwd=tmp_path, timeout=PATIENCE, env=os.environ | {'HOME': str(tmp_path)})
    return {line.split('\t')[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize('shell', (bash, fish))
def test_completion(headgate, shell, tmp_path):
    if shutil.which(shell.__name__) is None:
        pytest.skip(f'{shell.__name__} is not installed')
    script = headgate('completion', shell.__name__).stdout

    def candidates(*words):
        return shell(script, ['headgate', *words], tmp_path)

    assert candidates('s') == {'serve', 'simulate', 'schema'}
    assert set(COMMANDS) <= candidates('')
    for command in COMMANDS:
        assert options_of(headgate, command) - {'-h', '-n'} <= candidates(command, '--'), command
    assert candidates('serve', '--log', '') == {'text', 'json'}
    assert candidates('fetch', '--mode', 'g') == {'greedy'}
    assert candidates('completion', '') >= {'bash', 'zsh', 'fish'}
    assert candidates('help', 'f') >= {'fetch'}
    (tmp_path / 'policies.yaml').touch()
    assert candidates('serve', '--config', 'pol') == {'policies.yaml'}
    assert candidates('check', 'pol') == {'policies.yaml'}


def test_completion_for_zsh_can_be_read(headgate, tmp_path):
    if shutil.which('zsh') is None:
        pytest.skip('zsh is not installed')
    (tmp_path / '_headgate').write_text(headgate('completion', 'zsh').stdout)
    done = subprocess.run(['zsh', '-f', '-c', '''fpath=($PWD $fpath)
autoload -U compinit && compinit -u -d dump && print -r -- $_comps[headgate] && zsh -n _headgate'''],
                          capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, '_headgate\n', '')


def test_an_unknown_shell_is_refused(headgate):
    result = headgate('completion', 'csh')
    assert result.returncode == 2
    assert 'csh' in result.stderr and 'bash' in result.stderr


@pytest.mark.parametrize('command', ('', *COMMANDS))
def test_manual_pages(headgate, command, tmp_path):
    page = headgate('help', '--man', *filter(None, [command]))
    assert (page.returncode, page.stderr) == (0, '')
    shown = subprocess.run(['man', '--warnings', '-E', 'UTF-8', '-l', '-Tascii', '-'],
                           input=page.stdout, capture_output=True, text=True, timeout=PATIENCE,
                           env=os.environ | {'MANWIDTH': '100', 'LC_ALL': 'C.UTF-8'})
    assert (shown.returncode, shown.stderr) == (0, '')
    text = ' '.join(re.sub('.\b', '', shown.stdout).split())  # lines are justified
    assert ('headgate-' + command if command else 'headgate') + ' - ' in text
    if command:
        for option in options_of(headgate, command):
            assert option in text, option
    else:
        assert all(f'headgate-{name}' in text for name in COMMANDS)
