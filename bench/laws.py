"""A long check that every algorithm keeps its promises, and a table of what each costs."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ALGORITHMS = ('linear', 'exponential', 'fixed-window', 'sliding-window-counter', 'moving-window',
              'concurrency')
MEASURED = r'^{}\b.* ([\d.]+) ns a decision, +([\d.]+) of linear, +(\d+) bytes a key$'
AGREED = re.compile(r'^([a-z-]+)[a-z ]*: (\d+) decisions agree$', re.M)


class Broken(RuntimeError):
    """A promise was not kept. The message says which, and how to repeat the test."""


def algorithm_of(test):
    """The algorithm of a test: the last part of the test's name begins with it."""
    name = test.rpartition('/')[2].replace('_', '-')
    return next((a for a in ALGORITHMS if name.startswith(a)), 'concurrency')


def run_tests(build, which, times=1):
    """Runs the tests of `limit` that match; returns {test: its recorded properties}."""
    with tempfile.TemporaryDirectory() as directory:
        report = pathlib.Path(directory) / 'report.json'
        done = subprocess.run(
            [build / 'bin/limit_test', f'--gtest_filter={which}', f'--gtest_output=json:{report}'],
            env={**os.environ, 'HEADGATE_SOAK': str(times)}, capture_output=True, text=True,
            check=False)
        if done.returncode != 0 or not report.exists():
            raise Broken(f'{which}:\n{done.stdout}{done.stderr}')
        suites = json.loads(report.read_text())['testsuites']
    return {f'{suite["name"]}/{test["name"].rpartition("/")[2]}': test
            for suite in suites for test in suite['testsuite']}


def honesty_tests(build):
    """Returns the names of the tests, one per kind of law."""
    listed = subprocess.run([build / 'bin/limit_test', '--gtest_list_tests',
                             '--gtest_filter=*Honesty*'], capture_output=True, text=True, check=True)
    suite, *tests = [line.split('#')[0].strip() for line in listed.stdout.splitlines()
                     if line.startswith(('All/', '  '))]
    return [suite + test for test in tests]


def soak(build, minutes, say):
    """Tests all kinds of laws, one per processor at a time, each for an equal share of the time."""
    tests = honesty_tests(build)
    processors = os.cpu_count() or 1
    share = minutes * 60 * processors / len(tests)
    say(f'{len(tests)} kinds of laws, about {share:.0f} s each: random policies, histories and '
        f'clients;\nafter every decision what r, t and Retry-After promise is tried out')

    def check(test):
        begin = time.monotonic()
        run_tests(build, test)
        times = max(1, round(share / max(time.monotonic() - begin, 0.01)))
        (result,) = run_tests(build, test, times).values()
        return test, int(result['decisions'])

    total = 0
    with concurrent.futures.ThreadPoolExecutor(processors) as pool:
        for done in concurrent.futures.as_completed([pool.submit(check, test) for test in tests]):
            try:
                test, decisions = done.result()
            except Broken as broken:
                pool.shutdown(cancel_futures=True)
                raise Broken(f'NOT HONEST: {broken}') from None
            total += decisions
            say(f'{test.rpartition("/")[2]:32} {decisions:>13,} decisions, every promise kept')
    say(f'\nHONEST: {total:,} decisions, and every promise was kept')


def compared_with_models(build, source):
    """Returns {algorithm: decisions that agree with the exact model}"""
    done = subprocess.run(
        [sys.executable, source / 'headgate/limit/testing/differential_test.py',
         build / 'bin/differential_laws'],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(done.stdout + done.stderr)
    agreed = dict.fromkeys(ALGORITHMS, 0)
    for name, decisions in AGREED.findall(done.stdout):
        agreed[name] += int(decisions)
    return agreed


def sums(tests, what):
    total = dict.fromkeys(ALGORITHMS, 0)
    for name, test in tests.items():
        total[algorithm_of(name)] += int(test[what])
    return total


def table(build, source, rounds, say):
    """Prints the table of docs/algorithms.md, in Markdown."""
    honest = sums(run_tests(build, '*Honesty*'), 'decisions')
    vectors = sums(run_tests(build, '*/Vectors.*'), 'steps')
    models = compared_with_models(build, source)
    obedient = {}
    for name, test in run_tests(build, '*Obedient.IsNeverDenied/*:ObedientToConcurrency.*').items():
        # The plain form of each algorithm comes first; its variants are only for the tests.
        obedient.setdefault(algorithm_of(name), test)
    measured = subprocess.run([build / 'bin/compare_table', str(rounds), 'laws'],
                              capture_output=True, text=True, check=True).stdout

    say('| algorithm | honest: decisions checked | exact: steps of vectors + decisions of a model | '
        'ns a decision | beside linear | bytes a key | greedy client | paced client |')
    say('| --- | --- | --- | --- | --- | --- | --- | --- |')
    for algorithm in ALGORITHMS:
        found = re.search(MEASURED.format(algorithm), measured, re.M)
        if found is None:
            raise RuntimeError(f'compare_table has not measured {algorithm}')
        ns, ratio, size = found.groups()
        client = obedient[algorithm]
        say(f'| {algorithm} | {honest[algorithm]:,} | {vectors[algorithm]:,} + '
            f'{models[algorithm]:,} | {ns} | '
            f'{ratio} | {size} | {client["greedy"]} | {client.get("paced", "-")} |')
