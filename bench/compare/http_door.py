#!/usr/bin/python3
"""The HTTP door of the decision server beside nginx: what an answer costs, and what asking costs.

    http_door.py --build build/release [--rounds 5] [--seconds 5]

The method is described in docs/benchmarks.md.
"""
import contextlib
import http.client
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import alone  # noqa: E402
import machine  # noqa: E402
import nginx  # noqa: E402

CONNECTIONS = 64

POLICY = '''version: 1
policies:
  - {name: burst, quota: 1000000, window: 100w, key: ["query:k"]}
'''

PLAIN = nginx.COMMON + 'http {{' + nginx.HTTP + '''
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return {answer}; }} }}
}}
'''

ASKING = nginx.COMMON + 'http {{' + nginx.HTTP + '''
  upstream judge {{
    server 127.0.0.1:{judge};
    keepalive 128; keepalive_requests 1000000000; keepalive_timeout 3600s;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      auth_request /judge;
      auth_request_set $ratelimit $upstream_http_ratelimit;
      auth_request_set $ratelimit_policy $upstream_http_ratelimit_policy;
      add_header RateLimit-Policy $ratelimit_policy;
      add_header RateLimit $ratelimit;
      empty_gif;
    }}
    location = /judge {{
      internal;
      proxy_pass http://judge/auth?deny=403;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header X-Forwarded-Method $request_method;
      proxy_set_header X-Forwarded-Uri $request_uri;
      proxy_set_header X-Forwarded-Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
    }}
  }}
}}
'''


class Bench:
    """Servers on one processor, wrk on another, until the end of the with statement."""

    def __init__(self, headgate, say):
        self.headgate, self.say = headgate, say

    def __enter__(self):
        self.server_core, self.load_core = machine.two_cores()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='headgate-bench-'))
        (self.directory / 't').mkdir()
        (self.directory / 'policies.yaml').write_text(POLICY)
        self.running = []
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.wait()
        shutil.rmtree(self.directory)

    def spawn(self, command, core, **options):
        process = subprocess.Popen(['taskset', '-c', str(core), *map(str, command)],
                                   start_new_session=True, **options)
        self.running.append(process)
        return process

    def start_nginx(self, name, template, **values):
        """Returns its port."""
        [port] = nginx.free_ports(1)
        (self.directory / f'{name}.conf').write_text(
            template.format(name=name, user=nginx.user(), port=port, **values))
        self.wait(self.spawn([nginx.program('nginx'), '-p', f'{self.directory}/', '-e',
                              f'{name}.log', '-c', f'{name}.conf'], self.server_core,
                             stderr=subprocess.DEVNULL), port)
        return port

    def start_headgate(self):
        """Returns its port."""
        [port] = nginx.free_ports(1)
        self.wait(self.spawn([self.headgate, 'serve', '--config', self.directory / 'policies.yaml',
                              '--threads', '1', '--http', f'127.0.0.1:{port}'], self.server_core,
                             stderr=subprocess.DEVNULL), port)
        return port

    def wait(self, process, port):
        deadline = time.monotonic() + nginx.PATIENCE
        while not nginx.answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f'{process.args[3]} did not start')
            time.sleep(0.02)

    def load(self, port, kind, seconds, connections=CONNECTIONS, delay=None):
        """Runs wrk; returns (answers a second, p99 [us])."""
        wrk = subprocess.run(
            ['taskset', '-c', str(self.load_core), nginx.program('wrk'), '-t1', f'-c{connections}',
             f'-d{seconds}s', '-s', HERE / 'http_door.lua', f'http://127.0.0.1:{port}', '--', kind,
             *([str(delay)] if delay else [])], capture_output=True, text=True)
        last = (wrk.stdout.strip().splitlines() or [''])[-1]
        if wrk.returncode != 0 or not last.startswith('{'):
            raise RuntimeError(f'wrk failed:\n{wrk.stdout}{wrk.stderr}')
        said = json.loads(last)
        if said['broken'] or said['refused']:
            raise RuntimeError(f'{kind}: {said["broken"]} broken connections, {said["refused"]} '
                               f'answers that were not 200')
        return said['requests'] / (said['microseconds'] * 1e-6), said['p99']


class Variant:
    def __init__(self, name, port, kind='plain'):
        self.name, self.port, self.kind = name, port, kind
        self.samples = []

    def median(self, index):
        return statistics.median(sample[index] for sample in self.samples)

    def ratio(self, base):
        return statistics.median(a[0] / b[0] for a, b in zip(self.samples, base.samples))

    def check(self):
        """That it does what it is measured for."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=5)
        with contextlib.closing(connection):
            if self.kind == 'decide':
                connection.request('POST', '/v1/decide',
                                   '{"checks":[{"policy":"burst","key":"check"}]}')
            else:
                connection.request('GET', '/auth' if self.kind == 'auth' else '/?k=check')
            response = connection.getresponse()
            body = response.read()
        told = response.headers['RateLimit'] or (self.kind == 'decide' and b'"RateLimit"' in body)
        if response.status not in (200, 204) or ('headgate' in self.name and not told):
            raise RuntimeError(f'{self.name} answered {response.status} without RateLimit')


def take_turns(bench, variants, rounds, seconds):
    for variant in variants:
        variant.check()
        bench.load(variant.port, variant.kind, 1)  # every key has state, every buffer its size
    for number in range(rounds):
        for variant in variants if number % 2 == 0 else variants[::-1]:
            variant.samples.append(bench.load(variant.port, variant.kind, seconds))
    base = variants[0]
    bench.say(f'  {"":32}{"answers/s":>12}{"beside":>10}{"p99 us":>10}')
    for variant in variants:
        bench.say(f'  {variant.name:32}{variant.median(0):12,.0f}{variant.ratio(base):10.3f}'
                  f'{variant.median(1):10,.0f}')
    bench.say('')


def at_half(bench, variant, rounds, seconds):
    """p99 [us] at half of what it can do."""
    delay = 4  # [ms]
    wanted = variant.median(0) / 2
    connections = max(1, round(wanted * delay / 1000))
    samples = [bench.load(variant.port, variant.kind, seconds, connections, delay)
               for _ in range(rounds)]
    reached, p99 = (statistics.median(column) for column in zip(*samples))
    bench.say(f'  {variant.name}, {connections} connections that wait: {reached:,.0f} answers/s, '
              f'p99 {p99:,.0f} us')
    return p99


def compare(build, rounds, seconds, say):
    """Yields (met, what, reached, needed)."""
    say(machine.settle_network())
    with Bench(pathlib.Path(build) / 'bin/headgate', say) as bench:
        say(f'servers on processor {bench.server_core}, wrk with {CONNECTIONS} connections on '
            f'{bench.load_core}; {rounds} rounds of {seconds} s\n')
        headgate = bench.start_headgate()
        plain = Variant('nginx, return 200', bench.start_nginx(
            'plain', PLAIN, answer='200 "hello world\\n"'))
        auth = Variant('headgate, /auth', headgate, 'auth')
        decide = Variant('headgate, /v1/decide', headgate, 'decide')
        take_turns(bench, [plain, auth, decide], rounds, seconds)
        for variant in (auth, decide):
            ratio = variant.ratio(plain)
            yield ratio >= 0.6, f'{variant.name}, beside nginx return 200', f'{ratio:.3f}', '>= 0.60'

        yes = bench.start_nginx('yes', PLAIN, answer='204')
        to_nginx = Variant('auth_request of nginx', bench.start_nginx(
            'asks_nginx', ASKING, judge=yes))
        to_headgate = Variant('auth_request of headgate', bench.start_nginx(
            'asks_headgate', ASKING, judge=headgate))
        take_turns(bench, [to_nginx, to_headgate], rounds, seconds)
        ratio = to_headgate.ratio(to_nginx)
        yield (ratio >= 0.95, 'nginx asking headgate, beside asking an nginx that says 204',
               f'{ratio:.3f}', '>= 0.95')

        for variant in (auth, decide):
            p99 = at_half(bench, variant, rounds, seconds)
            yield (p99 < 1000, f'{variant.name}, p99 at half the maximum', f'{p99:,.0f} us',
                   '< 1000 us')


if __name__ == '__main__':
    alone.run('http_door.py', __doc__.splitlines()[0], compare)
