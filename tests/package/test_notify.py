"""What the units' Type=notify needs: each program tells when it serves, reloads and stops."""
import contextlib
import signal
import time

import pytest

from support.gateway import Echo, Gateway
from support.serve import POLICIES, Serve
from support.service_manager import ServiceManager

BAD = 'version: 1\npolicies: [{name: wide, quota: many, window: 1h}]\n'
READY, STOPPING = {'READY': '1'}, {'STOPPING': '1'}


@pytest.fixture
def manager(tmp_path, monkeypatch):
    with contextlib.closing(ServiceManager(tmp_path)) as manager:
        monkeypatch.setenv('NOTIFY_SOCKET', manager.address)
        yield manager


@contextlib.contextmanager
def serve(directory):
    server = Serve(directory)
    try:
        yield server.process, server.policy_file
    finally:
        server.kill()


@contextlib.contextmanager
def gateway(directory):
    with contextlib.closing(Echo()) as upstream:
        server = Gateway(directory, POLICIES, upstream.url)
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
        assert manager.next() == STOPPING
