"""What tests of the gateway share."""
import pathlib
import shutil
import tempfile

import pytest

from support.gateway import Echo, Gateway

WIDE = 'version: 1\npolicies: [{name: wide, quota: 1000, window: 1h}]\n'


@pytest.fixture
def directory():
    """A directory that every user can enter; that of pytest is for one user."""
    path = pathlib.Path(tempfile.mkdtemp(prefix='headgate-test-'))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def upstream():
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def gateway(directory, upstream):
    """gateway(policies, ...) starts a gateway in front of the upstream."""
    started = []

    def start(policies=WIDE, *arguments, url=None, **options):
        started.append(Gateway(directory, policies, url or upstream.url, *arguments, **options))
        return started[-1]
    yield start
    for one in started:
        one.end()


@pytest.fixture
def fails(gateway):
    """fails(...) starts a gateway that has to end with a fault. Returns its status and its errors."""
    def start(*arguments, **options):
        one = gateway(*arguments, wait=False, **options)
        status = one.wait()
        said = '\n'.join(one.errors.rest())
        assert one.output.rest() == []
        assert one.left_behind() == []
        return status, said
    return start
