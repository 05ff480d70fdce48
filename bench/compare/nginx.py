#!/usr/bin/python3
"""nginx as a reverse proxy: without a limiter, with its own limit_req, and with headgate.

    nginx.py --module build/release/modules/ngx_http_headgate_module.so [--rounds 30] [--seconds 1]

The method is described in docs/benchmarks.md.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import machine  # noqa: E402
from programs import Programs, answers, built, free_ports, program, wait_until  # noqa: E402
from samples import Meter, Sample, Turns, alternating  # noqa: E402

CONNECTIONS = 64
ROUNDS_A_LIFE = 10  # of the same processes: how their memory lies is each time another luck

# ---- configurations

COMMON = '''
{user} daemon off; worker_processes 1; pcre_jit on;
pid {name}.pid; error_log {name}.log error;
events {{ worker_connections 4096; use epoll; }}
'''

HTTP = '''
  access_log off; server_tokens off; default_type text/plain; tcp_nodelay on;
  keepalive_timeout 3600s; keepalive_requests 1000000000;
  client_body_temp_path t/1; proxy_temp_path t/2; fastcgi_temp_path t/3; uwsgi_temp_path t/4;
  scgi_temp_path t/5;
'''

BACKEND = COMMON + 'http {{' + HTTP + '''
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 "hello world\\n"; }} }}
}}
'''

# All variants are this, with directives of their own in three places.
PROXY = '{main}' + COMMON + 'http {{' + HTTP + '''
  {http}
  upstream backend {{
    server 127.0.0.1:{backend};
    keepalive 128; keepalive_requests 1000000000; keepalive_timeout 3600s;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      {location}
      proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection "";
    }}
  }}
}}
'''

# limit_req needs 128 bytes a key: 64 MiB would hold half a million, and evict for the rest.
LIMIT_REQ = '''
  limit_req_zone $arg_k zone=keys:256m rate={rate};
  limit_req_status 429; limit_req_log_level info;
'''

# A unit comes back in a minute, so that every key that was seen has state to keep, and no key is
# asked often enough to be denied.
ONE = '''
  - {name: burst, quota: 1000000, window: 100w, key: ["query:k"]}
'''
THREE = ONE + '''
  - {name: hourly, quota: 2000000, window: 100w, key: ["query:k"]}
  - {name: daily, quota: 4000000, window: 100w, key: ["query:k"]}
'''
NONE_LEFT = '''
  - {name: burst, quota: 1, window: 1d, key: ["query:k"]}
'''


class Variant:
    """An nginx to measure: directives for main, http and location, and perhaps a policy file."""

    def __init__(self, name, http='', location='', policies=''):
        self.name, self.http, self.location, self.policies = name, http, location, policies
        self.limits = bool(http or policies)

    def configure(self, directory, module, port, backend):
        main, http = '', self.http
        if self.policies:
            main = f'load_module {module};'
            http = f'headgate_config {self.name}.yaml; headgate_memory 64m; headgate on;'
            (directory / f'{self.name}.yaml').write_text(
                f'version: 1\nproblem-details: false\npolicies:{self.policies}')
        return PROXY.format(name=self.name, main=main, http=http, location=self.location,
                            user=user(), port=port, backend=backend)


PLAIN = Variant('plain')
# What it reaches of its twin tells how far equals differ on this machine.
TWIN = Variant('plain-2')
ADMITTED = [PLAIN, TWIN,
            Variant('limit_req', LIMIT_REQ.format(rate='1000000r/s'),
                    'limit_req zone=keys burst=1000000 nodelay;'),
            Variant('headgate-1', policies=ONE),
            Variant('headgate-3', policies=THREE)]
DENIED = [Variant('limit_req', LIMIT_REQ.format(rate='1r/m'), 'limit_req zone=keys;'),
          Variant('headgate-1', policies=NONE_LEFT)]


def user():
    return 'user root;' if os.geteuid() == 0 else ''


# ---- processes


def start(programs, name, configuration, port):
    """Runs nginx on the servers' processor, as one worker."""
    conf, log = (programs.directory / f'{name}.{kind}' for kind in ('conf', 'log'))
    (programs.directory / 't').mkdir(exist_ok=True)
    conf.write_text(configuration)
    process = programs.spawn([program('nginx'), '-p', f'{programs.directory}/', '-e', log.name,
                              '-c', conf.name], programs.server_core, stderr=subprocess.DEVNULL)
    children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
    # The master listens before it has a worker.
    wait_until(lambda: answers(port) and children.read_text(), process, log)
    programs.servers[name] = int(children.read_text().split()[0])


def load(programs, script, port, *arguments, connections=CONNECTIONS, seconds):
    """Runs wrk; returns what its script says."""
    output, errors = programs.load(
        [program('wrk'), '-t1', f'-c{connections}', f'-d{seconds}s', '-s', HERE / script,
         f'http://127.0.0.1:{port}/', '--', *arguments])
    last = (output.strip().splitlines() or [''])[-1]
    if not last.startswith('{'):
        raise RuntimeError(f'wrk failed:\n{output}{errors}')
    said = json.loads(last)
    if said.get('broken'):
        raise RuntimeError(f'{said["broken"]} broken connections or time-outs')
    return said


# ---- measuring


class Stage(Turns):
    """Variants that take turns, each in an nginx of its own."""

    def __init__(self, programs, module, variants, keys, denies):
        super().__init__(variant.name for variant in variants)
        self.programs, self.module = programs, module
        self.variants, self.keys, self.denies = variants, keys, denies

    def run(self, rounds, seconds):
        for number in range(rounds):
            life, turn = divmod(number, ROUNDS_A_LIFE)
            if turn == 0:
                self.programs.stop_all()
                first = life % len(self.variants)
                order = self.variants[first:] + self.variants[:first]
                self.start(order)
            self.round([variant.name for variant in alternating(order, number)],
                       lambda name: self.measure(name, seconds))
        self.programs.stop_all()

    def start(self, variants):
        backend, *ports = free_ports(1 + len(variants))
        start(self.programs, 'backend',
              BACKEND.format(name='backend', user=user(), port=backend), backend)
        self.ports = {}
        for variant, port in zip(variants, ports):
            conf = variant.configure(self.programs.directory, self.module, port, backend)
            start(self.programs, variant.name, conf, port)
            self.ports[variant.name] = port
            self.check(variant)
            if variant.limits:
                self.touch(variant.name)

    def check(self, variant):
        """That the variant does what it is measured for."""
        connection = http.client.HTTPConnection('127.0.0.1', self.ports[variant.name], timeout=5)
        with contextlib.closing(connection):
            for expected in (200, 429 if self.denies else 200):
                connection.request('GET', '/?k=check')
                response = connection.getresponse()
                body = response.read()
                if response.status != expected:
                    raise RuntimeError(f'{variant.name} answered {response.status}, '
                                       f'not {expected}')
        if not variant.policies:
            return
        wanted = ['RateLimit', 'RateLimit-Policy'] + ['Retry-After'] * self.denies
        missing = [name for name in wanted if response.headers[name] is None]
        if missing or (self.denies and body):
            raise RuntimeError(f'{variant.name} answered without {missing}, body {body!r}')

    def load(self, name, order, seconds):
        return load(self.programs, 'keys.lua', self.ports[name], self.keys, order, seconds=seconds)

    def touch(self, name):
        """Gives every key state. Takes as long as it takes."""
        self.load(name, 'each', 600)

    def measure(self, name, seconds):
        if self.denies:
            self.touch(name)  # limit_req forgets a denial after a minute
        with Meter(self.programs) as meter:
            said = self.load(name, 'random', seconds)
        count = said['requests']
        wrong = count - said['refused'] if self.denies else said['refused']
        return Sample(rate=count / (said['microseconds'] * 1e-6), disturbance=meter.disturbance,
                      cpu=meter.servers[name] / count * 1e6, p99=said['p99'],
                      load=said['cpu'] / (said['microseconds'] * 1e-6), wrong=wrong / count)

    def table(self):
        bases = ['plain', 'limit_req'] if PLAIN in self.variants else ['limit_req']
        head = ''.join(f'{"/ " + base:>12}' for base in bases)
        lines = [f'\n{self.keys:,} keys, {"denied" if self.denies else "admitted"}',
                 f'  {"":12}{"requests/s":>12}{head}    {"CPU us/request":>14}{head}{"p99 us":>10}']
        for name in self.samples:
            rates = ''.join(f'{self.ratio(name, base):12.3f}' for base in bases)
            costs = ''.join(f'{self.ratio(name, base, "cpu"):12.3f}' for base in bases)
            lines.append(f'  {name:12}{self.median(name):12,.0f}{rates}    '
                         f'{self.median(name, "cpu"):14.2f}{costs}'
                         f'{self.median(name, "p99"):10,.0f}')
        lines += self.notes()
        if max(self.median(name, 'load') for name in self.samples) > 0.95:
            lines.append('  wrk used its core whole: the servers could have done more, see CPU')
        return '\n'.join(lines)


def compare(module, rounds, seconds, keys, say):
    """Runs all stages. Returns [(target, reached, needed, trustworthy)]: reached >= needed."""
    module = built(module)
    targets = []
    say(machine.settle_network())
    with Programs(take_turns=True) as programs:
        say(f'servers on processor {programs.server_core}, wrk with {CONNECTIONS} connections on '
            f'{programs.load_core}; {rounds} rounds of {seconds} s')
        for count in keys:
            stage = Stage(programs, module, ADMITTED, count, denies=False)
            stage.run(rounds, seconds)
            say(stage.table())

            def target(name, base, needed, stage=stage, count=count):
                targets.append((f'{count:,} keys, requests/s, {name} beside {base}',
                                stage.ratio(name, base), needed, stage.doubtful == 0))
            if count == 100_000:
                target('headgate-1', 'plain', 0.95)
                target('headgate-1', 'limit_req', 1.0)
                target('headgate-3', 'plain', 0.90)
            elif count == 1_000_000:
                target('headgate-1', 'plain', 0.94)
        stage = Stage(programs, module, DENIED, 100_000, denies=True)
        stage.run(rounds, seconds)
        say(stage.table())
        targets.append(('100,000 keys, denials/s, headgate beside limit_req',
                        stage.ratio('headgate-1', 'limit_req'), 0.90, stage.doubtful == 0))
    return targets


KEYS = (100, 10_000, 100_000, 1_000_000)


def main():
    parser = argparse.ArgumentParser(description='nginx with limit_req and with headgate')
    parser.add_argument('--module', required=True)
    parser.add_argument('--rounds', type=int, default=30)
    parser.add_argument('--seconds', type=int, default=1, help='of each sample')
    parser.add_argument('--keys', type=int, nargs='+', default=KEYS)
    options = parser.parse_args()
    machine.end_orderly()
    try:
        targets = compare(options.module, options.rounds, options.seconds, options.keys,
                          lambda text: print(text, flush=True))
    except (RuntimeError, OSError) as error:
        sys.exit(f'nginx.py: {error}')
    except KeyboardInterrupt:
        sys.exit(130)
    for name, reached, needed, _ in targets:
        print(f'{name}: {reached:.3f}, target {needed}')


if __name__ == '__main__':
    main()
