"""headgate fetch with real servers: none that sends fields denies it."""
import os
import pathlib

import pytest

from support.environment import HEADGATE
from support.real_servers import ALGORITHMS, EXPRESS_FORMS, Servers

QUOTA, WINDOW = 20, 1
COUNT = 45  # more than the quota


@pytest.fixture(scope='module')
def servers(tmp_path_factory):
    scratch = tmp_path_factory.mktemp('servers')
    scratch.chmod(0o755)
    scratch.parent.chmod(0o755)  # nginx's workers look into it
    with Servers(HEADGATE, scratch, QUOTA, WINDOW,
                 pathlib.Path(os.environ['HEADGATE_PEERS'])) as running:
        yield running


@pytest.mark.parametrize('parallel', [1, 16])
@pytest.mark.parametrize('server', [f'headgate, {name}' for name in ALGORITHMS] +
                         [f'express-rate-limit, {form}' for form in EXPRESS_FORMS])
def test_is_never_denied(fetch, servers, server, parallel):
    if server not in servers.urls:
        pytest.skip('; '.join(servers.missing.values()))
    urls = [f'{servers.urls[server]}/{i}' for i in range(COUNT)]
    got = fetch('--parallel', parallel, '--header', f'x-run: {parallel}', *urls)
    assert got.code == 0 and (got.fetched, got.denied) == (COUNT, 0), got
    assert got.out == b'ok\n' * COUNT


def test_a_server_that_tells_only_retry_after_is_got_through(fetch, servers):
    urls = [f'{servers.urls["429 and Retry-After"]}/{i}' for i in range(COUNT)]
    got = fetch('--parallel', 4, *urls)
    assert got.code == 0 and got.fetched == COUNT, got
    assert got.denied < COUNT / 2
