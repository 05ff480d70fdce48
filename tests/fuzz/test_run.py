"""fuzz/run with targets that only say that they ran; and a blind search that finds a fault."""
import subprocess

import pytest

from support import environment
from support.environment import ROOT

TARGET = '''#!/bin/sh
case "$*" in
*-merge=1*) cp "$3"/* "$2"; exit 0;;
esac
echo "$*" >> {home}/calls
case "$*" in
--blind*) [ {status} = 0 ] && echo "5000 runs"; exit {status};;
esac
for word; do case $word in */corpus/*) folder=$word; break;; esac; done
echo new > "$folder/new"
echo "stat::number_of_executed_units: 1200"
exit {status}
'''


@pytest.fixture
def fuzz(tmp_path):
    """Makes targets, {name: exit status}, and runs them: fuzz({'a': 0}, 1, '--keep')."""
    def run(targets, minutes, *arguments):
        (tmp_path / 'build/bin').mkdir(parents=True, exist_ok=True)
        for name, status in targets.items():
            program = tmp_path / 'build/bin' / f'fuzz_{name}'
            program.write_text(TARGET.format(home=tmp_path, status=status))
            program.chmod(0o755)
            (tmp_path / 'seeds' / name).mkdir(parents=True, exist_ok=True)
        return subprocess.run(
            [ROOT / 'fuzz/run', str(minutes), '--build', tmp_path / 'build', '--seeds',
             tmp_path / 'seeds', *arguments], text=True, capture_output=True, check=False)
    return run


def test_every_target_gets_an_equal_share_of_the_time(fuzz, tmp_path):
    assert fuzz({'a': 0, 'b': 0, 'c': 0}, 2).returncode == 0
    calls = (tmp_path / 'calls').read_text().splitlines()
    assert [call.split()[0] for call in calls] == ['-max_total_time=40'] * 3


def test_runs_are_added_up_over_all_searches(fuzz, tmp_path):
    fuzz({'a': 0}, 1)
    assert '2,400' in fuzz({'a': 0}, 1).stdout
    assert '7,400' in fuzz({'a': 0}, 1, '--blind', '--programs', tmp_path / 'build/bin').stdout
    assert (tmp_path / 'build/runs/a').read_text() == '7400\n'


def test_a_blind_search_leaves_out_what_has_made_its_runs(fuzz, tmp_path):
    (tmp_path / 'build/runs').mkdir(parents=True)
    (tmp_path / 'build/runs/a').write_text('999999999\n')
    (tmp_path / 'build/runs/b').write_text('1000000000\n')
    fuzz({'a': 0, 'b': 0}, 1, '--blind', '--programs', tmp_path / 'build/bin')
    calls = (tmp_path / 'calls').read_text().splitlines()
    assert [call.split()[:2] for call in calls] == [['--blind', '60']]


@pytest.mark.parametrize('fault', ['abort', 'recursion'])
def test_a_blind_search_writes_the_input_that_makes_its_target_fail(tmp_path, fault):
    """The target fails for an 'x' at the begin. No input of the corpus has one."""
    (tmp_path / 'seed').write_text('abc')
    result = subprocess.run(
        [f'{environment.BUILD}/bin/failing_target_{fault}', '--blind', '60', '1', tmp_path / 'failure',
         tmp_path / 'seed'],
        text=True, capture_output=True, check=False, timeout=60)
    assert result.returncode < 0
    assert (tmp_path / 'failure').read_bytes().startswith(b'x')


def test_a_failing_target_fails_the_run_and_the_others_still_run(fuzz, tmp_path):
    result = fuzz({'a': 77, 'b': 0}, 1)
    assert result.returncode == 1
    assert 'a FAILED' in result.stdout
    assert len((tmp_path / 'calls').read_text().splitlines()) == 2


def test_a_blind_search_that_ends_without_a_word_has_failed(fuzz, tmp_path):
    result = fuzz({'a': 134}, 1, '--blind', '--programs', tmp_path / 'build/bin')
    assert result.returncode == 1
    assert 'a FAILED' in result.stdout


def test_what_grows_the_corpus_is_kept(fuzz, tmp_path):
    fuzz({'a': 0}, 1)
    assert (tmp_path / 'build/corpus/a/new').exists()
    assert not list((tmp_path / 'seeds/a').iterdir())
    fuzz({'a': 0}, 1, '--keep')
    assert (tmp_path / 'seeds/a/new').exists()


def test_a_target_that_is_not_built_is_an_error(fuzz):
    result = fuzz({'a': 0}, 1, '--target', 'zz')
    assert result.returncode == 1
    assert 'expected targets in' in result.stderr
