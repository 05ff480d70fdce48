#!/usr/bin/python3
"""Compares the C++ laws with the exact models of ../shared/spec/reference.py on random histories.

usage: differential_test.py LAWS REFERENCE.PY

LAWS is the program made from differential_laws.cc. HEADGATE_SOAK=N compares N times as many.
Exits with 77, which ctest takes for a skipped test, where the models are not there.
"""

import importlib.util
import os
import random
import subprocess
import sys

SECOND = 1_000_000_000
HISTORIES = 500
STEPS = 20
# The exponential model computes with 60 digits, hundreds of times for each answer.
EXPONENTIAL_HISTORIES = 12


def load(path):
    if not os.path.exists(path):
        print(f"skipped: {path} is not there")
        sys.exit(77)
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    return module


class Laws:
    """The C++ laws, asked a history at a time."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, law, questions):
        self.process.stdin.write("\n".join([law, *questions]) + "\n")
        self.process.stdin.flush()
        answers = [self.process.stdout.readline().split() for _ in range(len(questions) + 1)]
        assert answers[0] == ["ready"], (law, answers[0])
        return answers[1:]

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def kinds(models):
    """name -> (model of quota, window, offset, penalty; the words after the window)"""
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


def history(dice, q, w, timeless):
    """(op, at, cost) in the neighbourhood of every boundary.

    In every other history the clock goes back now and then. Those have no spends of 0: some models
    note the time of one, the laws don't.
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
        if back and cost == 0:
            op = "peek"
        steps.append((op, now, cost))
    return steps


def expected(model, op, at, cost):
    """The model's answer: (admitted, r, (least t, greatest t) or None, wait or None)"""
    if op == "refund":
        d = model.release(cost)
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
    """Whether the exponential model's decision hangs on less than a double's last digits."""
    if not hasattr(model, "rate") or model.q == 0:
        return False
    rate = model._next(at, cost) if model.time is None or model.time <= at else cost + model.rate
    return abs(rate - model.q) <= model.q * models_eps and rate != int(rate)


def compare(laws, name, kind, histories):
    dice = random.Random(f"headgate {name}")
    exact = not name.startswith("exponential")
    decisions = 0
    for number in range(histories):
        q = dice.choice([1, 1, 2, 3, 4, 5, 7, 9, 12, 60, dice.randint(1, 10**5)])
        if exact:
            q = dice.choice([q, q, q, dice.randint(1, 10**12)])
        w = dice.choice(
            [SECOND // 4, SECOND, 3 * SECOND // 2, 5 * SECOND, 7 * SECOND, 60 * SECOND]
            + [3600 * SECOND, 86400 * SECOND, 7, dice.randint(1, 10 * SECOND)]
        )
        model, words = kind(q, w, dice.randint(0, w), dice.randint(1, 60 * SECOND))
        steps = history(dice, q, w, name == "concurrency")
        questions = [f"{op} {at} {cost}" for op, at, cost in steps]
        law = f"law {name.split()[0]} {q} {w} {words}"
        answers = laws.ask(law, questions)
        for i, (op, at, cost) in enumerate(steps):
            close = near_the_boundary(model, at, cost)
            want = expected(model, op, at, cost)
            if close:
                break  # from here the two may go different ways
            decisions += 1
            if not agree(answers[i], want, exact):
                asked = "\n".join(questions[: i + 1])
                print(f"{name}, history {number}:\n{law}\n{asked}")
                print(f"the law says {' '.join(answers[i])}, the model {want}")
                sys.exit(1)
    return decisions


def main():
    program, reference = sys.argv[1:]
    models = load(reference)
    global models_eps
    models_eps = models.EPS
    soak = int(os.environ.get("HEADGATE_SOAK", "1"))
    laws = Laws(program)
    total = 0
    for name, kind in kinds(models).items():
        few = name.startswith("exponential")
        done = compare(laws, name, kind, soak * (EXPONENTIAL_HISTORIES if few else HISTORIES))
        print(f"{name}: {done} decisions agree")
        total += done
    print(f"{total} in all")
    sys.exit(laws.close())


main()
