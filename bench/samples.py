"""Samples of variants that take turns, and how far others disturbed them."""
import dataclasses
import math
import statistics
import time

import machine
from programs import child_seconds

DISTURBANCE_MAX = 0.05  # of one core, by others; beyond it a sample is thrown away
WRONG_MAX = 0.001       # of a sample's answers: where denials are measured, a key may be forgotten
TRIES = 3               # of one sample


@dataclasses.dataclass
class Sample:
    rate: float             # [1/s]
    disturbance: float      # by other processes and machines [cores]
    cpu: float = math.nan   # of the server [us/request]
    p99: float = math.nan   # [us]
    load: float = math.nan  # what the load generator used [cores]
    wrong: float = 0        # of the answers, share


class Meter:
    """What the processors of some programs did while the with statement ran."""

    def __init__(self, programs):
        self.programs = programs

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
        return (time.monotonic(), busy, stolen, machine.process_seconds('self'), child_seconds(),
                *map(machine.process_seconds, self.programs.servers.values()))


class Turns:
    """Samples of variants, by name. Shown are medians of the rounds; a ratio is the median of each
    round's ratio."""

    def __init__(self, names):
        self.samples = {name: [] for name in names}
        self.wrong = self.disturbed = self.doubtful = 0

    def round(self, names, measure):
        """A sample of each in this order, by measure(name): again where answers were wrong, and
        while others are busy; the least disturbed sample counts."""
        for name in names:
            tries = []
            while len(tries) < TRIES:
                tries.append(measure(name))
                if tries[-1].wrong <= WRONG_MAX and tries[-1].disturbance <= DISTURBANCE_MAX:
                    break
            right = [sample for sample in tries if sample.wrong <= WRONG_MAX]
            if not right:
                raise RuntimeError(f'{name}: {tries[-1].wrong:.1%} of the answers were wrong, '
                                   f'{TRIES} times')
            best = min(right, key=lambda sample: sample.disturbance)
            self.samples[name].append(best)
            self.wrong += len(tries) - len(right)
            self.disturbed += len(right) - 1
            self.doubtful += best.disturbance > DISTURBANCE_MAX

    def median(self, name, what='rate'):
        return statistics.median(getattr(sample, what) for sample in self.samples[name])

    def ratio(self, name, base, what='rate'):
        return statistics.median(getattr(a, what) / getattr(b, what) for a, b in
                                 zip(self.samples[name], self.samples[base]))

    def notes(self):
        """Lines to be shown with the figures, on how far they can be trusted."""
        if self.wrong:
            yield f'  {self.wrong} samples thrown away: their answers were wrong'
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
