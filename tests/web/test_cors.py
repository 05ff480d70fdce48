"""A page of another origin, in a real browser, reads the fields by fetch()."""
import pathlib
import shutil
import tempfile

import pytest

from support.gateway import Gateway
from support.raw_server import RawServer, Upstream, response

POLICIES = 'version: 1\npolicies: [{name: burst, quota: 10, window: 1h}]\n'
PAGE = response(200, [('Content-Type', 'text/html')], b'<!doctype html><title>an app</title>')
NAMES = 'RateLimit', 'RateLimit-Policy', 'X-Own'


def api(method, *_):
    """An upstream that pages of every origin may use, with a header of their own."""
    shared = [('Access-Control-Allow-Origin', '*')]
    if method == 'OPTIONS':
        return 204, [*shared, ('Access-Control-Allow-Headers', 'x-api-key'), ('Access-Control-Max-Age', '0')], b''
    return 200, [*shared, ('Access-Control-Expose-Headers', 'X-Own'), ('X-Own', 'mine')], b'ok'


@pytest.fixture
def fetched(browser):
    """fetched(settings) returns what a page reads of a response that needs a preflight."""
    def fetch(settings):
        directory = pathlib.Path(tempfile.mkdtemp(prefix='headgate-test-'))
        directory.chmod(0o755)
        with RawServer(lambda *_: PAGE) as app, Upstream(api) as upstream:
            gateway = Gateway(directory, POLICIES + settings, f'http://127.0.0.1:{upstream.port}')
            try:
                browser.driver.get(app.url)
                read = browser.driver.execute_async_script(
                    'const [url, names, done] = arguments;'
                    'fetch(url, {headers: {"X-Api-Key": "a"}}).then('
                    'r => done(names.map(name => r.headers.get(name))), e => done([String(e)]))',
                    f'http://127.0.0.1:{gateway.port}/', NAMES)
            finally:
                gateway.end()
                shutil.rmtree(directory)
            assert [method for method, _ in upstream.requests] == ['OPTIONS', 'GET']
            return read
    return fetch


def test_what_is_exposed_and_preflights_are_free(fetched):
    read = fetched('cors: {expose-headers: true, preflights: free}\n')
    assert read == ['"burst";r=9;t=3240', '"burst";q=10;w=3600', 'mine']


def test_preflights_count_by_default(fetched):
    assert fetched('cors: {expose-headers: true}\n')[0].startswith('"burst";r=8;')


def test_nothing_is_exposed_by_default(fetched):
    assert fetched('') == [None, None, 'mine']
