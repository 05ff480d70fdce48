"""The counts that `headgate simulate` has to report, computed in the simplest way: each algorithm as it is
defined, from the whole history of a partition each time."""
import collections
import dataclasses
import datetime
import fractions
import re

LINE = re.compile(rb'^(?P<client>[0-9a-f.:]+) \S+ \S+ \[(?P<time>[^]]*)\] "(?P<method>[A-Z]+) '
                  rb'(?P<target>\S+) HTTP/[\d.]+" (?P<status>\d{3}) (?P<bytes>\d+|-) '
                  rb'"(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"$')


@dataclasses.dataclass
class Request:
    at: int  # seconds since 1970
    client: str
    method: str
    status: int
    bytes: int


def read(path):
    """The requests in the order of time, and the number of lines that are no requests."""
    requests, skipped = [], 0
    for line in path.read_bytes().split(b'\n')[:-1]:
        found = LINE.match(line)
        try:
            at = datetime.datetime.strptime(found['time'].decode(), '%d/%b/%Y:%H:%M:%S %z')
        except (TypeError, ValueError):
            skipped += 1
            continue
        size = found['bytes']
        requests.append(Request(int(at.timestamp()), found['client'].decode(),
                                found['method'].decode(), int(found['status']),
                                0 if size == b'-' else int(size)))
    requests.sort(key=lambda request: request.at)
    return requests, skipped


class Linear:
    """A bucket of q units that leaks q units in w seconds."""
    def __init__(self, q, w):
        self.q, self.w, self.level, self.at = q, w, fractions.Fraction(0), 0

    def admits(self, at):
        leaked = fractions.Fraction(self.q * (at - self.at), self.w)
        self.level, self.at = max(fractions.Fraction(0), self.level - leaked), at
        if self.level + 1 > self.q:
            return False
        self.level += 1
        return True


class MovingWindow:
    def __init__(self, q, w):
        self.q, self.w, self.admitted = q, w, []

    def admits(self, at):
        if sum(1 for then in self.admitted if at - then < self.w) >= self.q:
            return False
        self.admitted.append(at)
        return True


class FixedWindow:
    """Windows begin at the first request that is admitted after the last one ended."""
    def __init__(self, q, w):
        self.q, self.w, self.begin, self.used = q, w, None, 0

    def admits(self, at):
        if self.begin is None or at - self.begin >= self.w:
            self.begin, self.used = at, 0
        if self.used >= self.q:
            return False
        self.used += 1
        return True


ALGORITHMS = {'linear': Linear, 'moving-window': MovingWindow, 'fixed-window': FixedWindow}


def busiest(times, w):
    """Most of `times` in any half-open span of w."""
    return max((sum(1 for then in times if begin <= then < begin + w) for begin in set(times)),
               default=0)


def summary(requests, skipped, algorithm, q, w, key=lambda request: request.client):
    """As `headgate simulate --json` prints it, for one policy `p`."""
    laws = {}
    admitted, denied = collections.defaultdict(list), collections.Counter()
    for request in requests:
        client = key(request)
        law = laws.setdefault(client, ALGORITHMS[algorithm](q, w))
        if law.admits(request.at):
            admitted[client].append(request.at)
        else:
            denied[client] += 1
    top = sorted(denied.items(), key=lambda item: (-item[1], item[0]))[:10]
    total, refused = sum(map(len, admitted.values())), sum(denied.values())
    return {
        'requests': len(requests), 'skipped': skipped,
        'span_s': float(requests[-1].at - requests[0].at),
        'policies': [{'name': 'p', 'partitions': len(laws), 'admitted': total, 'denied': refused,
                      'peak_window_units': max(busiest(times, w) for times in admitted.values()),
                      'top_denied': [{'key': client, 'denied': count,
                                      'admitted': len(admitted[client])}
                                     for client, count in top]}],
        'admitted': total, 'denied': refused}


def untouched(requests, algorithm, q, w):
    """The share of clients, and of requests, that nothing is denied."""
    result = summary(requests, 0, algorithm, q, w)['policies'][0]
    laws, touched = {}, set()
    for request in requests:
        if not laws.setdefault(request.client, ALGORITHMS[algorithm](q, w)).admits(request.at):
            touched.add(request.client)
    return 1 - len(touched) / len(laws), 1 - result['denied'] / len(requests)
