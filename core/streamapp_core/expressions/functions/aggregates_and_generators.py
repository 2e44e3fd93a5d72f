"""Aggregates and generators: calls that stand in certain lists only, where the checker takes them by name."""

from dataclasses import dataclass

MOST_COLLECTED = 1_000
"""The most values of a group that an aggregate collects."""


@dataclass(frozen=True, slots=True)
class Special:
    """A few calls that belong together: their names, how they are written, what they give and mean."""

    names: tuple[str, ...]
    usage: str
    result: str
    doc: str


AGGREGATES = (
    Special(("count",), "count(*), count(a)", "bigint", "Rows; rows where a is not null."),
    Special(
        ("count",),
        "count(distinct a), count(distinct a, b)",
        "bigint",
        "How many different values there are, or rows of values without a null, exactly. Each of them is kept.",
    ),
    Special(
        ("sum",),
        "sum(a)",
        "bigint, decimal or double",
        "Whole numbers wrap around; a decimal gets 10 more digits, up to 38; null if it has more. Null without values.",
    ),
    Special(
        ("sum", "avg"),
        "sum(distinct a), avg(distinct a)",
        "as without it",
        "Of the values that are different, which are kept. No sums of decimals of more than 28 digits.",
    ),
    Special(("avg", "mean"), "avg(a), mean(a)", "double, or decimal", "The sum over the count of what is not null."),
    Special(
        ("min", "max"),
        "min(a), max(a)",
        "the type of a",
        "The least and the greatest, also of arrays and structs; NaN is the greatest number, and -0.0 is given as 0.0.",
    ),
    Special(
        ("try_sum", "try_avg"),
        "try_sum(a), try_avg(a)",
        "as sum and avg",
        "The same, but null once a sum of whole numbers has been too large (slow).",
    ),
    Special(("count",), "count(a, b, ...)", "bigint", "Rows where none is null."),
    Special(("count_if",), "count_if(a)", "bigint", "Rows for which the condition is true."),
    Special(
        ("bool_and", "every", "bool_or", "any", "some"),
        "bool_and(a), bool_or(a)",
        "boolean",
        "Whether a condition is true for all, or for any, of the rows where it is not null. Also every; any, some.",
    ),
    Special(
        ("bit_and", "bit_or", "bit_xor"), "bit_and(a), bit_or(a), bit_xor(a)", "the type of a", "Of all whole numbers."
    ),
    Special(
        ("first", "last", "any_value", "first_value", "last_value"),
        "first(a), last(a)",
        "the type of a",
        "The value with the least and the latest event time; of equal times the one that came first, or last. Without "
        "nulls: `first(a) ignore nulls`, or `first(a, true)`. Also first_value, any_value; last_value.",
    ),
    Special(
        ("max_by", "min_by"),
        "max_by(a, b), min_by(a, b), max_by(a, b, 3)",
        "the type of a; an array",
        "The value of a where b is greatest, or least; of equal ones that with the latest event time, then the one "
        "that came last. With a number (up to 100000) so many as an array, by b; of equal ones those that Spark keeps "
        "of rows in the order of arrival (slow).",
    ),
    Special(
        ("stddev", "std", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "skewness", "kurtosis"),
        "stddev(a), stddev_pop(a), variance(a), var_pop(a), skewness(a), kurtosis(a)",
        "double",
        "Of the sample or the whole population; null where that divides by zero. Also std, stddev_samp; var_samp.",
    ),
    Special(
        ("corr", "covar_pop", "covar_samp"),
        "corr(a, b), covar_pop(a, b), covar_samp(a, b)",
        "double",
        "The correlation and the covariance of the rows where both are not null.",
    ),
    Special(
        (
            "regr_count",
            "regr_avgx",
            "regr_avgy",
            "regr_sxx",
            "regr_syy",
            "regr_sxy",
            "regr_slope",
            "regr_intercept",
            "regr_r2",
        ),
        "regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x), ...",
        "double; bigint of regr_count",
        "The line through the points (x, y) where both are not null. Also regr_count, regr_avgx, regr_avgy, regr_sxx, "
        "regr_syy, regr_sxy.",
    ),
    Special(
        ("median", "percentile", "percentile_cont", "percentile_disc"),
        "median(a), percentile(a, 0.9), percentile_disc(0.9) within group (order by a)",
        "double",
        "The value that so many are not above, between two of them if need be (not of percentile_disc). Also "
        "percentile_cont; of `array(0.5, 0.9)` an array. Each different value is kept.",
    ),
    Special(
        ("percentile_approx", "approx_percentile"),
        "percentile_approx(a, 0.9), percentile_approx(a, array(0.5, 0.9), 100)",
        "the type of a; an array",
        "About the same, of one of the values: its place is off by one over the accuracy (10000), as a share of all. "
        "Also approx_percentile. Up to 50000 values and 10000 samples are kept.",
    ),
    Special(
        ("mode",),
        "mode(a, true), mode() within group (order by a desc), mode(a)",
        "the type of a",
        "The most frequent value; of several the least, or the greatest, or the one that Spark's hash map has first "
        "(not of decimals and bytes). Each different value is kept.",
    ),
    Special(
        ("approx_count_distinct",),
        "approx_count_distinct(a), approx_count_distinct(a, 0.02)",
        "bigint",
        "About how many different values there are, with a relative error (0.05) from 0.009 to 0.39. 512 bytes are "
        "kept, at most 16384.",
    ),
    Special(
        ("histogram_numeric",),
        "histogram_numeric(a, 20)",
        "array<struct<x,y>>",
        "The centers x and heights y of 2 to 1000 bins, which are where the values are (slow).",
    ),
    Special(
        ("count_min_sketch",),
        "count_min_sketch(a, 0.01d, 0.99d, 42)",
        "binary",
        "Spark's count-min sketch of whole numbers, texts or bytes, with a relative error, a confidence and a seed: at "
        "most 100000 counts. Slow for texts and bytes.",
    ),
    Special(
        ("theta_sketch_agg", "theta_union_agg", "theta_intersection_agg"),
        "theta_sketch_agg(a), theta_sketch_agg(a, 10), theta_union_agg(b), theta_intersection_agg(b)",
        "binary",
        "The theta sketch of values, as Spark writes it, the union and the intersection of sketches; null where one is "
        "none. Kept are 4096 hashes of 8 bytes, or 2 to the power of the number (4 to 16). Slow for texts and bytes.",
    ),
    Special(
        ("approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine"),
        "approx_top_k(a), approx_top_k(a, 5, 10000), approx_top_k_accumulate(a, 10000), approx_top_k_combine(b)",
        "array<struct<item,count>>; a struct",
        "The most frequent items (5, or so many), nulls too, and how often each came, about; exactly, as long as there "
        "are no more items than are tracked (10000, up to 1000000). The others keep the sketch: approx_top_k_estimate "
        "finds the items, combine counts those of several. Not of floating numbers and decimals. Slow.",
    ),
    Special(
        ("hll_sketch_agg", "hll_union_agg"),
        "hll_sketch_agg(a), hll_sketch_agg(a, 10), hll_union_agg(b), hll_union_agg(b, true)",
        "binary",
        "The HyperLogLog sketch of whole numbers or texts, as Spark writes it, and the union of sketches: null where "
        "one is none, or (without true) of another size. Kept are 4096 registers of a byte, or 2 to the power of the "
        "number (4 to 21). What they estimate: hll_sketch_estimate.",
    ),
    Special(
        tuple(
            f"tuple_{what}_agg_{kind}" for what in ("sketch", "union", "intersection") for kind in ("double", "integer")
        ),
        "tuple_sketch_agg_double(key, a, 12, 'sum'), tuple_union_agg_double(b), tuple_intersection_agg_double(b), ...",
        "binary",
        "The tuple sketch of keys with a double (or int: tuple_sketch_agg_integer) for each, the union and the "
        "intersection of sketches; null where one is none. Numbers of a key are summed up, or put together by the mode "
        "'min', 'max' or 'alwaysone'. Kept are 4096 keys of 16 bytes, or 2 to the power of the number (4 to 16). Slow "
        "for texts and bytes. What they estimate: tuple_sketch_estimate_double, tuple_sketch_summary_double.",
    ),
    Special(
        tuple(f"kll_{what}_agg_{kind}" for what in ("sketch", "merge") for kind in ("bigint", "float", "double")),
        "kll_sketch_agg_bigint(a), kll_sketch_agg_double(a, 400), kll_merge_agg_bigint(b), ...",
        "binary",
        "The sketch of the quantiles of whole numbers, floats (kll_sketch_agg_float) or doubles, with an accuracy "
        "(200) from 8 to 65535, and the merge of sketches: null where one is none. About three times as many values "
        "as the accuracy are kept. Which values of many are kept is chance in Spark, here the same rows keep the same "
        "ones. What they are asked for: kll_sketch_get_quantile_bigint.",
    ),
    Special(
        ("schema_of_variant_agg",),
        "schema_of_variant_agg(variant)",
        "string",
        "The type that holds all that variants hold, as schema_of_variant writes it; null beyond 10000 fields, or if "
        "a million don't suffice to find it. The type is kept. Slow.",
    ),
    Special(
        ("vector_sum", "vector_avg"),
        "vector_sum(vector), vector_avg(vector)",
        "array<float>",
        "The sum, or the mean, of vectors, number by number; those that hold a null don't count. Null if their lengths "
        "differ. Slow.",
    ),
    Special(
        ("bitmap_construct_agg", "bitmap_or_agg", "bitmap_and_agg"),
        "bitmap_construct_agg(bitmap_bit_position(a)), bitmap_or_agg(b), bitmap_and_agg(b)",
        "binary",
        "A bitmap of 32768 bits: of positions, or of bitmaps. Null for a position that it does not have.",
    ),
    Special(
        ("listagg", "string_agg"),
        "listagg(a, separator), listagg(a) within group (order by a)",
        "string",
        "The texts that are not null, joined, by event time and arrival or in the order of the texts. Also "
        "listagg(distinct a) with an order, and string_agg. Each value is kept.",
    ),
    Special(
        ("collect_list", "array_agg", "collect_set"),
        "collect_list(a), collect_set(a)",
        "an array",
        "The values that are not null, nested ones too, by event time and arrival; or each different one once, the "
        "least first, as collect_list(distinct a). Each of them is kept. Also array_agg.",
    ),
    Special(
        ("collect_list",),
        "array_join(slice(collect_list(a), 1, n), separator)",
        "string",
        f"The first n values (n is 1 to {MOST_COLLECTED}) in the order of their event times as texts, joined by the "
        "separator; those that are null are left out. An empty text without values.",
    ),
    Special(
        (),
        "sum(a) filter (where b)",
        "as without it",
        "Of the rows for which the condition is true; behind any aggregate.",
    ),
)
GENERATORS = (
    Special(
        ("explode", "explode_outer"),
        "explode(array) as name, explode(map) as (name, name)",
        "the type of an element; those of key and value",
        "A row for each element or entry; none of a null. Without names: col; key, value. explode_outer makes a row of "
        "nulls where there would be none.",
    ),
    Special(
        ("posexplode", "posexplode_outer"),
        "posexplode(array) as (place, name)",
        "int, then as explode",
        "As explode, with the place from 0 before: pos. Also of a map.",
    ),
    Special(
        ("inline", "inline_outer"),
        "inline(array), inline(array) as (name, ...)",
        "the fields",
        "A row for each struct, with its fields as columns.",
    ),
    Special(
        ("variant_explode", "variant_explode_outer"),
        "variant_explode(variant) as (name, name, name)",
        "int, string, variant",
        "A row for each element of an array or field of an object that a variant holds, with its place from 0, its "
        "name (null of elements) and its value; none of others. Without names: pos, key, value. Slow.",
    ),
    Special(
        ("stack",),
        "stack(2, a, b, c, d) as (name, name)",
        "the common types",
        "So many rows (a literal) of the values, one row after the other. Without names: col0, col1.",
    ),
    Special(
        ("json_tuple",),
        "json_tuple(json, 'a', 'b') as (name, name)",
        "string",
        "One row with the fields of a JSON object that have these names, as texts; nulls if the text is none. Without "
        "names: c0, c1. Slow.",
    ),
)
AGGREGATE_NAMES = frozenset(name for special in AGGREGATES for name in special.names)
NULLS_COUNT = frozenset({"first", "last", "any_value", "first_value", "last_value"})
"""Aggregates that may be null as their first or last row is."""
GENERATOR_NAMES = frozenset(name for special in GENERATORS for name in special.names)
