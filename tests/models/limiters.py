"""Exact models of all limiters, slow and simple.

Written from the published formulas (docs/algorithms.md), not from the C++ code. Every model except the
exponential one uses only Python integers: a state that is a fraction of a nanosecond is stored as a
multiple of 1/quota, so it is an integer, too. The exponential model uses decimals of 60 digits.

All times are integer nanoseconds; all costs and quotas are integers. Each model has:

  available(now)   r: how many units a client that is alone can spend at `now`
  wait(now, c)     least x >= 0 (integer ns) such that a request of cost c arriving
                   at now+x is admitted if nothing else happens; None if never
  secs(x)          least whole number of seconds >= x

The values of the response fields come from these functions only, in `Limiter._decide`:

  r            available(now) after the decision has been applied
  retry_after  secs(wait(now, c)) on denial, None if allowed or never admissible
  t_next       secs(wait(now, r+1)); None if r == quota
  t_full       secs(wait(now, quota)); 0 if all of the quota is available
  t_pace       ceil(r * window / quota) in seconds, so that r/t <= quota/window
  t            allowed: max(t_next, t_pace);   denied: retry_after

A clock that goes back (all models, unless their documentation differs): a stored time later than `now`
is replaced by `now`, also if the request is denied.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal, getcontext, ROUND_FLOOR, ROUND_CEILING
from typing import Optional

NS = 1_000_000_000
SF_MAX = 999_999_999_999_999  # largest RFC 9651 Integer
COST_MAX = SF_MAX + 1  # no quota admits this cost; a refund of it gives everything back
getcontext().prec = 60


def ceil_div(a: int, b: int) -> int:
    return -((-a) // b)


def secs(x_ns: Optional[int]) -> Optional[int]:
    """Whole seconds, rounded up; saturated at the largest RFC 9651 Integer."""
    return None if x_ns is None else min(ceil_div(x_ns, NS), SF_MAX)


@dataclass
class Decision:
    allowed: bool
    r: int
    t: Optional[int]
    retry_after: Optional[int]
    t_next: Optional[int]
    t_full: Optional[int]
    wait_ns: Optional[int] = None  # exact wait of the same request when denied
    never: bool = False  # denied and no amount of waiting helps
    extra: dict = field(default_factory=dict)


class Limiter:
    """What all models share: turns available() and wait() into the values of the response fields."""

    def __init__(self, quota: int, window_ns: int):
        if quota < 0 or window_ns <= 0:
            raise ValueError("quota >= 0 and window > 0 required")
        self.q = quota
        self.w = window_ns

    # -- to be provided by each model -------------------------------------------------
    def _advance(self, now: int) -> None:
        """Apply clock regression, window roll-over and so on at `now`."""

    def _admit(self, now: int, c: int) -> bool:
        """Decide and update the state."""
        raise NotImplementedError

    def available(self, now: int) -> int:
        raise NotImplementedError

    def wait(self, now: int, c: int) -> Optional[int]:
        raise NotImplementedError

    def _give_back(self, now: int, c: int) -> None:
        """Take up to `c` units off what the key has been charged, denials included."""
        raise NotImplementedError

    # -- public -----------------------------------------------------------------------
    def refund(self, now: int, c: int) -> Decision:
        self._advance(now)
        self._give_back(now, c if c < COST_MAX else math.inf)
        return self._decide(now, 0, True)

    def hit(self, now: int, c: int = 1) -> Decision:
        if c < 0:
            raise ValueError("cost must be >= 0")
        allowed = self._admit(now, c)
        return self._decide(now, c, allowed)

    def peek(self, now: int) -> Decision:
        """The state at `now`, as an admitted request of cost 0 reports it. Charges nothing."""
        self._advance(now)
        return self._decide(now, 0, True)

    def _decide(self, now: int, c: int, allowed: bool) -> Decision:
        r = self.available(now)
        t_next = secs(self.wait(now, r + 1)) if r + 1 <= self.q else None
        t_full = secs(self.wait(now, self.q)) if self.q > 0 else None
        if allowed:
            if self.q == 0:
                t = None
            else:
                t = min(max(t_next or 0, self._pace(r)), SF_MAX)
            return Decision(True, r, t, None, t_next, t_full)
        x = self.wait(now, c)
        ra = secs(x)
        return Decision(False, r, ra, ra, t_next, t_full, x, x is None)

    def _pace(self, r: int) -> int:
        """The least t [s] with r/t <= quota/window."""
        return ceil_div(r * self.w, self.q * NS)


# =====================================================================================
# windows
# =====================================================================================


class FixedWindow(Limiter):
    """Window starts at the first counted hit and lasts [start, start + window).

    State: None, or (start, used).  Denied requests are not counted unless
    count_denied (python limits and express-rate-limit count them).
    """

    def __init__(self, quota, window_ns, count_denied=False):
        super().__init__(quota, window_ns)
        self.count_denied = count_denied
        self.start: Optional[int] = None
        self.used = 0

    def _advance(self, now):
        if self.start is None:
            return
        if now < self.start:  # clock went back
            self.start = now
        elif now - self.start >= self.w:  # expired exactly at start + window
            self.start, self.used = None, 0

    def _admit(self, now, c):
        self._advance(now)
        ok = self.used + c <= self.q
        if c > 0 and (ok or self.count_denied):
            if self.start is None:
                self.start = now
            self.used += c
        return ok

    def _give_back(self, now, c):
        self.used -= min(c, self.used)
        if self.used == 0:
            self.start = None

    def available(self, now):
        return max(0, self.q - self.used)

    def wait(self, now, c):
        if c > self.q:
            return None
        if self.used + c <= self.q:
            return 0
        return self.start + self.w - now


class FixedWindowAligned(Limiter):
    """Window k is [offset + k*window, offset + (k+1)*window) on the server's clock.

    State: None, or (k, used).  If the clock goes back to an earlier window the
    count is kept in that earlier window.
    """

    def __init__(self, quota, window_ns, offset_ns=0, count_denied=False):
        super().__init__(quota, window_ns)
        self.off = offset_ns
        self.count_denied = count_denied
        self.k: Optional[int] = None
        self.used = 0

    def _advance(self, now):
        k = (now - self.off) // self.w
        if self.k is None or k > self.k:
            self.used = 0
        self.k = k

    def _admit(self, now, c):
        self._advance(now)
        ok = self.used + c <= self.q
        if ok or self.count_denied:
            self.used += c
        return ok

    def _give_back(self, now, c):
        self.used -= min(c, self.used)

    def available(self, now):
        return max(0, self.q - self.used)

    def wait(self, now, c):
        if c > self.q:
            return None
        if self.used + c <= self.q:
            return 0
        return self.off + (self.k + 1) * self.w - now


class MovingLog(Limiter):
    """Log of (time, cost).  An entry counts while its age is < window
    (boundary='closed': <= window, as the code of python limits does).

    Cost-0 requests leave no entry; denied requests leave no entry.
    """

    def __init__(self, quota, window_ns, boundary="open"):
        super().__init__(quota, window_ns)
        self.log: list[list[int]] = []
        self.extra = 1 if boundary == "closed" else 0

    def _advance(self, now):
        for e in self.log:
            if e[0] > now:  # clock went back
                e[0] = now
        life = self.w + self.extra
        self.log = [e for e in self.log if now - e[0] < life]

    def _admit(self, now, c):
        self._advance(now)
        ok = self._used() + c <= self.q
        if ok and c > 0:
            self.log.append([now, c])
        return ok

    def _give_back(self, now, c):
        for e in self.log:  # oldest first
            given = min(c, e[1])
            e[1] -= given
            c -= given
        self.log = [e for e in self.log if e[1] > 0]

    def _used(self):
        return sum(c for _, c in self.log)

    def available(self, now):
        return max(0, self.q - self._used())

    def wait(self, now, c):
        if c > self.q:
            return None
        used = self._used()
        x = 0
        for at, cost in self.log:  # oldest first
            if used + c <= self.q:
                return x
            used -= cost
            x = at + self.w + self.extra - now
        assert used + c <= self.q
        return x


class SlidingCounter(Limiter):
    """Sliding window counter of python limits, buckets anchored at the first hit
    (its Redis implementation; times in ns instead of ms).

    State: None, or (start, cur, prev).  At each access, with e = now - start:
      e >= 2*window          state expires (becomes None)
      window < e < 2*window  shift: prev = cur, cur = 0, start += window
      0 <= e <= window       no shift; at e == window the weight of prev is 0
    weighted = floor(prev * (window - e) / window) + cur
    Admitted iff weighted + cost <= quota.  cost > quota is refused before the shift.
    """

    def __init__(self, quota, window_ns):
        super().__init__(quota, window_ns)
        self.start: Optional[int] = None
        self.cur = 0
        self.prev = 0

    def _advance(self, now):
        if self.start is None:
            return
        if now < self.start:  # clock went back
            self.start = now
        e = now - self.start
        if e >= 2 * self.w:
            self.start, self.cur, self.prev = None, 0, 0
        elif e > self.w:
            self.prev, self.cur = self.cur, 0
            self.start += self.w

    def _weighted(self, now):
        if self.start is None:
            return 0
        left = self.w - (now - self.start)
        return self.prev * max(left, 0) // self.w + self.cur

    def _admit(self, now, c):
        if c > self.q:
            if self.start is not None and now < self.start:
                self.start = now  # clock regression only, no shift
            return False
        self._advance(now)
        if self._weighted(now) + c > self.q:
            return False
        if c > 0:
            if self.start is None:
                self.start, self.cur, self.prev = now, 0, 0
            self.cur += c
        return True

    def _give_back(self, now, c):
        recent = min(c, self.cur)
        self.cur -= recent
        self.prev -= min(c - recent, self.prev)

    def _shifted(self, now):
        """View after the shift, needed only after a refused cost > quota (no shift)."""
        if self.start is None or now - self.start <= self.w:
            return self
        twin = SlidingCounter(self.q, self.w)
        twin.start, twin.cur, twin.prev = self.start, self.cur, self.prev
        twin._advance(now)
        return twin

    def available(self, now):
        v = self._shifted(now)
        if v is not self:
            return v.available(now)
        return max(0, self.q - self._weighted(now))

    def wait(self, now, c):
        if c > self.q:
            return None
        v = self._shifted(now)
        if v is not self:
            return v.wait(now, c)
        if self._weighted(now) + c <= self.q:
            return 0
        left = self.w - (now - self.start)  # until the weight of prev is 0
        room = self.q - self.cur - c
        if room >= 0:
            # floor(prev*(left-x)/w) <= room  <=>  x > left - (room+1)*w/prev
            return (left * self.prev - (room + 1) * self.w) // self.prev + 1
        # cur itself must fade: after the shift floor(cur*(w-y)/w) + c <= q, x = left + y
        return left + self._fade(self.cur, c, strict_shift=True)

    def _fade(self, cur, c, strict_shift):
        # y > w * (1 - (q-c+1)/cur); y is an integer number of ns
        y = self.w * (cur - (self.q - c + 1)) // cur + 1
        return max(y, 1 if strict_shift else 0)


class SlidingCounterClock(SlidingCounter):
    """Same weighting with buckets aligned to the clock (python limits' in-memory and
    memcached storage): bucket k is [k*window, (k+1)*window), shift at e >= window."""

    def _advance(self, now):
        k = now // self.w
        if self.start is None:
            return
        old = self.start // self.w
        if k == old + 1:
            self.prev, self.cur = self.cur, 0
        elif k > old + 1:
            self.prev = self.cur = 0
        # k < old: clock went back; counts are kept in the earlier bucket
        self.start = k * self.w

    def _admit(self, now, c):
        if self.start is None:
            self.start = now // self.w * self.w
        self._advance(now)
        if c > self.q or self._weighted(now) + c > self.q:
            return False
        self.cur += c
        return True

    def available(self, now):
        return max(0, self.q - self._weighted(now))

    def wait(self, now, c):
        if c > self.q:
            return None
        if self._weighted(now) + c <= self.q:
            return 0
        left = self.w - (now - self.start)
        room = self.q - self.cur - c
        if room >= 0:
            return (left * self.prev - (room + 1) * self.w) // self.prev + 1
        return left + self._fade(self.cur, c, strict_shift=False)


# =====================================================================================
# linear (GCRA) as in Tony Finch's article of 2026, with the boundary corrected to now >= time
# =====================================================================================


class Linear(Limiter):
    """State: not-before time, kept as N = time * quota (an exact integer); None = -inf.

      time = clamp(now - window, time, now + penalty)      penalty = 0 unless mode=penalty
      time += cost * window / quota
      allowed iff now >= time;  then state = time
      denied: lenient keeps the clamped old time, strict and penalty store the new time
    A cost above the quota is refused without touching the state (it can never pass).
    """

    def __init__(self, quota, window_ns, mode="lenient", penalty_ns=0):
        super().__init__(quota, window_ns)
        if mode not in ("lenient", "strict", "penalty"):
            raise ValueError(mode)
        if (mode == "penalty") != (penalty_ns > 0):
            raise ValueError("penalty_ns > 0 exactly in penalty mode")
        self.mode = mode
        self.pen = penalty_ns
        self.n: Optional[int] = None
        # One unit per step/scale ns; N counts in 1/scale ns.
        self.scale = quota
        self.step = window_ns

    def _clamped(self, now):
        lo, hi = now * self.scale - self.q * self.step, (now + self.pen) * self.scale
        return lo if self.n is None else max(lo, min(self.n, hi))

    def _advance(self, now):
        # strict and penalty states are legitimately ahead of now; the clamp of the next
        # hit corrects them, so only the lenient state is corrected here
        if self.mode == "lenient" and self.q > 0 and self.n is not None:
            self.n = min(self.n, now * self.scale)

    def _admit(self, now, c):
        if self.q == 0:
            return c == 0
        if c > self.q:
            self._advance(now)
            return False
        n = self._clamped(now) + c * self.step
        if now * self.scale >= n:
            self.n = n
            return True
        if self.mode == "lenient":
            self._advance(now)  # keep a clock-regression correction
        else:
            self.n = n
        return False

    def _give_back(self, now, c):
        lo = now * self.scale - self.q * self.step
        if self.n is None or self.q == 0 or self.n <= lo:
            return
        # A denial costs at most one quota beyond the penalty; more means that the clock went back.
        most = (now + self.pen) * self.scale + (0 if self.mode == "lenient" else self.q * self.step)
        self.n = max(lo, min(self.n, most) - c * self.step)

    def available(self, now):
        if self.q == 0:
            return 0
        return max(0, (now * self.scale - self._clamped_view(now)) // self.step)

    def _clamped_view(self, now):
        """After a strict/penalty denial the stored time may exceed now + penalty; it is
        what a later request will see once now has caught up, so do not clamp above."""
        lo = now * self.scale - self.q * self.step
        return lo if self.n is None else max(lo, self.n)

    def wait(self, now, c):
        if c > self.q:
            return None
        if self.q == 0:
            return 0
        return max(0, ceil_div(self._clamped_view(now) + c * self.step - now * self.scale, self.scale))


class TokenBucket(Linear):
    """Linear with a rate of its own: `count` units come back per `period_ns`, up to `quota`.

    Clients are shown the window quota * period / count in whole seconds, rounded up; t follows from
    that window, so that r/t never exceeds the quota per window that they see.
    """

    def __init__(self, quota, count, period_ns):
        super().__init__(quota, ceil_div(quota * period_ns, count))
        self.scale = count
        self.step = period_ns

    def _pace(self, r):
        return ceil_div(r * secs(self.w), self.q)


class LinearFinchLiteral:
    """The pseudocode of the article exactly as published (strict '>'; t = ceil(d);
    r = 0 and t = ceil(time - now) on denial).  For comparison only."""

    def __init__(self, quota, window_ns, mode="lenient", penalty_ns=0):
        self.q, self.w, self.mode, self.pen = quota, window_ns, mode, penalty_ns
        self.n = 0  # "state[pk] or 0"

    def hit(self, now, c=1):
        n = max((now - self.w) * self.q, min(self.n, (now + self.pen) * self.q))
        n += c * self.w
        if now * self.q > n:
            self.n = n
            d = now * self.q - n  # d seconds * q * NS
            return {"allowed": True, "r": d // self.w, "t": ceil_div(d, self.q * NS)}
        if self.mode != "lenient":
            self.n = n
        return {"allowed": False, "r": 0, "t": ceil_div(n - now * self.q, self.q * NS)}


# =====================================================================================
# token bucket as Boulder configures and computes it
# =====================================================================================


@dataclass(frozen=True)
class BoulderLimit:
    burst: int
    count: int
    period_ns: int

    def __post_init__(self):
        if self.burst <= 0 or self.count <= 0 or self.period_ns <= 0:
            raise ValueError("burst, count and period must be > 0")
        if self.period_ns // self.count == 0:
            raise ValueError("count exceeds one token per nanosecond (emission interval 0)")

    @property
    def emission(self) -> int:
        """Go integer division: truncates, so the real rate is never below nominal."""
        return self.period_ns // self.count

    @property
    def offset(self) -> int:
        return self.burst * self.emission


class BoulderError(Exception):
    pass


INT64_MAX = (1 << 63) - 1


class BoulderStore:
    """Buckets by key -> TAT.  Ops follow ratelimits/{gcra,limiter,transaction}.go.

    clamp=True adds headgate's rule for a clock that goes back (a TAT later than now + burst offset
    counts as now + burst offset); clamp=False is Boulder's own behaviour.
    """

    def __init__(self, clamp=True):
        self.tat: dict[str, int] = {}
        self.clamp = clamp

    # -- gcra.go ----------------------------------------------------------------------
    def _seen(self, lim, key, now):
        tat = self.tat.get(key)
        if tat is not None and self.clamp and tat > now + lim.offset:
            tat = now + lim.offset
            self.tat[key] = tat
        return tat

    @staticmethod
    def _maybe_spend(lim: BoulderLimit, now: int, cost: int, tat: Optional[int]):
        base = now if tat is None else max(now, tat)
        inc = lim.emission * cost
        new = base + inc
        diff = now - (new - lim.offset)
        if diff < 0:
            left = now - (base - lim.offset)
            # Go division truncates toward zero; below zero is reported as 0 here
            return dict(
                allowed=False,
                remaining=max(0, left) // lim.emission,
                retry_in=-diff,
                reset_in=base - now,
                tat=base,
            )
        return dict(
            allowed=True,
            remaining=diff // lim.emission,
            retry_in=max(0, inc - diff),
            reset_in=new - now,
            tat=new,
        )

    @staticmethod
    def _maybe_refund(lim, now, cost, tat):
        if now > tat:
            return dict(allowed=False, remaining=lim.burst, retry_in=0, reset_in=0, tat=tat)
        new = max(tat - lim.emission * cost, now)
        diff = now - (new - lim.offset)
        return dict(
            allowed=new != tat,
            remaining=diff // lim.emission,
            retry_in=0,
            reset_in=new - now,
            tat=new,
        )

    @staticmethod
    def _check_cost(lim, cost):
        if cost < 0:
            raise BoulderError("cost_negative")
        if cost > lim.burst:
            raise BoulderError("cost_over_burst")

    # -- limiter.go -------------------------------------------------------------------
    def check(self, lim, key, now, cost):
        self._check_cost(lim, cost)
        return self._maybe_spend(lim, now, cost, self._seen(lim, key, now))

    def spend(self, lim, key, now, cost):
        return self.batch([(lim, key, cost, "check_spend")], now)

    @staticmethod
    def _stricter(a, b):
        if a["allowed"] != b["allowed"]:
            return b if a["allowed"] else a
        if a["retry_in"] != b["retry_in"]:
            return a if a["retry_in"] > b["retry_in"] else b
        return a if a["remaining"] < b["remaining"] else b

    def batch(self, txns, now):
        """txns: (limit, key, cost, kind); kind in check_spend, check, spend, allow."""
        seen, todo = set(), []
        for lim, key, cost, kind in txns:
            if kind == "allow":
                continue
            self._check_cost(lim, cost)
            if key in seen:
                raise BoulderError("duplicate_bucket")
            seen.add(key)
            todo.append((lim, key, cost, kind))
        best = dict(allowed=True, remaining=INT64_MAX, retry_in=0, reset_in=0, tat=None)
        writes = {}
        for lim, key, cost, kind in todo:
            old = self._seen(lim, key, now)
            d = self._maybe_spend(lim, now, cost, old)
            if d["allowed"] and d["tat"] != old and kind != "check":
                writes[key] = d["tat"]
            if kind != "spend":
                best = self._stricter(best, d)
        if best["allowed"]:
            self.tat.update(writes)
        return best

    def refund(self, lim, key, now, cost, kind="check_spend"):
        self._check_cost(lim, cost)
        tat = self._seen(lim, key, now)
        if tat is None:  # non-existent bucket is ignored
            return dict(allowed=True, remaining=INT64_MAX, retry_in=0, reset_in=0, tat=None)
        d = self._maybe_refund(lim, now, 0 if kind == "check" else cost, tat)
        if d["allowed"] and d["tat"] != tat:
            self.tat[key] = d["tat"]
        return d

    def reset(self, key):
        self.tat.pop(key, None)

    # -- values of the response fields ----------------------------------------------------------------
    @staticmethod
    def headers(lim: BoulderLimit, d, now):
        """r, t, retry_after for one decision of one bucket (quota=burst,
        window=burst*emission)."""
        if d["tat"] is None:
            return dict(r=None, t=None, retry_after=None)
        r = d["remaining"]
        room = lim.offset - max(0, d["tat"] - now)  # tokens left, in ns
        t_next = None
        if r + 1 <= lim.burst:
            t_next = secs((r + 1) * lim.emission - room)
        if d["allowed"]:
            t = max(t_next or 0, secs(r * lim.emission))
            return dict(r=r, t=t, retry_after=None, t_next=t_next, t_full=secs(d["reset_in"]))
        ra = secs(d["retry_in"])
        return dict(r=r, t=ra, retry_after=ra, t_next=t_next, t_full=secs(d["reset_in"]))


# =====================================================================================
# exponential (Tony Finch, 2024; the values of the response fields are from the article of 2026)
# =====================================================================================

D = Decimal
EPS = D("1e-9")  # relative tolerance granted to a double implementation


def _phi(x: Decimal) -> Decimal:
    """(1 - exp(-x)) / x, with the limit 1 at 0."""
    if x == 0:
        return D(1)
    if x < D("1e-15"):
        return 1 - x / 2 + x * x / 6
    return (1 - (-x).exp()) / x


class Exponential:
    """State: None, or (time, rate).  rate is in units per window.

      x     = max(0, now - time) / window
      rate' = cost * (1 - exp(-x)) / x + exp(-x) * rate      (x == 0: cost + rate)
      rate' = max(rate', cost)                               (no state: rate' = cost)
      allowed iff rate' <= quota;  then state = (now, rate')
      denied: lenient keeps the state, strict stores (now, rate')
    cost 0 is a probe: allowed, state untouched.  cost > quota: denied, state untouched.

    The model is not additive (one request of cost n is cheaper than n unit requests), so
    r counts unit requests, the worst case:
      r = 0 if rate'(1) > quota else 1 + floor(quota - rate'(1))      at the same instant
    """

    def __init__(self, quota, window_ns, mode="lenient"):
        self.q, self.w, self.mode = quota, window_ns, mode
        self.time: Optional[int] = None
        self.rate = D(0)

    def _next(self, now, c, f=D(1)):
        if self.time is None:
            return D(c)
        x = D(max(0, now - self.time)) / D(self.w)
        return max(D(c) * _phi(x) + (-x).exp() * self.rate * f, D(c))

    def available(self, now, f=D(1)):
        if self.q == 0:
            return 0
        one = self._next(now, 1, f)
        if one > self.q:
            return 0
        return min(self.q, 1 + int((D(self.q) - one).to_integral_value(ROUND_FLOOR)))

    @staticmethod
    def _least(ok):
        """Least whole s >= 0 with ok(s); ok is monotone and eventually true."""
        if ok(0):
            return 0
        hi = 1
        while not ok(hi):
            hi *= 2
        lo = hi // 2
        while hi - lo > 1:
            mid = (lo + hi) // 2
            lo, hi = (lo, mid) if ok(mid) else (mid, hi)
        return hi

    def _retry(self, now, c, f=D(1)) -> Optional[int]:
        if c > self.q:
            return None
        return self._least(lambda s: self._next(now + s * NS, c, f) <= self.q)

    def _until(self, now, n, f=D(1)) -> Optional[int]:
        if n > self.q:
            return None
        return self._least(lambda s: self.available(now + s * NS, f) >= n)

    def _advance(self, now):
        if self.time is not None and self.time > now:
            self.time = now

    def hit(self, now, c=1):
        self._advance(now)
        rate = self._next(now, c)
        allowed = rate <= self.q
        if c > 0 and c <= self.q and (allowed or self.mode == "strict"):
            self.time, self.rate = now, rate
        return self._decide(now, c, allowed, rate)

    def reset(self, now):
        """A refund of everything."""
        self._advance(now)
        self.rate = D(0)
        return self.peek(now)

    def peek(self, now):
        self._advance(now)
        return self._decide(now, 0, True, self._next(now, 0))

    def _decide(self, now, c, allowed, rate):
        # a burst in one tick adds whole numbers: r is then exact in doubles as well
        exact = self.time is None or (
            self.time == now and self.rate == self.rate.to_integral_value()
        )

        def view(f):  # f scales the stored rate: 1, 1 - EPS, 1 + EPS
            r = self.available(now, D(1) if exact else f)
            t_next = self._until(now, r + 1, f)
            if allowed:
                if self.q == 0:
                    return r, None, None, t_next
                pace = ceil_div(r * self.w, self.q * NS)
                return r, max(t_next or 0, pace), None, t_next
            ra = self._retry(now, c, f)
            return r, ra, ra, t_next

        views = [view(D(1)), view(1 - EPS), view(1 + EPS)]
        mid = views[0]
        rng = lambda i, g: (None if mid[i] is None else g(v[i] for v in views if v[i] is not None))
        return dict(
            allowed=allowed,
            r=mid[0],
            t=mid[1],
            retry_after=mid[2],
            t_next=mid[3],
            r_min=rng(0, min),
            r_max=rng(0, max),
            t_min=rng(1, min),
            t_max=rng(1, max),
            rate=rate,
            never=(not allowed and mid[2] is None),
            stored_rate=self.rate,
            stored_time=self.time,
        )


class ExponentialFinchLiteral:
    """As published: allow iff r_now < quota, interval clamped to 1e-10,
    ALLOW r = floor(a), t = ceil(a*window/quota), a = quota - r_now;
    DENY t = ceil(t_next - t_now), t_next = t_now + window * ln(r_now / quota)."""

    def __init__(self, quota, window_ns, mode="lenient"):
        self.q, self.w, self.mode, self.time, self.rate = quota, window_ns, mode, None, D(0)

    def hit(self, now, c=1):
        if self.time is None:
            rate = D(c)
        else:
            x = max(D(now - self.time) / D(self.w), D("1e-10"))
            rate = max(D(c) * _phi(x) + (-x).exp() * self.rate, D(c))
        if rate < self.q:
            self.time, self.rate = now, rate
            a = D(self.q) - rate
            return dict(
                allowed=True,
                r=int(a.to_integral_value(ROUND_FLOOR)),
                t=int((a * self.w / self.q / NS).to_integral_value(ROUND_CEILING)),
                rate=rate,
            )
        if self.mode == "strict":
            self.time, self.rate = now, rate
        t = (D(self.w) * (rate / D(self.q)).ln() / NS).to_integral_value(ROUND_CEILING)
        return dict(allowed=False, r=0, t=int(t), rate=rate)


# =====================================================================================
# concurrency
# =====================================================================================


class Concurrency:
    """State: units in flight.  acquire(c) admitted iff in_flight + c <= quota.
    release(c) gives back, never below 0.  No time is involved: t and Retry-After are
    omitted.  The response to a request is described while its own slot is still held."""

    def __init__(self, quota):
        self.q = quota
        self.n = 0

    def acquire(self, c=1):
        ok = self.n + c <= self.q
        if ok:
            self.n += c
        return dict(allowed=ok, r=self.q - self.n, t=None, retry_after=None, never=c > self.q)

    def release(self, c=1):
        back = min(c, self.n)
        self.n -= back
        return dict(allowed=True, r=self.q - self.n, t=None, retry_after=None, released=back)


# =====================================================================================
# several policies on one request
# =====================================================================================


class PolicySet:
    """All-or-nothing: admitted iff every policy admits its own cost; if any denies, no
    policy is charged (only lenient, non-counting members keep that promise).
    Retry-After = max over policies of secs(wait)."""

    def __init__(self, members):  # list of (name, Limiter)
        self.members = members

    def hit(self, now, costs):
        for _, lim in self.members:
            lim._advance(now)
        waits = {n: lim.wait(now, costs[n]) for n, lim in self.members}
        never = [n for n, x in waits.items() if x is None]
        ok = not never and all(x == 0 for x in waits.values())
        out = {}
        for n, lim in self.members:
            if ok:
                assert lim._admit(now, costs[n])
            mine_ok = waits[n] == 0
            out[n] = lim._decide(now, costs[n], mine_ok)
        ra = None
        if not ok and not never:
            ra = secs(max(waits.values()))
        return dict(
            allowed=ok,
            retry_after=ra,
            never=bool(never),
            violated=[n for n, x in waits.items() if x != 0],
            members=out,
        )
