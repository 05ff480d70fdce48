"""`./dev module` builds the module for an nginx of any version and configuration, which loads it."""
import pathlib
import shutil
import subprocess

import pytest

from support.certificates import Authority
from support.environment import ROOT
from support.http3 import request as http3_request
from support.policies import FIVE

HELLO = 'location / { return 200 "hello"; }'
FAST = '--with-cc-opt=-O0'  # nginx itself is compiled faster, and sees the same structures
QUIC = ['--with-compat', '--with-threads', '--with-http_ssl_module', '--with-http_v2_module',
        '--with-http_v3_module', FAST]


class Built:
    """What ./dev module has built: nginx itself, if it was built, and a copy of the module."""

    def __init__(self, directory, nginx, *options):
        done = subprocess.run([ROOT / 'dev', 'module', '--nginx', nginx, *options], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=900)
        if done.returncode == 75:
            pytest.skip(done.stderr.splitlines()[-1])
        assert done.returncode == 0, done.stderr
        self.says = done.stdout.splitlines()
        file, what = self.says[0].split(': for nginx ')
        self.version, self.compat = what.split(' ', 1)
        self.module = pathlib.Path(shutil.copy(ROOT / file, directory))
        self.source = ROOT / 'build' / 'nginx' / self.version
        self.program = self.source / 'objs' / 'nginx'


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    """built(nginx, option...): the same ones are built once."""
    made = {}

    def build(*arguments):
        if arguments not in made:
            made[arguments] = Built(tmp_path_factory.mktemp('module'), *arguments)
        return made[arguments]
    return build


@pytest.fixture
def plain(built):
    return built('1.22', '--without-http-cache', FAST)


@pytest.fixture
def quic(built):
    return built('1.26', *QUIC)


def limits_and_reloads(server):
    for n in range(5):
        assert server.request().r == 4 - n
        server.reload()
    denied = server.request()
    assert denied.status == 429
    assert denied.one('RateLimit-Policy').startswith('"burst";q=5;w=')
    assert denied.one('RateLimit').startswith('"burst";r=0;t=')
    assert denied.one('Retry-After')
    assert denied.one('Content-Type') == 'application/problem+json'


def refused(nginx, program, module):
    accepted, why = nginx(FIVE, program=program, module=module, run=False).test()
    assert not accepted
    return why


def test_without_compat_threads_http2_and_caches(nginx, plain):
    assert plain.version.startswith('1.22.') and plain.compat == 'without --with-compat'
    assert plain.says[1] == f'{plain.program} loads it'
    limits_and_reloads(nginx(FIVE, server=HELLO, program=plain.program, module=plain.module))


def test_with_compat_threads_and_quic(nginx, quic):
    assert quic.version.startswith('1.26.') and quic.compat == 'with --with-compat'
    limits_and_reloads(nginx(FIVE, server=HELLO, main='thread_pool default threads=2;', http='aio threads;',
                             program=quic.program, module=quic.module))


def test_requests_over_http3_are_limited(nginx, quic, tmp_path):
    certificate, key = Authority(tmp_path).sign('server')
    gate = 'headgate_config headgate.yaml; headgate on; headgate_connections_per_address 2;'  # not streams
    server = nginx(FIVE, program=quic.program, module=quic.module, gate=gate, run=False)
    server.write(http=f'''server {{ listen 127.0.0.1:{server.other_port} quic;
                                    ssl_certificate {certificate}; ssl_certificate_key {key};
                                    location / {{ return 200 "$http3"; }} }}''')
    server.start()
    responses = http3_request(server.other_port, times=6)
    assert [headers[':status'] for headers in responses] == ['200'] * 5 + ['429']
    assert [headers['ratelimit'].split(';')[1] for headers in responses] == [
        'r=4', 'r=3', 'r=2', 'r=1', 'r=0', 'r=0']
    assert responses[5]['retry-after']
    assert server.request().status == 429  # the same quota as over HTTP/1.1


def test_the_newest_source(nginx, built, quic):
    newest = subprocess.run([ROOT / 'packaging' / 'nginx_source', 'newest'], capture_output=True, text=True)
    if pathlib.Path(newest.stdout.strip()) == quic.source:
        pytest.skip(f'{quic.version}, which is tested above; {newest.stderr.strip()}')
    one = built('newest')
    assert one.compat == 'with --with-compat'
    limits_and_reloads(nginx(FIVE, server=HELLO, program=one.program, module=one.module))


def test_a_folder_with_sources_and_one_with_headers(plain, built, tmp_path):
    configured = built(plain.source)
    assert configured.compat == 'without --with-compat'
    for folder in ('src', 'objs'):
        shutil.copytree(plain.source / folder, tmp_path / folder, ignore=lambda _, names: [
            name for name in names if name.endswith('.c') or name == 'win32' or name == 'nginx'])
    headers = built(tmp_path)
    assert plain.module.read_bytes() == configured.module.read_bytes() == headers.module.read_bytes()


def test_the_wrong_module_is_refused(nginx, plain, quic, built):
    compat = built(plain.source, '--with-compat')
    assert (compat.version, compat.compat) == (plain.version, 'with --with-compat')
    assert 'is not binary compatible' in refused(nginx, plain.program, compat.module)
    number = '{}{:0>3}{:0>3}'.format
    assert (f'version {number(*quic.version.split("."))} instead of {number(*plain.version.split("."))}'
            in refused(nginx, plain.program, quic.module))


def test_what_debian_does_not_have(built):
    done = subprocess.run([ROOT / 'dev', 'module', '--nginx', '0.5'], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    if done.returncode == 75:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 1 and 'Debian has no nginx "0.5", but 1.' in done.stderr
