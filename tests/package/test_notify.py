"""What the units' Type=notify needs: each program tells when it serves, reloads and stops."""
import contextlib
import signal
import time

import pytest

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
        yield server.process, server.policy_file
    finally:
        server.kill()


@contextlib.contextmanager
def gateway(directory, *arguments):
    with contextlib.closing(Echo()) as upstream:
        server = Gateway(directory, POLICIES, upstream.url, *arguments)
        try:
            yield server.process, server.policy_file
        finally:
            server.end()


@pytest.mark.parametrize('start', (serve, gateway))
def test_start_reload_refusal_and_stop(start, manager, tmp_path):
    with start(tmp_path) as (process, policy_file):
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


def seconds_to_stop(manager, process):
    """For how long the service manager is asked not to kill a process that is told to stop."""
    assert manager.next() == READY
    process.send_signal(signal.SIGTERM)
    stopping = manager.next()
    assert stopping['STOPPING'] == '1'
    return int(stopping['EXTEND_TIMEOUT_USEC']) / 1e6


# systemd kills what takes longer to stop than TimeoutStopSec=, which is 90 s by default.

def test_a_stop_of_the_gateway_has_the_time_to_drain(manager, tmp_path):
    with gateway(tmp_path, '--drain', '10m') as (process, _):
        assert 600 < seconds_to_stop(manager, process) < 700


def test_a_stop_of_the_server_has_the_time_of_those_who_wait(manager, tmp_path):
    delayed = POLICIES.replace('window: 1m', 'window: 1m, delay: 60s')
    with serve(tmp_path, delayed, arguments=('--request-timeout', '120')) as (process, _):
        assert 180 < seconds_to_stop(manager, process) < 200
