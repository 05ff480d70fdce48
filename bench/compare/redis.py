#!/usr/bin/python3
"""Limits that machines share through Redis, beside a script of one's own, INCRBY and EXPIRE, and auth_request.

    redis.py --build build/release [--rounds 5] [--seconds 5]

The method is described in docs/benchmarks.md.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import alone  # noqa: E402
import http_door  # noqa: E402
import machine  # noqa: E402
import nginx  # noqa: E402
import redis_calls  # noqa: E402
import redis_module  # noqa: E402
import resp  # noqa: E402
from programs import PATIENCE, Programs, answers, built, free_ports, program, wait_until  # noqa: E402
from samples import Turns, alternating  # noqa: E402
from support.http_client import read_metrics  # noqa: E402
from support.processes import Lines  # noqa: E402

PIPELINE = 16
TEN = 10
# So large that no key is denied, and so long that each keeps its state.
POLICY = '  - {{name: {name}, quota: {quota}, window: 100w, key: ["query:k"]}}\n'
STORE = '''version: 1
problem-details: false
store: {{table: {{memory: 1MiB}}, redis: {{nodes: ["{node}"], timeout: 5s}}}}
policies:
'''

BUSY = '  - {{name: busy, rate: 10000000/second, key: ["query:k"]{more}}}\n'

GATE = 'load_module {module};' + nginx.COMMON + 'http {{' + nginx.HTTP + '''
  headgate_config {name}.yaml;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ headgate on; empty_gif; }}
    location = /metrics {{ headgate_metrics; }}
  }}
}}
'''

# As http_door.AUTH_REQUEST, with an nginx that says yes to everything.
AUTH_REQUEST = nginx.COMMON + 'http {{' + nginx.HTTP + '''
  upstream judge {{
    server 127.0.0.1:{judge};
    keepalive 128; keepalive_requests 1000000000; keepalive_timeout 3600s;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ auth_request /judge; empty_gif; }}
    location = /judge {{
      internal;
      proxy_pass http://judge/;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
    }}
  }}
}}
'''


def policies(node, count):
    return STORE.format(node=node) + ''.join(
        POLICY.format(name=f'p{i}', quota=1_000_000 + i) for i in range(count))


def check_that_redis_decided(port):
    metrics = read_metrics(port)
    without = sum(value for name, value in metrics.items()
                  if name.startswith('headgate_decisions_without_redis_total'))
    if without:
        raise RuntimeError(f'{without:.0f} decisions were made without Redis')


class Bench(resp.Bench):
    """Redis on the servers' processor; headgate, which is on other machines, mostly on that of the load."""

    def start_serve(self, name, text, core):
        """Starts a decision server with this policy file. Returns the port of its metrics."""
        file = self.directory / f'{name}.yaml'
        file.write_text(text)
        process = self.spawn([self.headgate, 'serve', '--config', file, '--threads', 1, '--resp',
                              '127.0.0.1:0', '--http', '127.0.0.1:0'], core, stderr=subprocess.PIPE)
        lines = Lines(process.stderr)
        http, self.ports[name] = (int(lines.until(rf' {door} on \S+:(\d+)', PATIENCE)[1])
                                  for door in ('http', 'resp'))
        self.servers[name] = process.pid
        wait_until(lambda: answers(self.ports[name]), process)
        return http

    def commands(self):
        """How many commands Redis has processed."""
        return int(self.redis('INFO', 'stats').split('total_commands_processed:')[1].split()[0])


def through_resp(build, rounds, seconds, say):
    with Bench(build) as bench:
        bench.start_redis()
        node = f'127.0.0.1:{bench.ports["redis"]}'
        metrics = bench.start_serve('headgate', policies(node, 1), bench.load_core)
        say(f'Redis {bench.redis("INFO", "server").split("redis_version:")[1].split()[0]} on processor '
            f'{bench.server_core}; headgate and redis-benchmark with {resp.CONNECTIONS} connections on '
            f'{bench.load_core}; {rounds} rounds of {seconds} s; {resp.KEYS:,} keys')
        script = bench.redis('SCRIPT', 'LOAD', (HERE / 'gcra.lua').read_text())
        lua = resp.Variant('gcra.lua', 'redis', 'EVALSHA', script, 1, resp.KEY, 60_000_000, 1_000_001, 1)
        decide = resp.Variant('HG.DECIDE', 'headgate', 'HG.DECIDE', 'p0', resp.KEY)
        for variant in (lua, decide):  # gives most keys a state
            bench.measure(variant, PIPELINE, 3 * resp.KEYS)
        stage = resp.Stage(bench, PIPELINE, [lua, decide])
        stage.run(rounds, seconds)
        say(stage.table())
        check_that_redis_decided(metrics)
        yield stage.verdict(f'exact through RESP beside gcra.lua, pipelines of {PIPELINE}', decide.name,
                            lua.name, 1.2)


def leased_at_the_server(build, rounds, seconds, say):
    """One busy key below its limit: of a leased policy, and of the same policy without Redis."""
    with Bench(build) as bench:
        bench.start_redis()
        node = f'127.0.0.1:{bench.ports["redis"]}'
        metrics = bench.start_serve('leased', STORE.format(node=node) + BUSY.format(more=', sharing: leased'),
                                    bench.server_core)
        bench.start_serve('table', 'version: 1\npolicies:\n' + BUSY.format(more=''), bench.server_core)
        leased, table = (resp.Variant(name, name, 'HG.DECIDE', 'busy', 'all') for name in ('leased', 'table'))
        stage = resp.Stage(bench, PIPELINE, [table, leased])
        before = bench.commands()
        stage.run(rounds, seconds)
        say(stage.table())
        say(f'  {bench.commands() - before:,} commands at Redis')
        check_that_redis_decided(metrics)
        yield stage.verdict(f'leased beside the table alone, pipelines of {PIPELINE}', leased.name,
                            table.name, 0.9)


def start_gate(programs, module, node, count):
    """An nginx with so many policies. Returns its port."""
    name = f'gate{count}'
    (programs.directory / f'{name}.yaml').write_text(policies(node, count))
    [port] = free_ports(1)
    nginx.start(programs, name, GATE.format(name=name, module=module, user=nginx.user(), port=port), port)
    return port


def behind_nginx(build, rounds, seconds, say):
    module = built(build / 'modules/ngx_http_headgate_module.so')
    with Programs(take_turns=True) as programs:
        path = programs.directory / 'redis.sock'
        process = programs.spawn([program('redis-server'), '--port', 0, '--unixsocket', path, '--save', '',
                                  '--appendonly', 'no'], programs.server_core, stdout=subprocess.DEVNULL)
        wait_until(path.exists, process)
        programs.servers['redis'] = process.pid
        say(f'\nservers and Redis on processor {programs.server_core}, wrk with {nginx.CONNECTIONS} connections '
            f'on {programs.load_core}\n')
        yes = http_door.start_nginx(programs, 'yes', http_door.PLAIN, answer='204')
        to_nginx = http_door.Variant('auth_request of nginx', http_door.start_nginx(
            programs, 'auth', AUTH_REQUEST, judge=yes))
        one, ten = (http_door.Variant(f'headgate, {"one policy" if count == 1 else "ten policies"}',
                                      start_gate(programs, module, f'unix:{path}', count))
                    for count in (1, TEN))
        turns = http_door.take_turns(programs, [to_nginx, one, ten], rounds, seconds, say)
        ratio = turns.ratio(one.name, to_nginx.name)
        yield (ratio >= 0.9, 'exact behind nginx beside auth_request to an nginx that says 204',
               f'{ratio:.3f}', '>= 0.90')
        beside, p99 = (http_door.at_half(programs, variant, turns.median(variant.name), rounds, seconds, say)
                       for variant in (to_nginx, one))
        yield (p99 <= 1000, f'exact behind nginx, p99 at half the maximum (auth_request: {beside:,.0f} us)',
               f'{p99:,.0f} us', '<= 1000 us')

        # One request at a time: its latency.
        single = {variant.name: variant for variant in (one, ten)}
        turns = Turns(single)
        for number in range(rounds):
            turns.round(alternating(single, number),
                        lambda name: single[name].measure(programs, seconds, connections=1))
        for name in single:
            say(f'  {name}, one request at a time: {1e6 / turns.median(name):.0f} us')
        ratio = turns.ratio(one.name, ten.name)
        yield (ratio <= 1.5, 'latency of ten policies of a client beside one', f'{ratio:.2f}x', '<= 1.5x')
        for variant in (one, ten):
            check_that_redis_decided(variant.port)


def compare(build, rounds, seconds, say):
    """Yields (met, what, reached, needed)."""
    say(machine.settle_network())
    yield from redis_calls.compare(rounds, 20_000 * seconds, say)
    yield from redis_module.compare(built(build / 'modules/headgate_redis.so'), rounds, 20_000 * seconds, say)
    yield from through_resp(build, rounds, seconds, say)
    yield from leased_at_the_server(build, rounds, seconds, say)
    yield from behind_nginx(build, rounds, seconds, say)


if __name__ == '__main__':
    alone.run('redis.py', __doc__.splitlines()[0], compare)
