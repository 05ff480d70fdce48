"""The table on 64-bit ARM: cross-compiled, and run with qemu. `./dev test --for arm64` does so with everything.

qemu runs each thread's accesses in the order of x86-64. So this tests the instructions, and not the order of
memory: docs/memory-order.md says what does.
"""
import concurrent.futures
import os
import platform
import re
import shutil
import subprocess

import pytest

from support.environment import ROOT

COMPILER = 'aarch64-linux-gnu-g++'
GOOGLETEST = '/usr/src/googletest/googletest'
SOURCES = ('base/random.cc', 'limit/*.cc', 'store/*.cc')
TESTS = ('processor', 'cell', 'table_race', 'table_kill')
# One without casp, and one with everything that qemu has.
PROCESSORS = ('cortex-a57', 'max')

MISSING = [program for program in (COMPILER, 'qemu-aarch64') if shutil.which(program) is None]
pytestmark = [
    pytest.mark.skipif(platform.machine() != 'x86_64', reason='the other tests run on ARM itself'),
    pytest.mark.skipif(bool(MISSING), reason=f'{MISSING} is missing; ./dev deps test installs it'),
]


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False, **options)
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope='module', name='program')
def fixture_program(tmp_path_factory):
    folder = tmp_path_factory.mktemp('arm64')
    rooms = ROOT / 'headgate'
    sources = [file for pattern in SOURCES for file in sorted(rooms.glob(pattern))
               if not file.stem.endswith('_test')]
    sources += [rooms / f'store/{name}_test.cc' for name in TESTS]
    sources += [f'{GOOGLETEST}/src/gtest-all.cc', f'{GOOGLETEST}/src/gtest_main.cc']

    def compile_one(numbered):
        number, source = numbered
        output = folder / f'{number}.o'
        run('ccache', COMPILER, '-std=c++20', '-O1', '-DNDEBUG', f'-I{ROOT}', f'-I{GOOGLETEST}', '-c', source,
            '-o', output)
        return output

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, enumerate(sources)))
    program = folder / 'table_test'
    run(COMPILER, *objects, '-o', program)
    return program


@pytest.mark.parametrize('processor', PROCESSORS)
def test_the_table_keeps_its_promises(program, processor):
    output = run('qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', program,
                 env={**os.environ, 'QEMU_CPU': processor})
    assert 'Processor.NoSwapIsLostWhateverTheForms' in output
    assert 'FAILED' not in output


def test_the_instructions_are_those_that_the_orders_need(program):
    """The argument of docs/memory-order.md is about these."""
    code = run('aarch64-linux-gnu-objdump', '-d', '--no-show-raw-insn', program)
    swaps = re.findall(r'\tcaspa?l?\t', code)
    assert swaps and set(swaps) == {'\tcaspal\t'}
    after_loads = code.split('\tldaxp\t')[1:]
    assert after_loads
    for after in after_loads:
        names = [line.split('\t')[1].strip() for line in after.splitlines()[1:8]]
        assert names == ['cmp', 'ccmp', 'cset', 'b.ne', 'stlxp', 'cbnz', 'dmb']
    assert '\tldapr\t' not in code
