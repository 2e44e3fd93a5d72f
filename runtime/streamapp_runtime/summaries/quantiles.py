"""Approximate percentiles: the summary of Greenwald and Khanna, in the steps in which Spark computes it."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from streamapp_runtime.summaries.plain_numbers import plain_number

_HEAD, _MOST_SAMPLES = 50_000, 10_000
"""Values that wait until they are sorted in, and samples from which on they are compressed then."""
_Sample: TypeAlias = Sequence[Any]
"""A value, how many more are up to it than up to the sample before, and how uncertain that is."""
_State: TypeAlias = list[Any]


class Quantiles:
    """The samples, the number of the values that they stand for, and the values that wait."""

    def __init__(self, kind: str, accuracy: int, *fractions: float) -> None:
        """Keep samples of a family of types, whose ranks are off by one over the accuracy at most, for percentiles."""
        self._typed = plain_number(kind)
        self._error = 1.0 / accuracy
        self._most = int(1 / self._error) * 2 * 2
        self._fractions = fractions

    def add(self, state: _State | None, values: Sequence[float]) -> _State:
        """Add numbers."""
        nothing: _State = [[], 0, []]
        samples, count, head = nothing if state is None else state
        at = 0
        while at < len(values):
            # As many as wait before there is anything to do: with too many samples that is behind each of them.
            taken = values[at : at + (1 if len(samples) >= self._most else _HEAD - len(head))]
            head.extend(map(float, taken))
            at += len(taken)
            if len(head) >= _HEAD:
                samples, count, head = self._sorted_in(samples, count, head)
                if len(samples) >= _MOST_SAMPLES:
                    samples = self._compressed(samples, 2 * self._error * count)
            if len(samples) >= self._most:
                samples, count, head = self._settled(samples, count, head)
        return [samples, count, head]

    def merge(self, left: _State, right: _State) -> _State:
        """Merge the samples of two groups."""
        samples, count, _ = self._settled(*left)
        others, other_count, _ = self._settled(*right)
        more = math.floor(2 * self._error * other_count), math.floor(2 * self._error * count)
        merged: list[_Sample] = []
        at = other_at = 0
        while at < len(samples) and other_at < len(others):
            if samples[at][0] < others[other_at][0]:
                sample, extra = samples[at], more[0] if other_at > 0 else 0
                at += 1
            else:
                sample, extra = others[other_at], more[1] if at > 0 else 0
                other_at += 1
            merged.append([sample[0], sample[1], sample[2] + extra])
        merged += [*samples[at:], *others[other_at:]]
        total = count + other_count
        return [self._compressed(merged, 2 * self._error * total), total, []]

    def result(self, state: _State | None) -> list[float | int] | None:
        """Return the percentile of each fraction; None without values."""
        if state is None or not self._fractions:
            return None
        samples, count, _ = self._settled(*state)
        allowed = max(span + more for _, span, more in samples) // 2
        found: dict[float, float] = {}
        at, rank = 0, samples[0][1]
        for fraction in sorted(self._fractions):
            if fraction <= self._error:
                found[fraction] = samples[0][0]
            elif fraction >= 1 - self._error:
                found[fraction] = samples[-1][0]
            else:
                at, rank = _found(samples, at, rank, math.ceil(fraction * count), allowed)
                found[fraction] = samples[at][0]
        return [self._typed(found[fraction]) for fraction in self._fractions]

    def _settled(self, samples: list[_Sample], count: int, head: list[float]) -> _State:
        samples, count, _ = self._sorted_in(samples, count, head)
        return [self._compressed(samples, 2 * self._error * count), count, []]

    def _sorted_in(self, samples: list[_Sample], count: int, head: list[float]) -> _State:
        merged: list[_Sample] = []
        at, values = 0, sorted(head, key=lambda value: (math.isnan(value), value))
        for place, value in enumerate(values):
            while at < len(samples) and samples[at][0] <= value:
                merged.append(samples[at])
                at += 1
            count += 1
            last = at == len(samples) and place == len(values) - 1
            merged.append([value, 1, 0 if not merged or last else math.floor(2 * self._error * count)])
        return [[*merged, *samples[at:]], count, []]

    def _compressed(self, samples: list[_Sample], limit: float) -> list[_Sample]:
        if not samples:
            return []
        value, span, more = samples[-1]
        kept: list[_Sample] = []
        for sample in samples[-2:0:-1]:
            if sample[1] + span + more < limit:
                span += sample[1]
            else:
                kept.append([value, span, more])
                value, span, more = sample
        kept.append([value, span, more])
        if samples[0][0] <= value and len(samples) > 1:
            kept.append(samples[0])
        return kept[::-1]


def _found(samples: list[_Sample], at: int, rank: int, wanted: int, allowed: int) -> tuple[int, int]:
    """Return the place of the sample with a rank, from a place on, and the rank up to there."""
    while at < len(samples) - 1:
        if rank + samples[at][2] - allowed <= wanted <= rank + allowed:
            return at, rank
        at += 1
        rank += samples[at][1]
    return len(samples) - 1, 0
