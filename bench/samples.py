"""Samples of variants that take turns, and how much other programs disturbed them."""
import dataclasses
import math
import statistics
import time

import machine
from programs import child_seconds

DISTURBANCE_MAX = 0.05  # of one core; a sample with more is discarded
TRIES = 3               # per sample: an even busier machine will not become quiet


@dataclasses.dataclass
class Sample:
    rate: float             # [1/s]
    disturbance: float      # by other processes and machines [cores]
    cpu: float = math.nan   # of the server [us/request]
    p99: float = math.nan   # [us]
    load: float = math.nan  # what the load generator used [cores]


class Meter:
    """The use of the programs' processors while the with statement runs."""

    def __init__(self, programs, loads=()):
        """loads: pids of load generators that run longer than that."""
        self.programs, self.loads = programs, loads

    def __enter__(self):
        self.before = self._clocks()
        return self

    def __exit__(self, *_):
        wall, busy, stolen, own, load, *servers = (
            after - before for before, after in zip(self.before, self._clocks()))
        self.servers = dict(zip(self.programs.servers, servers))  # processor time of each [s]
        self.load = load / wall                                   # [cores]
        self.disturbance = max(busy - own - load - sum(servers), stolen) / wall  # [cores]

    def _clocks(self):
        cores = {self.programs.server_core, self.programs.load_core}
        busy, stolen = machine.processor_seconds(cores)
        load = child_seconds() + sum(map(machine.process_seconds, self.loads))
        return (time.monotonic(), busy, stolen, machine.process_seconds('self'), load,
                *map(machine.process_seconds, self.programs.servers.values()))


class Turns:
    """Samples of variants, by name. A figure is the median of all rounds; a ratio is the median of the
    rounds' ratios."""

    def __init__(self, names):
        self.samples = {name: [] for name in names}
        self.disturbed = self.doubtful = 0

    def round(self, names, measure):
        """Takes a sample of each variant in this order, by measure(name)."""
        for name in names:
            self.keep(lambda name=name: {name: measure(name)})

    def keep(self, measure):
        """Keeps what measure() returns, {name: Sample}. Measures again while other programs are busy, at
        most TRIES times, and keeps the least disturbed samples."""
        seen = []
        while len(seen) < TRIES:
            samples = measure()
            seen.append((max(sample.disturbance for sample in samples.values()), samples))
            if seen[-1][0] <= DISTURBANCE_MAX:
                break
        disturbance, best = min(seen, key=lambda one: one[0])
        for name, sample in best.items():
            self.samples[name].append(sample)
        self.disturbed += len(best) * (len(seen) - 1)
        self.doubtful += len(best) * (disturbance > DISTURBANCE_MAX)

    def median(self, name, what='rate'):
        return statistics.median(getattr(sample, what) for sample in self.samples[name])

    def ratio(self, name, base, what='rate'):
        return statistics.median(getattr(a, what) / getattr(b, what) for a, b in
                                 zip(self.samples[name], self.samples[base]))

    def notes(self):
        """Yields lines to be shown with the figures: how far the figures can be trusted."""
        if self.disturbed:
            yield (f'  {self.disturbed} samples thrown away: others used more than '
                   f'{DISTURBANCE_MAX:.0%} of a core')
        if self.doubtful:
            most = max(sample.disturbance for samples in self.samples.values()
                       for sample in samples)
            yield (f'  BUSY: {self.doubtful} samples kept although others used more, up to '
                   f'{most:.0%}: {TRIES} tries were no better')


def alternating(names, number):
    """Their order in a round: the first in one round is the last in the next."""
    names = list(names)
    return names if number % 2 == 0 else names[::-1]
