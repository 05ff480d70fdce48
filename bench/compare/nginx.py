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
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import machine  # noqa: E402

CONNECTIONS = 64
DISTURBANCE_MAX = 0.05  # of one core, by others; beyond it a sample is thrown away
WRONG_MAX = 0.001       # of a sample's statuses: where denials are measured, a key may be forgotten
TRIES = 3               # of one sample
ROUNDS_A_LIFE = 10      # of the same processes: how their memory lies is each time another luck
PATIENCE = 20           # seconds for a server to start or stop

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


class Bench:
    """A directory, two processors, and what runs on them until the end of the with statement."""

    def __init__(self, module):
        self.module = pathlib.Path(module).resolve()
        self.nginx = program('nginx')
        self.wrk = program('wrk')
        if not self.module.exists():
            raise RuntimeError(f'there is no {self.module}; build it with ./dev build')

    def __enter__(self):
        self.server_core, self.load_core = machine.two_cores()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='headgate-bench-'))
        (self.directory / 't').mkdir()
        self.running = []
        return self

    def __exit__(self, *_):
        self.stop_all()
        shutil.rmtree(self.directory)

    def start(self, name, configuration, port):
        """Runs nginx pinned to the servers' core; returns the pid of its worker."""
        conf = self.directory / f'{name}.conf'
        conf.write_text(configuration)
        process = self.spawn([self.nginx, '-p', f'{self.directory}/', '-e', f'{name}.log', '-c',
                              conf.name], self.server_core, stderr=subprocess.DEVNULL)
        self.running.append(process)
        children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
        deadline = time.monotonic() + PATIENCE
        # The master listens before it has a worker.
        while not (answers(port) and children.read_text()):
            if process.poll() is not None or time.monotonic() > deadline:
                log = self.directory / f'{name}.log'
                raise RuntimeError(f'nginx ({name}) did not start:\n'
                                   f'{log.read_text() if log.exists() else ""}')
            time.sleep(0.02)
        return int(children.read_text().split()[0])

    def spawn(self, command, core, **kwargs):
        def settle():
            os.sched_setaffinity(0, {core})
            # Proxy and backend share a core, as programs that don't interrupt each other: else the
            # backend does so at every other request, and how often is the scheduler's luck.
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

        # Out of the terminal's process group: on Ctrl-C it is ended here, and only once.
        return subprocess.Popen(command, start_new_session=True, preexec_fn=settle, **kwargs)

    def stop_all(self):
        for process in self.running:
            if process.poll() is None:
                process.terminate()
        for process in self.running:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running = []

    def load(self, port, keys, order, seconds):
        """Runs wrk; returns what its script says, and the processor time it used [s]."""
        before = child_seconds()
        wrk = self.spawn([self.wrk, '-t1', f'-c{CONNECTIONS}', f'-d{seconds}s', '-s',
                          str(HERE / 'keys.lua'), f'http://127.0.0.1:{port}/', '--', str(keys),
                          order], self.load_core, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
        self.running.append(wrk)
        output, _ = wrk.communicate()
        self.running.remove(wrk)
        last = (output.strip().splitlines() or [''])[-1]
        if wrk.returncode != 0 or not last.startswith('{'):
            raise RuntimeError(f'wrk failed:\n{output}')
        return json.loads(last), child_seconds() - before


def program(name):
    found = shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin')
    if found is None:
        raise RuntimeError(f'{name} is not installed; ./dev deps installs it')
    return found


def child_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(('127.0.0.1', 0))
        return [s.getsockname()[1] for s in sockets]


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port), timeout=1):
        return True
    return False


# ---- measuring


class Sample:
    def __init__(self, said, wrong, proxy, foreign, stolen):
        self.wrong = wrong / said['requests']                         # of the statuses, share
        self.rate = said['requests'] / (said['microseconds'] * 1e-6)  # [1/s]
        self.cpu = proxy / said['requests'] * 1e6                     # of the proxy [us]
        self.p99 = said['p99']                                        # [us]
        self.disturbance = max(foreign, stolen)  # by other processes, other machines [cores]
        self.load_busy = said['cpu'] / (said['microseconds'] * 1e-6)          # [cores]


class Stage:
    """Variants that take turns, each in an nginx of its own that was started for this stage."""

    def __init__(self, bench, variants, keys, denies):
        self.bench, self.variants, self.keys, self.denies = bench, variants, keys, denies
        self.samples = {v.name: [] for v in variants}
        self.discarded = self.doubtful = 0

    def run(self, rounds, seconds):
        for number in range(rounds):
            life, turn = divmod(number, ROUNDS_A_LIFE)
            if turn == 0:
                self.bench.stop_all()
                first = life % len(self.variants)
                order = self.variants[first:] + self.variants[:first]
                self.start(order)
            for variant in order if number % 2 == 0 else order[::-1]:
                self.samples[variant.name].append(self.sample(variant, seconds))
        self.bench.stop_all()

    def start(self, variants):
        backend, *ports = free_ports(1 + len(variants))
        self.backend_worker = self.bench.start(
            'backend', BACKEND.format(name='backend', user=user(), port=backend), backend)
        self.ports, self.workers = {}, {}
        for variant, port in zip(variants, ports):
            conf = variant.configure(self.bench.directory, self.bench.module, port, backend)
            self.workers[variant.name] = self.bench.start(variant.name, conf, port)
            self.ports[variant.name] = port
            self.check(variant)
            if variant.limits:
                self.touch(variant)

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

    def touch(self, variant):
        """Gives every key state. Takes as long as it takes."""
        self.bench.load(self.ports[variant.name], self.keys, 'each', 600)

    def sample(self, variant, seconds):
        """Measures once, and again while others are busy; the least disturbed sample counts."""
        tries = []
        while len(tries) < TRIES:
            if self.denies:
                self.touch(variant)  # limit_req forgets a denial after a minute
            tries.append(self.measure(variant, seconds))
            if tries[-1].wrong <= WRONG_MAX and tries[-1].disturbance <= DISTURBANCE_MAX:
                break
        right = [sample for sample in tries if sample.wrong <= WRONG_MAX]
        if not right:
            raise RuntimeError(f'{variant.name}: {tries[-1].wrong:.1%} of the responses were '
                               f'{"not denied" if self.denies else "not 200"}, {TRIES} times')
        best = min(right, key=lambda sample: sample.disturbance)
        self.discarded += len(tries) - 1
        self.doubtful += best.disturbance > DISTURBANCE_MAX
        return best

    def measure(self, variant, seconds):
        cores = {self.bench.server_core, self.bench.load_core}
        proxy, backend = self.workers[variant.name], self.backend_worker

        def clocks():
            busy, stolen = machine.processor_seconds(cores)
            return (time.monotonic(), busy, stolen, machine.process_seconds(proxy),
                    machine.process_seconds(backend), machine.process_seconds('self'))

        before = clocks()
        said, wrk = self.bench.load(self.ports[variant.name], self.keys, 'random', seconds)
        wall, busy, stolen, proxy, backend, own = (b - a for a, b in zip(before, clocks()))
        if said['broken']:
            raise RuntimeError(f'{variant.name}: {said["broken"]} broken connections or time-outs')
        wrong = said['requests'] - said['refused'] if self.denies else said['refused']
        foreign = (busy - wrk - proxy - backend - own) / wall
        return Sample(said, wrong, proxy, foreign, stolen / wall)

    # Medians of the rounds; a ratio is the median of each round's ratio.
    def median(self, name, what):
        return statistics.median(getattr(s, what) for s in self.samples[name])

    def ratio(self, name, base, what='rate'):
        return statistics.median(getattr(a, what) / getattr(b, what) for a, b in
                                 zip(self.samples[name], self.samples[base]))

    def table(self):
        names = [v.name for v in self.variants]
        bases = ['plain', 'limit_req'] if PLAIN in self.variants else ['limit_req']
        head = ''.join(f'{"/ " + base:>12}' for base in bases)
        lines = [f'\n{self.keys:,} keys, {"denied" if self.denies else "admitted"}',
                 f'  {"":12}{"requests/s":>12}{head}    {"CPU us/request":>14}{head}{"p99 us":>10}']
        for name in names:
            rates = ''.join(f'{self.ratio(name, base):12.3f}' for base in bases)
            costs = ''.join(f'{self.ratio(name, base, "cpu"):12.3f}' for base in bases)
            lines.append(f'  {name:12}{self.median(name, "rate"):12,.0f}{rates}    '
                         f'{self.median(name, "cpu"):14.2f}{costs}'
                         f'{self.median(name, "p99"):10,.0f}')
        if self.discarded:
            lines.append(f'  {self.discarded} samples thrown away: others used more than '
                         f'{DISTURBANCE_MAX:.0%} of a core, or statuses were wrong')
        if self.doubtful:
            most = max(s.disturbance for samples in self.samples.values() for s in samples)
            lines.append(f'  BUSY: {self.doubtful} samples kept although others used more, up to '
                         f'{most:.0%}: {TRIES} tries were no better')
        if max(self.median(name, 'load_busy') for name in names) > 0.95:
            lines.append('  wrk used its core whole: the servers could have done more, see CPU')
        return '\n'.join(lines)


def compare(module, rounds, seconds, keys, say):
    """Runs all stages. Returns [(target, reached, needed, trustworthy)]: reached >= needed."""
    targets = []
    say(machine.settle_network())
    with Bench(module) as bench:
        say(f'servers on processor {bench.server_core}, wrk with {CONNECTIONS} connections on '
            f'{bench.load_core}; {rounds} rounds of {seconds} s')
        for count in keys:
            stage = Stage(bench, ADMITTED, count, denies=False)
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
        stage = Stage(bench, DENIED, 100_000, denies=True)
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
