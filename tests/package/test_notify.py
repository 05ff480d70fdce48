"""What the units' Type=notify needs: each program tells when it serves, reloads and stops."""
import contextlib
import pathlib
import signal
import time

import pytest

from support.environment import PATIENCE
from support.gateway import Echo, Gateway
from support.serve import POLICIES, Serve
from support.service_manager import ServiceManager

BAD = 'version: 1\npolicies: [{name: wide, quota: many, window: 1h}]\n'
READY = {'READY': '1'}


@pytest.fixture
def manager(tmp_path, monkeypatch):
    with contextlib.closing(ServiceManager(tmp_path)) as manager:
        monkeypatch.setenv('NOTIFY_SOCKET', manager.address)
        yield manager


@contextlib.contextmanager
def serve(directory, *arguments, **options):
    server = Serve(directory, *arguments, **options)
    try:
        yield server.process, server.policy_file, server.log
    finally:
        server.kill()


@contextlib.contextmanager
def gateway(directory, *arguments):
    with contextlib.closing(Echo()) as upstream:
        server = Gateway(directory, POLICIES, upstream.url, *arguments)
        try:
            yield server.process, server.policy_file, server.errors
        finally:
            server.end()


@pytest.mark.parametrize('start', (serve, gateway))
def test_start_reload_refusal_and_stop(start, manager, tmp_path):
    with start(tmp_path) as (process, policy_file, _):
        assert manager.next() == READY
        for policies in (POLICIES, BAD):
            policy_file.write_text(policies)
            before = time.monotonic_ns() // 1000
            process.send_signal(signal.SIGHUP)
            reloading = manager.next()
            assert reloading['RELOADING'] == '1'
            assert before <= int(reloading['MONOTONIC_USEC']) <= time.monotonic_ns() // 1000
            assert manager.next() == READY
        process.send_signal(signal.SIGTERM)
        assert manager.next()['STOPPING'] == '1'


@pytest.mark.parametrize('start', (serve, gateway))
def test_messages_that_fail_are_logged_once_until_one_succeeds(start, manager, tmp_path):
    """Without READY=1, systemd ends a process that works; its log then has the reason."""
    address, elsewhere = pathlib.Path(manager.address), tmp_path / 'elsewhere'
    address.rename(elsewhere)
    with start(tmp_path) as (process, _, log):
        log.until(r"can't send READY=1 to the service manager \(NOTIFY_SOCKET\): No such file or directory")
        process.send_signal(signal.SIGHUP)
        log.until('in force now|reloaded')
        elsewhere.rename(address)
        process.send_signal(signal.SIGHUP)
        while 'RELOADING' not in manager.next():
            pass  # the first reload may be ready only now
        assert manager.next() == READY
        address.rename(elsewhere)
        process.send_signal(signal.SIGTERM)
        log.until(r"can't send STOPPING=1 to the service manager \(NOTIFY_SOCKET\): No such file or directory")
        assert process.wait(PATIENCE) == 0
        assert len([line for line in log.rest() if 'service manager' in line]) == 2


def seconds_to_stop(manager, process):
    """For how long the service manager is asked not to kill a process that is told to stop."""
    assert manager.next() == READY
    process.send_signal(signal.SIGTERM)
    stopping = manager.next()
    assert stopping['STOPPING'] == '1'
    return int(stopping['EXTEND_TIMEOUT_USEC']) / 1e6


# systemd kills what takes longer to stop than TimeoutStopSec=, which is 90 s by default.

def test_a_stop_of_the_gateway_has_the_time_to_drain(manager, tmp_path):
    with gateway(tmp_path, '--drain', '10m') as (process, *_):
        assert 600 < seconds_to_stop(manager, process) < 700


def test_a_stop_of_the_server_has_the_time_of_those_who_wait(manager, tmp_path):
    delayed = POLICIES.replace('window: 1m', 'window: 1m, delay: 60s')
    with serve(tmp_path, delayed, arguments=('--request-timeout', '120')) as (process, *_):
        assert 180 < seconds_to_stop(manager, process) < 200
