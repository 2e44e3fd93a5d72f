"""What is refused of geometries: as columns, in aggregates, comparisons, hashes and casts."""

import pytest

from streamapp_core.expressions import ExpressionError, check_aggregate, check_select
from streamapp_core.schema import parse_schema

SCHEMA = parse_schema("x binary, i int, s string")


@pytest.mark.parametrize(
    "expression, reason",
    [
        ("st_geomfromwkb(x)", "which no column can hold: write it by st_asbinary"),
        ("array(st_geomfromwkb(x))", "is of type array"),
        ("st_geomfromwkb(x, 4269)", "is 0, 3857, 4326, not 4269"),
        ("st_geomfromwkb(x, i)", "must be a literal"),
        ("st_setsrid(st_geogfromwkb(x), 3857)", "is 4326, not 3857"),
        ("st_asbinary(x)", "takes a geometry or geography, got binary"),
        ("st_asbinary(st_geomfromwkb(x), 'both')", "'NDR' or 'XDR'"),
        ("st_geomfromwkb(x) = st_geomfromwkb(x)", "can't be compared"),
        ("hash(st_geomfromwkb(x))", "no hash"),
        ("cast(st_geomfromwkb(x) as string)", "use hex"),
        ("cast(st_geomfromwkb(x) as binary)", "can't be cast to binary"),
        ("upper(st_geomfromwkb(x))", "expected string, got geometry"),
        ("coalesce(st_geomfromwkb(x), s)", "expected values of one type"),
        ("coalesce(st_geomfromwkb(x), st_geomfromwkb(x, 4326))", "expected values of one type"),
        ("to_json(struct(st_geomfromwkb(x) as a))", "use hex"),
        ("cast(st_geomfromwkb(x) as variant)", "there is no variant"),
    ],
)
def test_an_expression_is_refused_with_its_reason(expression, reason):
    with pytest.raises(ExpressionError, match=reason):
        check_select(f"{expression} as c", SCHEMA)


def test_no_aggregate_takes_a_geometry():
    with pytest.raises(ExpressionError, match="which no column can hold"):
        check_aggregate("st_srid(first(st_geomfromwkb(x))) as c", [], SCHEMA)
