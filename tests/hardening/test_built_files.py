"""The built files have the protections that docs/decisions/0015-compiled-defensively.md lists."""
import json
import pathlib
import re
import subprocess

import pytest

from support.environment import BUILD, HEADGATE, LIBRARY, MODULE, REDIS_MODULE
from support.processes import find_program

BUILT = {'command': HEADGATE, 'module': MODULE, 'module of Redis': REDIS_MODULE, 'library': LIBRARY}


def readelf(*arguments):
    return subprocess.run(['readelf', '--wide', *map(str, arguments)], check=True, text=True,
                          capture_output=True).stdout


def is_for_arm():
    return 'AArch64' in readelf('--file-header', LIBRARY)


def protections(file):
    """The protections that a linked file shows."""
    text = readelf('--file-header', '--program-headers', '--dynamic', file)
    imports = readelf('--dyn-syms', file)
    writable_code = [line for line in text.splitlines() if re.search(r'\bRWE\b', line)]
    found = {
        'any address': re.search(r'Type:\s+DYN', text),
        'read-only relocations': 'GNU_RELRO' in text,
        'bound at start': re.search(r'BIND_NOW|Flags:.*\bNOW\b', text),
        'no writable code': not writable_code and 'TEXTREL' not in text,
        'no search path': not re.search(r'\((RPATH|RUNPATH)\)', text),
        'stack protector': '__stack_chk_fail' in imports,
    }
    return {name for name, is_there in found.items() if is_there}


def fortified(file):
    return set(re.findall(r'\b(__(?!stack)\w+_chk)@', readelf('--dyn-syms', file)))


@pytest.mark.parametrize('name', BUILT)
def test_a_built_file_has_every_protection(name):
    assert protections(BUILT[name]) == {
        'any address', 'read-only relocations', 'bound at start', 'no writable code',
        'no search path', 'stack protector'}


def test_the_module_is_no_weaker_than_nginx_itself():
    assert protections(find_program('nginx')) <= protections(MODULE)


def test_the_command_checks_the_sizes_of_copies():
    assert fortified(HEADGATE)


def test_every_file_of_the_rooms_is_compiled_with_the_protections():
    commands = json.loads(pathlib.Path(BUILD, 'compile_commands.json').read_text())
    # Tests are compiled without optimisation, and are not installed.
    ours = [command['command'] for command in commands
            if re.search(r' -o headgate/\w+/CMakeFiles/headgate_(?!vectors)\w+\.dir/(?!testing/)',
                         command['command'])]
    assert len(ours) > 100
    for wanted in ('-D_FORTIFY_SOURCE=3', '-fstack-protector-strong', '-fstack-clash-protection',
                   '-mbranch-protection=standard' if is_for_arm() else '-fcf-protection'):
        assert [command for command in ours if wanted not in command] == []


def test_every_object_of_the_rooms_is_marked_for_control_flow_enforcement():
    """The linked files are not: Debian's own start files have no mark."""
    mark = 'AArch64 feature: BTI, PAC' if is_for_arm() else 'x86 feature: IBT, SHSTK'
    archives = sorted(pathlib.Path(BUILD, 'headgate').glob('*/lib*.a'))
    assert len(archives) >= 9
    for archive in archives:
        unmarked = []
        for member in readelf('--notes', archive).split('File: ')[1:]:
            if mark not in member:
                unmarked.append(member.splitlines()[0])
        assert unmarked == []


def test_a_file_without_protections_is_seen(tmp_path):
    source = tmp_path / 'weak.c'
    source.write_text('int main(void) { char text[64]; return __builtin_snprintf(text, 64, "") + 1; }')
    weak = tmp_path / 'weak'
    subprocess.run(['gcc', '-O2', '-fno-stack-protector', '-fno-pie', '-no-pie', '-U_FORTIFY_SOURCE',
                    '-Wl,-z,norelro,-z,lazy,-z,execstack', '-Wl,-rpath,/tmp', source, '-o', weak],
                   check=True)
    assert protections(weak) == set()
    assert not fortified(weak)
