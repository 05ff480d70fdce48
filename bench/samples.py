"""Samples of variants that take turns, and how far others disturbed them."""
import dataclasses
import math
import statistics
import time

import machine
from programs import child_seconds

DISTURBANCE_MAX = 0.05  # of one core, by others; beyond it a sample is thrown away
TRIES = 3               # of one sample


@dataclasses.dataclass
class Sample:
    rate: float             # [1/s]
    disturbance: float      # by other processes and machines [cores]
    cpu: float = math.nan   # of the server [us/request]
    p99: float = math.nan   # [us]
    load: float = math.nan  # what the load generator used [cores]


class Meter:
    """What the processors of some programs did while the with statement ran."""

    def __init__(self, programs, loads=()):
        """loads: pids of load generators that do not end meanwhile."""
        self.programs, self.loads = programs, loads

    def __enter__(self):
        self.before = self._clocks()
        return self

    def __exit__(self, *_):
        wall, busy, stolen, own, load, *servers = (
            after - before for before, after in zip(self.before, self._clocks()))
        self.servers = dict(zip(self.programs.servers, servers))  # what each used [s]
        self.load = load / wall                                   # [cores]
        self.disturbance = max(busy - own - load - sum(servers), stolen) / wall  # [cores]

    def _clocks(self):
        cores = {self.programs.server_core, self.programs.load_core}
        busy, stolen = machine.processor_seconds(cores)
        load = child_seconds() + sum(map(machine.process_seconds, self.loads))
        return (time.monotonic(), busy, stolen, machine.process_seconds('self'), load,
                *map(machine.process_seconds, self.programs.servers.values()))


class Turns:
    """Samples of variants, by name. Shown are medians of the rounds; a ratio is the median of each
    round's ratio."""

    def __init__(self, names):
        self.samples = {name: [] for name in names}
        self.disturbed = self.doubtful = 0

    def round(self, names, measure):
        """A sample of each in this order, by measure(name)."""
        for name in names:
            self.keep(lambda name=name: {name: measure(name)})

    def keep(self, measure):
        """Samples by name, {name: Sample}, by measure(): again while others are busy; the least
        disturbed count."""
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
        """Lines to be shown with the figures, on how far they can be trusted."""
        if self.disturbed:
            yield (f'  {self.disturbed} samples thrown away: others used more than '
                   f'{DISTURBANCE_MAX:.0%} of a core')
        if self.doubtful:
            most = max(sample.disturbance for samples in self.samples.values()
                       for sample in samples)
            yield (f'  BUSY: {self.doubtful} samples kept although others used more, up to '
                   f'{most:.0%}: {TRIES} tries were no better')


def alternating(names, number):
    """Their order in a round: whoever is first in one is last in the next."""
    names = list(names)
    return names if number % 2 == 0 else names[::-1]
