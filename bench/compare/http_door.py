#!/usr/bin/python3
"""The HTTP door of the decision server beside nginx: its responses per second, and an nginx that uses it.

    http_door.py --build build/release [--rounds 5] [--seconds 5]

The method is described in docs/benchmarks.md.
"""
import contextlib
import http.client
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import alone  # noqa: E402
import machine  # noqa: E402
import nginx  # noqa: E402
from programs import Programs, answers, built, free_ports, wait_until  # noqa: E402
from samples import Meter, Sample, Turns, alternating  # noqa: E402

POLICY = '''version: 1
policies:
  - {name: burst, quota: 1000000, window: 100w, key: ["query:k"]}
'''

PLAIN = nginx.COMMON + 'http {{' + nginx.HTTP + '''
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return {answer}; }} }}
}}
'''

AUTH_REQUEST = nginx.COMMON + 'http {{' + nginx.HTTP + '''
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


def start_nginx(programs, name, template, **values):
    """Starts it and returns its port."""
    [port] = free_ports(1)
    nginx.start(programs, name, template.format(name=name, user=nginx.user(), port=port, **values),
                port)
    return port


def start_headgate(programs, headgate):
    """Starts it and returns its port."""
    [port] = free_ports(1)
    (programs.directory / 'policies.yaml').write_text(POLICY)
    log = programs.directory / 'headgate.log'
    with log.open('w') as errors:
        process = programs.spawn([headgate, 'serve', '--config', 'policies.yaml', '--threads', '1',
                                  '--http', f'127.0.0.1:{port}'], programs.server_core,
                                 stderr=errors)
    wait_until(lambda: answers(port), process, log)
    programs.servers['headgate'] = process.pid
    return port


class Variant:
    def __init__(self, name, port, kind='plain'):
        self.name, self.port, self.kind = name, port, kind

    def measure(self, programs, seconds, connections=nginx.CONNECTIONS, delay=None):
        """delay: [ms] that each connection waits on average before its next request."""
        with Meter(programs) as meter:
            result = nginx.load(programs, 'http_door.lua', self.port, self.kind,
                                *([delay] if delay else []), connections=connections,
                                seconds=seconds)
        if result['refused']:
            raise RuntimeError(f'{self.name}: {result["refused"]} answers that were not 200')
        return Sample(rate=result['requests'] / (result['microseconds'] * 1e-6), p99=result['p99'],
                      disturbance=meter.disturbance)

    def check(self):
        """Checks that it decides."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=5)
        with contextlib.closing(connection):
            if self.kind == 'decide':
                connection.request('POST', '/v1/decide',
                                   '{"checks":[{"policy":"burst","key":"check"}]}')
            else:
                connection.request('GET', '/auth' if self.kind == 'auth' else '/?k=check')
            response = connection.getresponse()
            body = response.read()
        written = response.headers['RateLimit'] or (self.kind == 'decide' and b'"RateLimit"' in body)
        if response.status not in (200, 204) or ('headgate' in self.name and not written):
            raise RuntimeError(f'{self.name} answered {response.status} without RateLimit')


def take_turns(programs, variants, rounds, seconds, say):
    """Measures the variants in turns; returns the Turns."""
    by_name = {variant.name: variant for variant in variants}
    for variant in variants:
        variant.check()
        variant.measure(programs, 1)  # afterwards all keys have state, and all buffers are allocated
    turns = Turns(by_name)
    for number in range(rounds):
        turns.round(alternating(by_name, number),
                    lambda name: by_name[name].measure(programs, seconds))
    say(f'  {"":32}{"answers/s":>12}{"beside":>10}{"p99 us":>10}')
    for name in by_name:
        say(f'  {name:32}{turns.median(name):12,.0f}{turns.ratio(name, variants[0].name):10.3f}'
            f'{turns.median(name, "p99"):10,.0f}')
    say('\n'.join([*turns.notes(), '']))
    return turns


def at_half(programs, variant, rate, rounds, seconds, say):
    """Returns the p99 [us] at half of the highest rate."""
    delay = 4  # [ms]
    connections = max(1, round(rate / 2 * delay / 1000))
    turns = Turns([variant.name])
    for _ in range(rounds):
        turns.round([variant.name],
                    lambda _: variant.measure(programs, seconds, connections, delay))
    p99 = turns.median(variant.name, 'p99')
    say(f'  {variant.name}, {connections} connections that wait: '
        f'{turns.median(variant.name):,.0f} answers/s, p99 {p99:,.0f} us')
    return p99


def compare(build, rounds, seconds, say):
    """Yields (met, what, reached, needed)."""
    headgate = built(build / 'bin/headgate')
    say(machine.settle_network())
    with Programs(take_turns=True) as programs:
        say(f'servers on processor {programs.server_core}, wrk with {nginx.CONNECTIONS} '
            f'connections on {programs.load_core}; {rounds} rounds of {seconds} s\n')
        door = start_headgate(programs, headgate)
        plain = Variant('nginx, return 200', start_nginx(
            programs, 'plain', PLAIN, answer='200 "hello world\\n"'))
        auth = Variant('headgate, /auth', door, 'auth')
        decide = Variant('headgate, /v1/decide', door, 'decide')
        doors = take_turns(programs, [plain, auth, decide], rounds, seconds, say)
        for variant in (auth, decide):
            ratio = doors.ratio(variant.name, plain.name)
            yield ratio >= 0.6, f'{variant.name}, beside nginx return 200', f'{ratio:.3f}', '>= 0.60'

        yes = start_nginx(programs, 'yes', PLAIN, answer='204')
        to_nginx = Variant('auth_request of nginx', start_nginx(
            programs, 'auth_by_nginx', AUTH_REQUEST, judge=yes))
        to_headgate = Variant('auth_request of headgate', start_nginx(
            programs, 'auth_by_headgate', AUTH_REQUEST, judge=door))
        turns = take_turns(programs, [to_nginx, to_headgate], rounds, seconds, say)
        ratio = turns.ratio(to_headgate.name, to_nginx.name)
        yield (ratio >= 0.95, 'nginx asking headgate, beside asking an nginx that says 204',
               f'{ratio:.3f}', '>= 0.95')

        for variant in (auth, decide):
            p99 = at_half(programs, variant, doors.median(variant.name), rounds, seconds, say)
            yield (p99 < 1000, f'{variant.name}, p99 at half the maximum', f'{p99:,.0f} us',
                   '< 1000 us')


if __name__ == '__main__':
    alone.run('http_door.py', __doc__.splitlines()[0], compare)
