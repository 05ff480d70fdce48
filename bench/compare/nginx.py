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
import random
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import machine  # noqa: E402
from programs import (PATIENCE, Programs, answers, built, free_ports, program,  # noqa: E402
                      wait_until)
from samples import Meter, Sample, Turns  # noqa: E402

CONNECTIONS = 64
ROUNDS_PER_START = 10  # then new processes: memory layout differs from start to start
SLICE = 0.05        # [s] of load on one variant before the next one's turn
PAUSE = 0.003       # [s] between them, in which open requests are answered
REST_MAX = 120      # [s] until a response counts as lost
WRONG_MAX = 0.001   # of the responses: a few keys have no place in the table

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

# One nginx has all variants that share a policy file, so that only the limiter differs between them,
# and not the memory layout of two processes.
PROXY = 'load_module {module};' + COMMON + 'http {{' + HTTP + '''
  headgate_config {name}.yaml; headgate_memory 64m;
  {http}
  upstream backend {{
    server 127.0.0.1:{backend};
    keepalive 128; keepalive_requests 1000000000; keepalive_timeout 3600s;
  }}
  server {{ listen 127.0.0.1:{status}; location / {{ stub_status; }} }}
  {servers}
}}
'''

SERVER = '''
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      {location}
      proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection "";
    }}
  }}
'''

# limit_req needs 128 bytes per key: with 64 MiB it would have room for half a million keys only.
LIMIT_REQ = '''
  limit_req_zone $arg_k zone=keys:256m rate={rate};
  limit_req_status 429; limit_req_log_level info;
'''

# A unit comes back in a minute, so that each key keeps its state, and no key has enough requests to be
# denied.
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
    """A variant that is measured: the directives of a location."""

    def __init__(self, name, location='', base='plain'):
        self.name, self.location, self.base = name, location, base
        self.limits = bool(location)
        self.ours = 'headgate' in location


class Nginx:
    """One nginx with several variants, directives for http{} and a policy file."""

    def __init__(self, name, policies, variants, http=''):
        self.name, self.policies, self.variants, self.http = name, policies, variants, http

    def configure(self, directory, module, backend, status, ports):
        (directory / f'{self.name}.yaml').write_text(
            f'version: 1\nproblem-details: false\npolicies:{self.policies}')
        servers = ''.join(SERVER.format(port=port, location=variant.location)
                          for variant, port in zip(self.variants, ports))
        return PROXY.format(name=self.name, module=module, user=user(), http=self.http,
                            backend=backend, status=status, servers=servers)


# plain-2 equals plain: their ratio shows how far equal variants differ on this machine.
ADMITTED = [
    Nginx('one', ONE, [Variant('plain'), Variant('plain-2'),
                       Variant('limit_req', 'limit_req zone=keys burst=1000000 nodelay;'),
                       Variant('headgate-1', 'headgate on;')], LIMIT_REQ.format(rate='1000000r/s')),
    Nginx('three', THREE, [Variant('plain of three', base='plain of three'),
                           Variant('headgate-3', 'headgate on;', 'plain of three')])]
DENIED = [Nginx('none', NONE_LEFT, [Variant('limit_req', 'limit_req zone=keys;', 'limit_req'),
                                    Variant('headgate-1', 'headgate on;', 'limit_req')],
                LIMIT_REQ.format(rate='1r/m'))]


def user():
    return 'user root;' if os.geteuid() == 0 else ''


# ---- processes


def start(programs, name, configuration, port):
    """Runs nginx with one worker on the servers' processor."""
    conf, log = (programs.directory / f'{name}.{kind}' for kind in ('conf', 'log'))
    (programs.directory / 't').mkdir(exist_ok=True)
    conf.write_text(configuration)
    process = programs.spawn([program('nginx'), '-p', f'{programs.directory}/', '-e', log.name,
                              '-c', conf.name], programs.server_core, stderr=subprocess.DEVNULL)
    children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
    # The master already listens before the worker runs: wait for both.
    wait_until(lambda: answers(port) and children.read_text(), process, log)
    programs.servers[name] = int(children.read_text().split()[0])


def load(programs, script, port, *arguments, connections=CONNECTIONS, seconds):
    """Runs wrk; returns the results of its script."""
    result = result_of_wrk(*programs.load(
        [program('wrk'), '-t1', f'-c{connections}', f'-d{seconds}s', '-s', HERE / script,
         f'http://127.0.0.1:{port}/', '--', *arguments]))
    if result.get('broken'):
        raise RuntimeError(f'{result["broken"]} broken connections or time-outs')
    return result


def result_of_wrk(output, errors):
    last = (output.strip().splitlines() or [''])[-1]
    if not last.startswith('{'):
        raise RuntimeError(f'wrk failed:\n{output}{errors}')
    return json.loads(last)


# ---- measuring


class Loaded:
    """A running variant: its server, and a wrk that is stopped except during its turns."""

    def __init__(self, stage, nginx, variant, port, status):
        self.stage, self.nginx, self.variant, self.port = stage, nginx, variant, port
        self.status = status  # connection to the nginx's count of requests

    def touch(self):
        """Sends one request per key, so that every key has state."""
        load(self.stage.programs, 'keys.lua', self.port, self.stage.keys, 'each', seconds=600)

    def check(self):
        """Checks that the variant admits, denies and writes fields as it should."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=5)
        denies = self.stage.denies
        with contextlib.closing(connection):
            for expected in (200, 429 if denies else 200):
                connection.request('GET', '/?k=check')
                response = connection.getresponse()
                body = response.read()
                if response.status != expected:
                    raise RuntimeError(f'{self.variant.name} answered {response.status}, '
                                       f'not {expected}')
        wanted = ['RateLimit', 'RateLimit-Policy'] + ['Retry-After'] * denies
        sent = [name for name in wanted if response.headers[name] is not None]
        if sent != (wanted if self.variant.ours else []) or (self.variant.ours and denies and body):
            raise RuntimeError(f'{self.variant.name} answered with {sent}, body {body!r}')

    def rest(self):
        """Starts wrk; returns when it has formatted its requests and sent some, and is stopped."""
        self.wrk = self.stage.programs.spawn(
            [program('wrk'), '-t1', f'-c{CONNECTIONS}', '-d24h', '--timeout', f'{REST_MAX}s', '-s',
             HERE / 'keys.lua', f'http://127.0.0.1:{self.port}/', '--', self.stage.keys, 'random'],
            self.stage.programs.load_core, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        before = self.count()
        wait_until(lambda: self.count() > before + 10 * CONNECTIONS, self.wrk)
        self.wrk.send_signal(signal.SIGSTOP)

    def count(self):
        """Returns how many requests its nginx has answered, including this one."""
        self.status.request('GET', '/')
        return int(self.status.getresponse().read().split()[9])

    def slice(self):
        """Loads for SLICE. Returns requests, time, processor time of the proxy and of wrk [s]."""
        proxy = self.stage.programs.servers[self.nginx.name]

        def clocks():
            return (time.monotonic(), machine.running_seconds(proxy),
                    machine.running_seconds(self.wrk.pid))

        time.sleep(PAUSE)
        count, before = self.count(), clocks()
        self.wrk.send_signal(signal.SIGCONT)
        time.sleep(SLICE)
        self.wrk.send_signal(signal.SIGSTOP)
        after = clocks()
        return (self.count() - count - 1, *(b - a for a, b in zip(before, after)))

    def end(self):
        """Ends wrk and checks its results."""
        self.wrk.send_signal(signal.SIGCONT)
        time.sleep(SLICE)  # a stopped process could handle the next signal in its other thread
        self.wrk.send_signal(signal.SIGINT)
        output, errors = self.wrk.communicate(timeout=PATIENCE)
        result = result_of_wrk(output, errors)
        self.stage.programs.running.remove(self.wrk)
        wrong = result['requests'] - result['refused'] if self.stage.denies else result['refused']
        wrong += result['broken']
        if wrong > WRONG_MAX * result['requests']:
            raise RuntimeError(f'{self.variant.name}: {wrong} of {result["requests"]} answers were '
                               'wrong')


class Stage(Turns):
    """Variants that take turns. A turn is so short that changes of the machine's speed affect all
    variants alike; a round's sample is the sum of many turns."""

    def __init__(self, programs, module, nginxes, keys, denies):
        self.variants = {variant.name: variant for nginx in nginxes for variant in nginx.variants}
        super().__init__(self.variants)
        self.programs, self.module = programs, module
        self.nginxes, self.keys, self.denies = nginxes, keys, denies
        self.loaded = []

    def run(self, rounds, seconds):
        for number in range(rounds):
            if number % ROUNDS_PER_START == 0:
                self.stop()
                first = number // ROUNDS_PER_START % len(self.nginxes)
                self.start(self.nginxes[first:] + self.nginxes[:first])
            self.fine_round(seconds)
        self.stop()

    def start(self, nginxes):
        count = sum(len(nginx.variants) for nginx in nginxes)
        backend, *ports = free_ports(1 + len(nginxes) + count)
        start(self.programs, 'backend',
              BACKEND.format(name='backend', user=user(), port=backend), backend)
        for nginx in nginxes:
            status = ports.pop()
            mine = [ports.pop() for _ in nginx.variants]
            conf = nginx.configure(self.programs.directory, self.module, backend, status, mine)
            start(self.programs, nginx.name, conf, status)
            connection = http.client.HTTPConnection('127.0.0.1', status, timeout=PATIENCE)
            for variant, port in zip(nginx.variants, mine):
                loaded = Loaded(self, nginx, variant, port, connection)
                loaded.check()
                if variant.limits:
                    loaded.touch()
                loaded.rest()
                self.loaded.append(loaded)

    def stop(self):
        for loaded in self.loaded:
            loaded.end()
        self.loaded = []
        self.programs.stop_all()

    def fine_round(self, seconds):
        """Takes a sample of each variant; their turns alternate."""
        def measure():
            if self.denies:
                for loaded in self.loaded:
                    loaded.touch()  # limit_req forgets a denial after a minute
            totals = {loaded.variant.name: [0, 0, 0, 0] for loaded in self.loaded}
            with Meter(self.programs, [loaded.wrk.pid for loaded in self.loaded]) as meter:
                for _ in range(round(seconds / SLICE)):
                    for loaded in random.sample(self.loaded, len(self.loaded)):
                        mine = totals[loaded.variant.name]
                        mine[:] = (a + b for a, b in zip(mine, loaded.slice()))
            return {name: Sample(rate=count / took, cpu=proxy / count * 1e6, load=wrk / took,
                                 disturbance=meter.disturbance)
                    for name, (count, took, proxy, wrk) in totals.items()}

        self.keep(measure)

    def reached(self, name, base=None, what='rate'):
        return self.ratio(name, base or self.variants[name].base, what)

    def table(self):
        lines = [f'\n{self.keys:,} keys, {"denied" if self.denies else "admitted"}',
                 f'  {"":15}{"requests/s":>12}{"ratio":>8}    {"CPU us/request":>14}{"ratio":>8}   '
                 'beside']
        for name, variant in self.variants.items():
            lines.append(f'  {name:15}{self.median(name):12,.0f}{self.reached(name):8.3f}    '
                         f'{self.median(name, "cpu"):14.2f}{self.reached(name, what="cpu"):8.3f}   '
                         f'{variant.base}')
        lines += self.notes()
        if max(self.median(name, 'load') for name in self.samples) > 0.95:
            lines.append('  wrk used its core whole: the servers could have done more, see CPU')
        return '\n'.join(lines)


def compare(module, rounds, seconds, keys, say):
    """Runs all stages. Returns [(target, reached, needed, trustworthy)]; a target needs reached >= needed."""
    module = built(module)
    targets = []
    say(machine.settle_network())
    with Programs() as programs:
        say(f'servers on processor {programs.server_core}, wrk with {CONNECTIONS} connections on '
            f'{programs.load_core}; {rounds} rounds of {seconds} s')

        def measure(nginxes, count, denies):
            stage = Stage(programs, module, nginxes, count, denies)
            stage.run(rounds, seconds)
            say(stage.table())
            return stage

        def target(stage, name, base, needed):
            kind = 'denials' if stage.denies else 'requests'
            targets.append((f'{stage.keys:,} keys, {kind}/s, {name} beside {base}',
                            stage.reached(name, base), needed, stage.doubtful == 0))

        for count in keys:
            stage = measure(ADMITTED, count, denies=False)
            if count == 100_000:
                target(stage, 'headgate-1', 'plain', 0.95)
                target(stage, 'headgate-1', 'limit_req', 1.0)
                target(stage, 'headgate-3', 'plain of three', 0.90)
            elif count == 1_000_000:
                target(stage, 'headgate-1', 'plain', 0.94)
        target(measure(DENIED, 100_000, denies=True), 'headgate-1', 'limit_req', 0.90)
    return targets


KEYS = (100, 10_000, 100_000, 1_000_000)


def main():
    parser = argparse.ArgumentParser(description='nginx with limit_req and with headgate')
    parser.add_argument('--module', required=True)
    parser.add_argument('--rounds', type=int, default=30)
    parser.add_argument('--seconds', type=int, default=1, help='of each variant in a round')
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
