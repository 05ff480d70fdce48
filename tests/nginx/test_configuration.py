"""The output of nginx -t, and what it leaves alone."""
import os
import subprocess

import pytest

from support.policies import FIVE, ONE, policies, policy


def test_faults_of_the_policy_file_have_their_place(nginx):
    server = nginx(policies(policy(quota=-1), policy('b', mode='loud')), run=False)
    accepted, said = server.test()
    assert not accepted
    assert f'{server.directory}/headgate.yaml:4:12: ' in said
    assert f'{server.directory}/headgate.yaml:9:11: ' in said  # every fault, not only the first


@pytest.mark.parametrize('gate, complaint', [
    ('headgate on;', '"headgate on" needs "headgate_config FILE"'),
    ('headgate_unbuffered_events on;', '"headgate_unbuffered_events on" needs "headgate_config FILE"'),
    ('headgate_connections_per_address 9;', '"headgate_connections_per_address" needs "headgate_config FILE"'),
    ('headgate_config none.yaml;', 'none.yaml'),
    ('headgate_config;', 'invalid number of arguments'),
    ('headgate_config headgate.yaml; headgate_config headgate.yaml;', 'is duplicate'),
    ('headgate_config headgate.yaml; headgate maybe;', 'it must be "on" or "off"'),
    ('headgate_config headgate.yaml; headgate_memory much;', 'expected a size'),
    ('headgate_config headgate.yaml; headgate_memory 0;', 'expected a size'),
    ('headgate_config headgate.yaml; headgate_memory 1k;', 'memory'),
    ('headgate_config headgate.yaml; headgate_memory 1m nowhere/file;', 'nowhere/file'),
    ('headgate_config headgate.yaml; headgate_memory 1m; headgate_memory 1m;', 'is duplicate'),
])
def test_refused(nginx, gate, complaint):
    accepted, said = nginx(ONE, gate=gate, run=False).test()
    assert not accepted and complaint in said and '[emerg]' in said


def test_accepted(nginx):
    server = nginx(ONE, run=False, server='location /m { headgate off; headgate_metrics; }',
                   gate='headgate_memory 1m; headgate_dry_run on; headgate on; '
                        'headgate_config headgate.yaml;')
    accepted, said = server.test()
    assert accepted, said


def test_testing_does_not_disturb_the_running_table(nginx):
    server = nginx(FIVE, gate='headgate_config headgate.yaml; headgate on; '
                              'headgate_memory 1m table;',
                   server='location / { return 200; }')
    assert server.request().r == 4
    assert server.test()[0]
    assert server.request().r == 3


@pytest.mark.parametrize('arguments', [['-t'], ['-s', 'reopen']], ids=['a test', 'a signal'])
def test_what_only_reads_the_configuration_allocates_no_table(nginx, arguments):
    """The machine may have no room for a second one."""
    server = nginx(ONE)
    server.write(gate='headgate_config headgate.yaml; headgate on; headgate_memory 1g;')
    process = subprocess.Popen(server.command(*arguments), env=server.environment, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert usage.ru_maxrss < 500_000  # [KiB]


@pytest.mark.parametrize('arguments', [['-t'], ['-s', 'reopen']], ids=['a test', 'a signal'])
def test_what_only_reads_the_configuration_changes_no_table(nginx, arguments):
    gate = 'headgate_config headgate.yaml; headgate on; headgate_memory %s table;'
    server = nginx(ONE, gate=gate % '1m')
    server.write(gate=gate % '4m')
    subprocess.run(server.command(*arguments), env=server.environment, stderr=subprocess.DEVNULL, check=True)
    assert (server.directory / 'table').stat().st_size == 1 << 20


def test_a_foreign_file_is_refused_and_left_alone(nginx):
    server = nginx(ONE, run=False,
                   gate='headgate_config headgate.yaml; headgate_memory 1m foreign;')
    foreign = server.directory / 'foreign'
    foreign.write_bytes(b'not a table' * 1000)
    accepted, said = server.test()
    assert not accepted and str(foreign) in said
    assert foreign.read_bytes() == b'not a table' * 1000
