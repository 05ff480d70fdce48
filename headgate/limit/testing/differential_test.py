#!/usr/bin/python3
"""Compares the C++ laws with the exact models in tests/models on random histories.

usage: differential_test.py LAWS...

LAWS is the program built from differential_laws.cc, and what runs it before that. HEADGATE_SOAK=N compares N times as many histories.
"""

import os
import pathlib
import random
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from models import limiters as models  # noqa: E402

SECOND = 1_000_000_000
# Numbers of histories and of steps in each: about ten seconds for all laws.
HISTORIES = 500
STEPS = 20
# Fewer, because the exponential model computes with 60 digits, hundreds of times for each result.
EXPONENTIAL_HISTORIES = 12


class Laws:
    """The C++ laws, which decide one history at a time."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def decide(self, law, requests):
        """The program's lines, one per request, as lists of words."""
        self.process.stdin.write("\n".join([law, *requests]) + "\n")
        self.process.stdin.flush()
        lines = [self.process.stdout.readline().split() for _ in range(len(requests) + 1)]
        assert lines[0] == ["ready"], (law, lines[0])
        return lines[1:]

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def kinds():
    """name -> function of quota, window, offset, penalty: (model, arguments of the law after the window)"""
    m = models
    return {
        "linear": lambda q, w, o, p: (m.Linear(q, w), "free 0 0 0"),
        "linear spend": lambda q, w, o, p: (m.Linear(q, w, "strict"), "spend 0 0 0"),
        "linear penalty": lambda q, w, o, p: (m.Linear(q, w, "penalty", p), f"penalty {p} 0 0"),
        "fixed-window": lambda q, w, o, p: (m.FixedWindow(q, w), "free 0 0 0"),
        "fixed-window spend": lambda q, w, o, p: (m.FixedWindow(q, w, True), "spend 0 0 0"),
        "fixed-window aligned": lambda q, w, o, p: (
            m.FixedWindowAligned(q, w, o),
            f"free 0 1 {o}",
        ),
        "fixed-window aligned spend": lambda q, w, o, p: (
            m.FixedWindowAligned(q, w, o, True),
            f"spend 0 1 {o}",
        ),
        "moving-window": lambda q, w, o, p: (m.MovingLog(q, w), "free 0 0 0"),
        "sliding-window-counter": lambda q, w, o, p: (m.SlidingCounter(q, w), "free 0 0 0"),
        "sliding-window-counter aligned": lambda q, w, o, p: (
            m.SlidingCounterClock(q, w),
            "free 0 1 0",
        ),
        "concurrency": lambda q, w, o, p: (m.Concurrency(q), "free 0 0 0"),
        "exponential": lambda q, w, o, p: (m.Exponential(q, w), "free 0 0 0"),
        "exponential spend": lambda q, w, o, p: (m.Exponential(q, w, "strict"), "spend 0 0 0"),
    }


def history(dice, q, w, timeless, refunds):
    """Steps (op, at, cost) close to every boundary; refunds of a part only of laws whose state is exact.

    In every other history the clock goes back in a few steps. Such a history has no spends of 0: some
    models store the time of such a spend, the laws do not.
    """
    back = dice.random() < 0.5
    now = dice.choice([0, 5, dice.randint(0, 100 * SECOND), 1_700_000_000 * SECOND])
    steps = []
    for _ in range(STEPS):
        pause = dice.choice(
            [0, 0, 0, 1, w // q, w // q + 1, dice.randint(0, w // q), dice.randint(0, w)]
            + [w - 1, w, w + 1, 2 * w, dice.randint(0, 3 * w)]
        )
        if back and dice.random() < 0.08:
            pause = -dice.randint(0, 2 * w)
        now += pause
        cost = dice.choice([1, 1, 1, 1, 2, 3, 0, q, q + 1, (q + 1) // 2, dice.randint(1, q)])
        op = "spend"
        if timeless:
            op = dice.choice(["spend", "spend", "refund"])
        elif dice.random() < 0.1:
            op, cost = "peek", 0
        elif dice.random() < 0.1:
            op = "refund"
            cost = dice.choice([max(cost, 1), models.COST_MAX] if refunds else [models.COST_MAX])
        if back and cost == 0:
            op = "peek"
        steps.append((op, now, cost))
    return steps


def expected(model, op, at, cost):
    """The model's decision: (admitted, (least r, greatest r), (least t, greatest t) or None, wait or None)"""
    if op == "refund" and hasattr(model, "reset"):
        d = model.reset(at)
    elif op == "refund":
        d = model.release(cost) if hasattr(model, "release") else model.refund(at, cost)
    elif hasattr(model, "acquire"):
        d = model.acquire(cost)
    else:
        d = model.peek(at) if op == "peek" else model.hit(at, cost)
    if not isinstance(d, dict):
        wait = 0 if d.allowed else d.wait_ns
        return d.allowed, (d.r, d.r), None if d.t is None else (d.t, d.t), wait
    r = (d.get("r_min", d["r"]), d.get("r_max", d["r"]))
    t = None if d["t"] is None else (d["t_min"], d["t_max"])
    wait = 0 if d["allowed"] else None if d["t"] is None else d["t"] * SECOND
    return d["allowed"], r, t, wait


def agree(got, want, exact):
    admitted, r, t, wait = want
    if got[0] != str(int(admitted)) or not r[0] <= int(got[1]) <= r[1]:
        return False
    if (got[2] == "none") != (t is None) or (got[3] == "never") != (wait is None):
        return False
    if t is not None and not t[0] <= int(got[2]) <= t[1]:
        return False
    return wait is None or not exact or int(got[3]) == wait


def near_the_boundary(model, at, cost):
    """Whether the exponential model's decision depends on digits that a double does not have."""
    if not hasattr(model, "rate") or model.q == 0:
        return False
    rate = model._next(at, cost) if model.time is None or model.time <= at else cost + model.rate
    return abs(rate - model.q) <= model.q * models.EPS and rate != int(rate)


def compare(laws, name, kind, histories):
    dice = random.Random(f"headgate {name}")
    exact = not name.startswith("exponential")
    decisions = 0
    for number in range(histories):
        q = dice.choice([1, 1, 2, 3, 4, 5, 7, 9, 12, 60, dice.randint(1, 10**5)])
        if exact:
            q = dice.choice([q, q, q, dice.randint(1, models.SF_MAX)])
        w = dice.choice(
            [SECOND // 4, SECOND, 3 * SECOND // 2, 5 * SECOND, 7 * SECOND, 60 * SECOND]
            + [3600 * SECOND, 86400 * SECOND, 7, dice.randint(1, 10 * SECOND)]
        )
        model, words = kind(q, w, dice.randint(0, w), dice.randint(1, 60 * SECOND))
        steps = history(dice, q, w, name == "concurrency", exact)
        requests = [f"{op} {at} {cost}" for op, at, cost in steps]
        law = f"law {name.split()[0]} {q} {w} {words}"
        decisions_of_law = laws.decide(law, requests)
        for i, (op, at, cost) in enumerate(steps):
            close = near_the_boundary(model, at, cost)
            want = expected(model, op, at, cost)
            if close:
                break  # from here the two may decide differently
            decisions += 1
            if not agree(decisions_of_law[i], want, exact):
                so_far = "\n".join(requests[: i + 1])
                print(f"{name}, history {number}:\n{law}\n{so_far}")
                print(f"the law decides {' '.join(decisions_of_law[i])}, the model {want}")
                sys.exit(1)
    return decisions


def main():
    soak = int(os.environ.get("HEADGATE_SOAK", "1"))
    laws = Laws(sys.argv[1:])
    total = 0
    for name, kind in kinds().items():
        few = name.startswith("exponential")
        done = compare(laws, name, kind, soak * (EXPONENTIAL_HISTORIES if few else HISTORIES))
        print(f"{name}: {done} decisions agree")
        total += done
    print(f"{total} in total")
    sys.exit(laws.close())


main()
