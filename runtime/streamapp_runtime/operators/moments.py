"""Partial results that are computed value after value, with the formulas and in the order in which Spark does.

Floating numbers have another sum in another order, so batches must not matter: a batch's values are added one by one to
what is kept of a key. Two kept results, of sessions that become one, are merged as Spark merges two partitions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import reduce
from typing import Any, TypeAlias

from streamapp_core.expressions import Merge, Partial
from streamapp_core.schema import TypeKind
from streamapp_runtime.summaries import Summary, summary_of

State: TypeAlias = list[Any]

_HALF = 1 << 63
_EXACT = Context(prec=80)


@dataclass(frozen=True, slots=True)
class BatchValues:
    """The values of a key in one batch, in the order of their arrival."""

    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Fold:
    """A summary that is numbers: what is kept without values, how values are added to that, and how two are merged."""

    start: Sequence[Any]
    added: Callable[[State, Sequence[Any]], State]
    merged: Callable[[State, State], State]

    def add(self, state: State | None, values: Sequence[Any]) -> State:
        return self.added(list(self.start) if state is None else state, values)

    def merge(self, left: State, right: State) -> State:
        return self.merged(left, right)

    def result(self, state: State | None) -> Any:  # noqa: ANN401 - numbers, or a list of them
        """Return the moments as Spark has them behind its last merge."""
        return None if state is None else self.merged(list(self.start), state)


class _CheckedSum(_Fold):
    def result(self, state: State | None) -> Any:  # noqa: ANN401 - a number
        return None if state is None else state[0]


@dataclass(frozen=True, slots=True)
class _ExactSum:
    """The sum of decimals, which are texts, with all its digits; the result is null if these are too many."""

    limit: Decimal

    def add(self, state: State | None, values: Sequence[str]) -> State:
        return [str(reduce(_EXACT.add, map(Decimal, values), Decimal("0" if state is None else state[0])))]

    def merge(self, left: State, right: State) -> State:
        return self.add(left, right)

    def result(self, state: State | None) -> str | None:
        return None if state is None or Decimal(state[0]).copy_abs() >= self.limit else state[0]


def fold_of(partial: Partial) -> Summary:
    """Return the computation of a partial result that is one of `FOLDS`."""
    if partial.summary is not None:
        return summary_of(partial.summary.name, partial.summary.parameters)
    if partial.merge is Merge.CHECKED_SUM and partial.type.kind is TypeKind.DECIMAL:
        return _ExactSum(Decimal(10) ** (partial.type.precision - partial.type.scale))
    return _FOLDS[partial.merge]


def folded(fold: Summary, before: State | None, added: State | BatchValues) -> Any:  # noqa: ANN401 - its state
    """Add a batch's values, or another kept result, to what is kept of a key; None: nothing."""
    if isinstance(added, BatchValues):
        return fold.add(before, added.values)
    return added if before is None else fold.merge(before, added)


def _add_variance(state: State, values: Sequence[float]) -> State:
    n, mean, m2 = state
    for value in values:
        n += 1.0
        delta = value - mean
        step = delta / n
        mean += step
        m2 += delta * (delta - step)
    return [n, mean, m2]


def _merge_variance(left: State, right: State) -> State:
    n1, mean1, m2_1 = left
    n2, mean2, m2_2 = right
    n = n1 + n2
    delta = mean2 - mean1
    step = delta / n
    return [n, mean1 + step * n2, m2_1 + m2_2 + delta * step * n1 * n2]


def _add_moments(state: State, values: Sequence[float]) -> State:
    n, mean, m2, m3, m4 = state
    for value in values:
        n += 1.0
        delta = value - mean
        step = delta / n
        mean += step
        m2 += delta * (delta - step)
        delta2, step2 = delta * delta, step * step
        m3 = m3 - 3.0 * step * m2 + delta * (delta2 - step2)
        m4 = m4 - 4.0 * step * m3 - 6.0 * step2 * m2 + delta * (delta * delta2 - step * step2)
    return [n, mean, m2, m3, m4]


def _merge_moments(left: State, right: State) -> State:
    n1, mean1, m2_1, m3_1, m4_1 = left
    n2, mean2, m2_2, m3_2, m4_2 = right
    n = n1 + n2
    delta = mean2 - mean1
    step = delta / n
    m2 = m2_1 + m2_2 + delta * step * n1 * n2
    m3 = m3_1 + m3_2 + step * step * delta * n1 * n2 * (n1 - n2) + 3.0 * step * (n1 * m2_2 - n2 * m2_1)
    m4 = (
        m4_1
        + m4_2
        + step * step * step * delta * n1 * n2 * (n1 * n1 - n1 * n2 + n2 * n2)
        + 6.0 * step * step * (n1 * n1 * m2_2 + n2 * n2 * m2_1)
        + 4.0 * step * (n1 * m3_2 - n2 * m3_1)
    )
    return [n, mean1 + step * n2, m2, m3, m4]


def _add_covariance(state: State, values: Sequence[tuple[float, float]]) -> State:
    n, mean_x, mean_y, products = state
    for x, y in values:
        n += 1.0
        delta = x - mean_x
        mean_x += delta / n
        mean_y += (y - mean_y) / n
        products += delta * (y - mean_y)
    return [n, mean_x, mean_y, products]


def _merge_covariance(left: State, right: State) -> State:
    n1, x1, y1, products1 = left
    n2, x2, y2, products2 = right
    n = n1 + n2
    dx, dy = x2 - x1, y2 - y1
    products = products1 + products2 + dx * (dy / n) * n1 * n2
    return [n, x1 + dx / n * n2, y1 + dy / n * n2, products]


def _add_correlation(state: State, values: Sequence[tuple[float, float]]) -> State:
    n, mean_x, mean_y, products, squares_x, squares_y = state
    for x, y in values:
        n += 1.0
        dx, dy = x - mean_x, y - mean_y
        mean_x += dx / n
        mean_y += dy / n
        products += dx * (y - mean_y)
        squares_x += dx * (x - mean_x)
        squares_y += dy * (y - mean_y)
    return [n, mean_x, mean_y, products, squares_x, squares_y]


def _merge_correlation(left: State, right: State) -> State:
    n1, x1, y1, _, squares_x1, squares_y1 = left
    n2, x2, y2, _, squares_x2, squares_y2 = right
    n = n1 + n2
    dx, dy = x2 - x1, y2 - y1
    return [
        *_merge_covariance(left[:4], right[:4]),
        squares_x1 + squares_x2 + dx * (dx / n) * n1 * n2,
        squares_y1 + squares_y2 + dy * (dy / n) * n1 * n2,
    ]


def _add_checked(state: State, values: Sequence[int]) -> State:
    (total,) = state
    for value in values:
        if total is None:
            break
        total = _within(total + value)
    return [total]


def _merge_checked(left: State, right: State) -> State:
    return [None if None in (*left, *right) else _within(left[0] + right[0])]


def _within(total: int) -> int | None:
    return total if -_HALF <= total < _HALF else None


_FOLDS: Mapping[Merge, _Fold] = {
    Merge.VARIANCE: _Fold([0.0] * 3, _add_variance, _merge_variance),
    Merge.MOMENTS: _Fold([0.0] * 5, _add_moments, _merge_moments),
    Merge.COVARIANCE: _Fold([0.0] * 4, _add_covariance, _merge_covariance),
    Merge.CORRELATION: _Fold([0.0] * 6, _add_correlation, _merge_correlation),
    Merge.CHECKED_SUM: _CheckedSum([0], _add_checked, _merge_checked),
}
