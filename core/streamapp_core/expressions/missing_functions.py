"""Functions of Spark, Flink and other databases that users look for, and the way to say it here."""

INSTEAD = {
    "strftime": "date_format(at, 'yyyy-MM-dd')",
    "json_extract": "get_json_object(a, '$.b'), or a struct or map in the schema of the stream, and its fields: a.b",
    "assert_true": "filter: a condition that does not hold can't stop an app",
    "raise_error": "filter: no row can stop an app",
    "make_interval": "timestamp + make_interval(...), or make_dt_interval(...) and make_ym_interval(...)",
    "tumble": "window(at, '1 hour'), behind `group by` in a query",
    "hop": "window(at, '1 hour', '5 minutes'), behind `group by` in a query",
    "session": "session_window(at, '30 minutes'), behind `group by` in a query",
    "grouping": "one aggregate for each way of grouping",
}
"""The way to say it, by the name of a function that is not there."""
