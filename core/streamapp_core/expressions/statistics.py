"""Variance, correlation, regression: computed value after value, with the formulas by which Spark does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.partial_aggregates import ARRIVAL_COLUMN, Merge, PartialsBuilder
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.sums_of_decimals import sum_type
from streamapp_core.expressions.typed_sql import Value, cast, quoted
from streamapp_core.schema import DOUBLE


@dataclass(frozen=True, slots=True)
class _Moments:
    """The moments that a statistic needs: how they are merged, and the numbers that they are of."""

    merge: Merge
    of: Callable[..., Sequence[Value]]


def statistic(builder: PartialsBuilder, name: str, arguments: Sequence[Value]) -> Value:
    """Write one of `STATISTICS`; those of the same numbers share their moments.

    Raises:
        Refusal: It takes another number of arguments, or they are no numbers.
    """
    count, moments, formula = STATISTICS[name]
    if len(arguments) != count:
        raise invalid(f"{name} takes {'one argument' if count == 1 else 'two arguments'}, got {len(arguments)}")
    numbers = [implied(argument, DOUBLE) for argument in arguments]
    return Value(DOUBLE, formula(*(_added(builder, each.merge, each.of(*numbers)) for each in moments)))


def both(value: Value, other: Value) -> Value:
    """Return a value, or null where the other one is null."""
    return Value(value.type, f"CASE WHEN {guarded(other)} IS NOT NULL THEN {value.sql} END")


def checked_sum(builder: PartialsBuilder, value: Value) -> Value:
    """Write the sum of whole numbers that is null once it has been too large, or that of decimals if it is so."""
    sql, target = guarded(value), sum_type(value.type or DOUBLE)
    return builder.add(target, _list(cast(sql, target), f"{sql} IS NOT NULL"), Merge.CHECKED_SUM)


def _added(builder: PartialsBuilder, merge: Merge, numbers: Sequence[Value]) -> str:
    present = " AND ".join(f"{guarded(number)} IS NOT NULL" for number in numbers)
    first = guarded(numbers[0])
    taken = first if len(numbers) == 1 else f"{{'x': {first}, 'y': {guarded(numbers[1])}}}"
    return builder.add(DOUBLE, _list(taken, present), merge).sql


def _list(value: str, condition: str) -> str:
    return f"list({value} ORDER BY {quoted(ARRIVAL_COLUMN)}) FILTER ({condition})"


def _deviation(m: str) -> str:
    return f"sqrt({m}[3] / {m}[1])"


def _sample_variance(m: str) -> str:
    return f"CASE WHEN {m}[1] > 1 THEN {m}[3] / ({m}[1] - 1) END"


def _sample_deviation(m: str) -> str:
    return f"CASE WHEN {m}[1] > 1 THEN sqrt({m}[3] / ({m}[1] - 1)) END"


def _skewness(m: str) -> str:
    return f"CASE WHEN {m}[3] <> 0 THEN sqrt({m}[1]) * {m}[4] / sqrt({m}[3] * {m}[3] * {m}[3]) END"


def _kurtosis(m: str) -> str:
    return f"CASE WHEN {m}[3] <> 0 THEN {m}[1] * {m}[5] / ({m}[3] * {m}[3]) - 3 END"


def _sample_covariance(c: str) -> str:
    return f"CASE WHEN {c}[1] > 1 THEN {c}[4] / ({c}[1] - 1) END"


def _correlation(c: str) -> str:
    return f"CASE WHEN {c}[1] > 1 THEN {c}[4] / sqrt({c}[5] * {c}[6]) END"


def _determination(c: str) -> str:
    ratio = f"({c}[4] / sqrt({c}[5] * {c}[6]))"
    return f"CASE WHEN {c}[6] = 0 THEN NULL WHEN {c}[5] = 0 THEN 1 ELSE {ratio} * {ratio} END"


def _slope(c: str, v: str) -> str:
    return f"CASE WHEN {v}[3] <> 0 THEN {c}[4] / {v}[3] END"


def _intercept(c: str, v: str) -> str:
    return f"CASE WHEN {v}[3] <> 0 THEN {c}[3] - {c}[4] / {v}[3] * {c}[2] END"


_VARIANCE = (_Moments(Merge.VARIANCE, lambda x: [x]),)
_MOMENTS = (_Moments(Merge.MOMENTS, lambda x: [x]),)
_COVARIANCE = (_Moments(Merge.COVARIANCE, lambda x, y: [x, y]),)
_CORRELATION = (_Moments(Merge.CORRELATION, lambda x, y: [x, y]),)
_VARIANCE_OF_X = _Moments(Merge.VARIANCE, lambda y, x: [both(x, y)])
_VARIANCE_OF_Y = _Moments(Merge.VARIANCE, lambda y, x: [both(y, x)])
_LINE = (_Moments(Merge.COVARIANCE, lambda y, x: [x, y]), _VARIANCE_OF_X)

STATISTICS: Mapping[str, tuple[int, tuple[_Moments, ...], Callable[..., str]]] = {
    **dict.fromkeys(("stddev", "std", "stddev_samp"), (1, _VARIANCE, _sample_deviation)),
    "stddev_pop": (1, _VARIANCE, _deviation),
    **dict.fromkeys(("variance", "var_samp"), (1, _VARIANCE, _sample_variance)),
    "var_pop": (1, _VARIANCE, lambda m: f"{m}[3] / {m}[1]"),
    "skewness": (1, _MOMENTS, _skewness),
    "kurtosis": (1, _MOMENTS, _kurtosis),
    "covar_pop": (2, _COVARIANCE, lambda c: f"{c}[4] / {c}[1]"),
    "covar_samp": (2, _COVARIANCE, _sample_covariance),
    "corr": (2, _CORRELATION, _correlation),
    "regr_r2": (2, _CORRELATION, _determination),
    "regr_sxx": (2, (_VARIANCE_OF_X,), lambda m: f"{m}[3]"),
    "regr_syy": (2, (_VARIANCE_OF_Y,), lambda m: f"{m}[3]"),
    "regr_sxy": (2, _COVARIANCE, lambda c: f"{c}[4]"),
    "regr_slope": (2, _LINE, _slope),
    "regr_intercept": (2, _LINE, _intercept),
}
"""For each name: the number of arguments, its moments, and the SQL of the result over lists of them.

Such a list has the count and the mean, then the second, third and fourth moment; of two numbers x and y: the count,
both means, the sum of the products of the deviations, then the sums of the squares of those of x and of y.
"""
