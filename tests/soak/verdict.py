"""Whether figures that were sampled over time stay flat."""
import statistics

WARM_UP = 0.25  # share of the samples before caches and pools have their size
# Growth from the first to the last third of what remains that counts as flat: share of the first
# third, and units (KiB, descriptors, milliseconds).
MEMORY = (0.05, 4096)
DESCRIPTORS = (0.05, 16)
LATENCY = (2.0, 20)


def thirds(values):
    """The medians of the first and of the last third after the warm-up. None: too few values."""
    values = values[round(len(values) * WARM_UP):]
    third = len(values) // 3
    if third == 0:
        return None
    return statistics.median(values[:third]), statistics.median(values[-third:])


def judge(name, values, allowed):
    """(whether it is flat, a line that says so)."""
    found = thirds(values)
    if found is None:
        return False, f'{name}: only {len(values)} samples, so nothing can be said'
    first, last = found
    share, units = allowed
    good = last - first <= max(first * share, units)
    return good, f'{name}: {first:,.1f} at first, {last:,.1f} at last: {"flat" if good else "GROWS"}'
