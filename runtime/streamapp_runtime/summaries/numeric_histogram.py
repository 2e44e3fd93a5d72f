"""A histogram with bins of any width: the algorithm of Ben-Haim and Tom-Tov, with the choices that Spark makes."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from streamapp_runtime.summaries.java_random import next_double, scrambled
from streamapp_runtime.summaries.plain_numbers import plain_number

_State: TypeAlias = list[Any]
_SEED = scrambled(31_183)


class NumericHistogram:
    """The centers and heights of at most so many bins; its state ends with that of the generator which breaks ties."""

    def __init__(self, bins: int, kind: str) -> None:
        """Keep so many bins of a family of types."""
        self._most = bins
        self._typed = plain_number(kind)

    def add(self, state: _State | None, values: Sequence[float]) -> _State:
        """Add numbers, each as a bin of its own or to one with the same center, and join the closest bins."""
        centers, heights, seed = ([], [], _SEED) if state is None else state
        for value in map(float, values):
            at = _place(centers, value)
            if at < len(centers) and centers[at] == value:
                heights[at] += 1.0
            else:
                centers.insert(at, value)
                heights.insert(at, 1.0)
                seed = self._trim(centers, heights, seed)
        return [centers, heights, seed]

    def merge(self, left: _State, right: _State) -> _State:
        """Put the bins of two histograms together."""
        bins = [*zip(left[0], left[1], strict=True), *zip(right[0], right[1], strict=True)]
        bins.sort(key=_center)
        centers, heights = [center for center, _ in bins], [height for _, height in bins]
        seed = self._trim(centers, heights, left[2])
        return [centers, heights, seed]

    def result(self, state: _State | None) -> list[tuple[float | int, float]] | None:
        """Return the center and height of each bin; None without values."""
        if state is None:
            return None
        centers, heights, _ = state
        return list(zip(map(self._typed, centers), heights, strict=True))

    def _trim(self, centers: list[float], heights: list[float], seed: int) -> int:
        while len(centers) > self._most:
            closest, at, equal = centers[1] - centers[0], 0, 1
            for place in range(1, len(centers) - 1):
                distance = centers[place + 1] - centers[place]
                if distance < closest:
                    closest, at, equal = distance, place, 1
                elif distance == closest:
                    equal += 1
                    seed, chance = next_double(seed)
                    if chance <= 1.0 / equal:
                        at = place
            height = heights[at] + heights[at + 1]
            centers[at] = centers[at] * (heights[at] / height) + centers[at + 1] / height * heights[at + 1]
            heights[at] = height
            del centers[at + 1], heights[at + 1]
        return seed


def _place(centers: list[float], value: float) -> int:
    """Return where a number is, or is inserted: behind all smaller ones, where NaN ends the search."""
    at, low, high = 0, 0, len(centers)
    while low < high:
        at = (low + high) // 2
        if centers[at] > value:
            high = at
        elif centers[at] < value:
            at += 1
            low = at
        else:
            break
    return at


def _center(entry: tuple[float, float]) -> tuple[bool, float]:
    """Return the sort key of a bin: NaN comes last."""
    center = entry[0]
    return (True, 0.0) if math.isnan(center) else (False, center)
