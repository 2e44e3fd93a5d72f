"""Kernels over sketches of quantiles: null of bytes that are no sketch of their type."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from streamapp_runtime.kernels.kll_sketches import TYPES, KllSketch, read_kll
from streamapp_systems.variants.floating_texts import floating_text

_SKETCH_TYPES = {"bigint": "Longs", "float": "Floats", "double": "Doubles"}
_TEXT = """
### KllKll{type}Sketch Summary:
   K                      : {k}
   Dynamic min K          : {least_k}
   M                      : 8
   N                      : {count}
   Epsilon                : {error}
   Epsilon PMF            : {error_of_shares}
   Empty                  : {empty}
   Estimation Mode        : {estimated}
   Levels                 : {levels}
   Level 0 Sorted         : {sorted}
   Capacity Items         : {capacity}
   Retained Items         : {size}
   Free Space             : {free}
   ReadOnly               : false
   Updatable Storage Bytes: {updatable}
   Compact Storage Bytes  : {bytes}
   Min Item               : {least}
   Max Item               : {greatest}
### End sketch summary
"""


def kll_count(kinds: pa.Array, sketches: pa.Array) -> pa.Array:
    """Return how many values sketches have got."""
    return _each(kinds, sketches, pa.int64(), lambda sketch, _: sketch.count)


def kll_text(kinds: pa.Array, sketches: pa.Array) -> pa.Array:
    """Describe sketches as Spark does."""
    return _each(kinds, sketches, pa.string(), _described)


def kll_quantiles(kinds: pa.Array, sketches: pa.Array, ranks: pa.Array) -> pa.Array:
    """Return the values at ranks, as texts; null of sketches without values, and of ranks beyond 0 and 1."""
    return _found(kinds, sketches, ranks, _quantile, pa.string())


def kll_ranks(kinds: pa.Array, sketches: pa.Array, values: pa.Array) -> pa.Array:
    """Return the ranks of values, which are texts; null of sketches without values, and of what is no number."""
    return _found(kinds, sketches, values, _rank, pa.float64())


def kll_of_both(kinds: pa.Array, left: pa.Array, right: pa.Array) -> pa.Array:
    """Merge pairs of sketches, of the size of the left one."""
    rows = zip(kinds.to_pylist(), left.to_pylist(), right.to_pylist(), strict=True)
    return pa.array([None if None in row else _merged(*row) for row in rows], pa.binary())


def _merged(kind: str, left: bytes, right: bytes) -> bytes | None:
    one, other = read_kll(kind, left), read_kll(kind, right)
    if one is None or other is None:
        return None
    one.merge(other)
    return one.to_bytes()


def _each(kinds: pa.Array, sketches: pa.Array, result: pa.DataType, of: Callable[[KllSketch, str], Any]) -> pa.Array:
    found = []
    for kind, data in zip(kinds.to_pylist(), sketches.to_pylist(), strict=True):
        sketch = None if data is None else read_kll(kind, data)
        found.append(None if sketch is None else of(sketch, kind))
    return pa.array(found, result)


def _found(
    kinds: pa.Array, sketches: pa.Array, asked: pa.Array, of: Callable[[KllSketch, Any], Any], result: pa.DataType
) -> pa.Array:
    found = []
    for kind, data, each in zip(kinds.to_pylist(), sketches.to_pylist(), asked.to_pylist(), strict=True):
        sketch = None if data is None else read_kll(kind, data)
        found.append(None if sketch is None or not sketch.count else [of(sketch, one) for one in each])
    return pa.array(found, pa.list_(result))


def _described(sketch: KllSketch, kind: str) -> str:
    width = TYPES[kind].itemsize
    whole = 4 * len(sketch.levels) + 20 + 2 * width
    return _TEXT.format(
        type=_SKETCH_TYPES[kind],
        k=sketch.k,
        least_k=sketch.least_k,
        count=sketch.count,
        error=f"{2.296 / sketch.least_k**0.9723:.3%}",
        error_of_shares=f"{2.446 / sketch.least_k**0.9433:.3%}",
        empty=_boolean(not sketch.count),
        estimated=_boolean(len(sketch.levels) > 1),
        levels=len(sketch.levels),
        sorted=_boolean(sketch.sorted),
        capacity=sketch.capacity,
        size=sketch.size,
        free=sketch.capacity - sketch.size,
        updatable=whole + 4 + sketch.capacity * width,
        bytes=len(sketch.to_bytes()),
        least="NaN" if sketch.least is None else _number(sketch.least),
        greatest="NaN" if sketch.greatest is None else _number(sketch.greatest),
    )


def _quantile(sketch: KllSketch, rank: float | None) -> str | None:
    return str(sketch.quantile(rank).item()) if rank is not None and 0 <= rank <= 1 else None


def _rank(sketch: KllSketch, text: str | None) -> float | None:
    value = None if text is None else sketch.levels[0].dtype.type(text)
    return None if value is None or np.isnan(value) else sketch.rank(value)


def _boolean(value: bool) -> str:
    return str(value).lower()


def _number(value: Any) -> str:  # noqa: ANN401 - a number of a sketch
    """Return a number as Java writes it."""
    if value.dtype.kind == "i":
        return str(value)
    return floating_text(float(value), single=value.dtype.itemsize == np.dtype(np.float32).itemsize)
