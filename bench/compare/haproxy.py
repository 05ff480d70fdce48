#!/usr/bin/python3
"""HAProxy as a reverse proxy: without a limiter, with its own stick table, and asking headgate by SPOE.

    haproxy.py --build build/release [--rounds 5] [--seconds 5]

The method is described in docs/benchmarks.md.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import alone  # noqa: E402
import http_door  # noqa: E402
import machine  # noqa: E402
import nginx  # noqa: E402
from http_door import Variant, at_half, take_turns  # noqa: E402
from programs import Programs, answers, built, free_ports, program, wait_until  # noqa: E402

NEEDED = 0.7
EXAMPLE = HERE.parents[1] / 'examples/haproxy'

# As many keys as the load has; a rate that no key reaches.
CONFIGURATION = '''
global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  option http-keep-alive
frontend plain
  bind 127.0.0.1:{plain}
  default_backend api
frontend table
  bind 127.0.0.1:{table}
  stick-table type string len 32 size 200k expire 1h store http_req_rate(1h)
  http-request track-sc0 url_param(k)
  http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt 1000000 }}
  default_backend api
frontend asking
  bind 127.0.0.1:{asking}
  filter spoe engine headgate config {spoe}
  http-request return status 429 if {{ var(txn.headgate.status) -m found }}
  http-after-response set-header RateLimit "%[var(txn.headgate.ratelimit)]" if {{ var(txn.headgate.ratelimit) -m found }}
  http-after-response set-header RateLimit-Policy "%[var(txn.headgate.ratelimit_policy)]" if {{ var(txn.headgate.ratelimit_policy) -m found }}
  default_backend api
backend api
  server api 127.0.0.1:{api}
backend headgate
  mode tcp
  timeout connect 5s
  timeout server 1h
  server headgate 127.0.0.1:{agent}
'''


def start_agent(programs, headgate):
    """Starts headgate and returns its port."""
    [port] = free_ports(1)
    (programs.directory / 'policies.yaml').write_text(http_door.POLICY)
    log = programs.directory / 'headgate.log'
    with log.open('w') as errors:
        process = programs.spawn([headgate, 'serve', '--config', 'policies.yaml', '--threads', '1',
                                  '--spoe', f'127.0.0.1:{port}'], programs.server_core, stderr=errors)
    wait_until(lambda: answers(port), process, log)
    programs.servers['headgate'] = process.pid
    return port


def start_haproxy(programs, **ports):
    """Starts it and returns the port of each frontend."""
    frontends = dict(zip(('plain', 'table', 'asking'), free_ports(3)))
    file, log = programs.directory / 'haproxy.cfg', programs.directory / 'haproxy.log'
    file.write_text(CONFIGURATION.format(spoe=EXAMPLE / 'spoe.conf', **frontends, **ports))
    with log.open('w') as errors:
        process = programs.spawn([program('haproxy'), '-db', '-f', file], programs.server_core,
                                 stdout=errors, stderr=errors)
    wait_until(lambda: answers(frontends['plain']), process, log)
    programs.servers['haproxy'] = process.pid
    return frontends


def compare(build, rounds, seconds, say):
    """Yields (met, what, reached, needed)."""
    headgate = built(build / 'bin/headgate')
    say(machine.settle_network())
    with Programs(take_turns=True) as programs:
        say(f'HAProxy, the server behind it and headgate on processor {programs.server_core}, wrk with '
            f'{nginx.CONNECTIONS} connections and 100,000 keys on {programs.load_core}; {rounds} rounds '
            f'of {seconds} s\n')
        api = http_door.start_nginx(programs, 'api', http_door.PLAIN, answer='200 "hello world\\n"')
        ports = start_haproxy(programs, api=api, agent=start_agent(programs, headgate))
        plain = Variant('HAProxy', ports['plain'])
        table = Variant('HAProxy, stick table', ports['table'])
        asking = Variant('HAProxy asking headgate', ports['asking'])
        turns = take_turns(programs, [plain, table, asking], rounds, seconds, say)
        ratio = turns.ratio(asking.name, plain.name)
        own = turns.ratio(table.name, plain.name)
        yield (ratio >= NEEDED, f'HAProxy asking headgate, beside plain HAProxy (stick table {own:.3f})',
               f'{ratio:.3f}', f'>= {NEEDED:.2f}')
        for variant in (plain, asking):
            at_half(programs, variant, turns.median(asking.name), rounds, seconds, say)


if __name__ == '__main__':
    alone.run('haproxy.py', __doc__.splitlines()[0], compare)
