"""Fixtures that several tests of the decision server use."""
import shutil

import pytest

from support.certificates import Authority


@pytest.fixture(scope='module')
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp('certificates'))


@pytest.fixture
def files(authority, tmp_path):
    """A server's certificate and key, to be replaced by the test."""
    return [shutil.copy(file, tmp_path) for file in authority.sign('server')]
