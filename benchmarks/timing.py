"""The median time of a few runs. What existed before them is kept from the garbage collector: it is not measured."""

import gc
from collections.abc import Callable
from statistics import median
from time import perf_counter

RUNS = 5


def median_seconds(action: Callable[[], object], runs: int = RUNS) -> float:
    gc.freeze()
    times = []
    for _ in range(runs):
        began = perf_counter()
        action()
        times.append(perf_counter() - began)
    gc.unfreeze()
    return median(times)


def report(what: str, seconds: float, *, limit: float) -> None:
    print(f"{what:<60} {seconds:6.2f} s   (at most {limit:g} s)")
