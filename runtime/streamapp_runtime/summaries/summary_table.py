"""The summaries by the names under which the SQL of aggregates calls for them."""

from collections.abc import Callable, Mapping

from streamapp_runtime.summaries.bitmaps import PositionsBitmap, intersection_of_bitmaps, union_of_bitmaps
from streamapp_runtime.summaries.count_min import CountMin
from streamapp_runtime.summaries.distinct_estimate import DistinctEstimate
from streamapp_runtime.summaries.distinct_values import DistinctValues
from streamapp_runtime.summaries.greatest_values import GreatestValues
from streamapp_runtime.summaries.hll_summaries import HllOfValues, HllUnion
from streamapp_runtime.summaries.item_summaries import ItemSketch, ItemSketchUnion, TopItems
from streamapp_runtime.summaries.kll_summaries import KllMerge, KllOfValues
from streamapp_runtime.summaries.most_frequent import MostFrequent
from streamapp_runtime.summaries.numeric_histogram import NumericHistogram
from streamapp_runtime.summaries.quantiles import Quantiles
from streamapp_runtime.summaries.summary import Summary
from streamapp_runtime.summaries.theta_summaries import ThetaIntersection, ThetaOfValues, ThetaUnion
from streamapp_runtime.summaries.tuple_summaries import TupleIntersection, TuplesOfValues, TupleUnion
from streamapp_runtime.summaries.variant_schemas import TypeOfVariants
from streamapp_runtime.summaries.vector_sums import VectorMean, VectorSum

_SUMMARIES: Mapping[str, Callable[..., Summary]] = {
    "positions_bitmap": PositionsBitmap,
    "union_of_bitmaps": union_of_bitmaps,
    "intersection_of_bitmaps": intersection_of_bitmaps,
    "count_min": CountMin,
    "distinct_estimate": DistinctEstimate,
    "distinct_values": DistinctValues,
    "greatest_values": GreatestValues,
    "hll_of_values": HllOfValues,
    "hll_union": HllUnion,
    "kll_of_values": KllOfValues,
    "kll_merge": KllMerge,
    "item_sketch": ItemSketch,
    "item_sketch_union": ItemSketchUnion,
    "top_items": TopItems,
    "most_frequent": MostFrequent,
    "numeric_histogram": NumericHistogram,
    "quantiles": Quantiles,
    "theta_of_values": ThetaOfValues,
    "theta_union": ThetaUnion,
    "tuples_of_values": TuplesOfValues,
    "tuple_union": TupleUnion,
    "tuple_intersection": TupleIntersection,
    "type_of_variants": TypeOfVariants,
    "theta_intersection": ThetaIntersection,
    "vector_mean": VectorMean,
    "vector_sum": VectorSum,
}
GIVEN_BACK = frozenset({"distinct_values", "greatest_values"})
"""Summaries whose results are values that they got."""


def summary_of(name: str, parameters: tuple[object, ...]) -> Summary:
    """Return the summary of a name with its parameters."""
    return _SUMMARIES[name](*parameters)
