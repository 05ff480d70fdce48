#!/usr/bin/python3
"""headgate fetch with real servers: how often it is denied, and what share of the permitted rate it gets.

Each server limits each client to the same quota and window. Per server: one client with 1 request under
way at most, one with 16, and two that share their partition, with 4 each, all at the same time.
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / 'tests'), str(HERE.parent)]
from support.real_servers import Servers  # noqa: E402

QUOTA, WINDOW = 200, 10  # 20 per second
SCENARIOS = (('alone, 1', 1, 1), ('alone, 16', 1, 16), ('two share', 2, 4))  # clients, parallel
SHARED_DENIED_MAX = 0.01
BATCH = 4  # servers at once: more would compete for the processors


def needed_share(server):
    """The smallest share that one client alone should get; None if the server has or announces no rate."""
    if 'concurrency' in server or 'Retry-After' in server:
        return None
    return 0.95 if 'linear' in server or 'moving-window' in server else 0.90


class Client:
    """headgate fetch with more URLs than it can fetch in its time."""

    def __init__(self, headgate, url, run, parallel, seconds, scratch):
        self.list = scratch / f'{run}.txt'
        count = int(QUOTA + 4 * seconds * QUOTA / WINDOW)
        self.list.write_text(''.join(f'{url}/{i}\n' for i in range(count)))
        self.process = subprocess.Popen(
            [headgate, 'fetch', '--json', '--input', self.list, '--parallel', str(parallel), '--retry',
             '1000', '--header', f'x-run: {run.rpartition(".")[0]}'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=60)
        report = json.loads(errors.splitlines()[-1])
        if report['failed']:
            raise RuntimeError(f'headgate fetch failed: {report["failures"][:3]}')
        return report


def measure(headgate, names, urls, seconds, scratch):
    """Returns {(server, scenario): (requests, denied, share)}. Runs these servers at the same time."""
    runs = {}
    try:
        for number, name in enumerate(names):
            for scenario, clients, parallel in SCENARIOS:
                key = f'{number}-{clients}-{parallel}'
                runs[name, scenario] = [Client(headgate, urls[name], f'{key}.{i}', parallel, seconds,
                                               scratch) for i in range(clients)]
        time.sleep(seconds)
        return {of: outcome([client.end() for client in clients]) for of, clients in runs.items()}
    finally:
        for clients in runs.values():
            for client in clients:
                if client.process.poll() is None:
                    client.process.kill()
                    client.process.wait()


def outcome(reports):
    seconds = sum(report['seconds'] for report in reports) / len(reports)
    fetched = sum(report['fetched'] for report in reports)
    return (sum(report['requests'] for report in reports),
            sum(report['denied'] for report in reports), fetched / seconds / (QUOTA / WINDOW))


def table(results, names):
    lines = [f'{"server":38}' + ''.join(f'{scenario:>20}' for scenario, *_ in SCENARIOS),
             f'{"":38}' + f'{"429s   share":>20}' * len(SCENARIOS)]
    for name in names:
        row = f'{name:38}'
        for scenario, *_ in SCENARIOS:
            requests, denied, share = results[name, scenario]
            rate = '-' if 'concurrency' in name else f'{share:.1%}'
            row += f'{f"{denied} of {requests} {rate:>7}":>20}'
        lines.append(row)
    return '\n'.join(lines)


def verdicts(results):
    """Returns [(met, name, reached, needed)]: the worst result of each kind."""
    announced = {of: got for of, got in results.items() if 'Retry-After' not in of[0]}
    alone = {of: got for of, got in announced.items() if of[1] != 'two share'}
    denied = sum(got[1] for got in alone.values())
    yield denied == 0, 'fetch alone: 429s of servers that send fields', str(denied), '0'
    for needed in (0.95, 0.90):
        shares = {of: got[2] for of, got in alone.items() if needed_share(of[0]) == needed}
        (server, scenario), least = min(shares.items(), key=lambda item: item[1])
        yield (least >= needed, f'fetch, least share: {server}; {scenario}'[:58], f'{least:.1%}',
               f'>= {needed:.0%}')
    shared = {of: got[1] / got[0] for of, got in announced.items() if of[1] == 'two share'}
    (server, _), most = max(shared.items(), key=lambda item: item[1])
    yield (most <= SHARED_DENIED_MAX, f'fetch, two share: {server}', f'{most:.2%}',
           f'<= {SHARED_DENIED_MAX:.0%}')


def compare(headgate, seconds, peers, say):
    """Prints the table; returns the verdicts."""
    with tempfile.TemporaryDirectory(prefix='headgate-bench-') as directory:
        scratch = pathlib.Path(directory)
        scratch.chmod(0o755)  # nginx's workers read files in it
        with Servers(headgate, scratch, QUOTA, WINDOW, peers) as servers:
            say(f'{QUOTA} requests per {WINDOW} s; runs of {seconds} s, {BATCH} servers at once')
            for peer, why in servers.missing.items():
                say(f'without {peer}: {why}')
            names = list(servers.urls)
            results = {}
            for first in range(0, len(names), BATCH):
                results |= measure(headgate, names[first:first + BATCH], servers.urls, seconds, scratch)
            say(table(results, names))
    return list(verdicts(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--build', type=pathlib.Path,
                        default=HERE.parent.parent / 'build/release')
    parser.add_argument('--headgate', type=pathlib.Path, help='default: that of the build')
    parser.add_argument('--seconds', type=int, default=60, help='of each run')
    options = parser.parse_args()
    headgate = options.headgate or options.build / 'bin/headgate'
    try:
        met = compare(headgate, options.seconds, options.build / 'fetch-peers',
                      lambda text: print(text, flush=True))
    except (RuntimeError, OSError) as error:
        sys.exit(f'fetch.py: {error}')
    for ok, name, reached, needed in met:
        print(f'{"met    " if ok else "NOT MET"}  {name:58} {reached:>14}   {needed}')


if __name__ == '__main__':
    main()
