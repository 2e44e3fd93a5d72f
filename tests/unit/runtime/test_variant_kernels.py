"""Variants: what was encoded is decoded again, in Spark's bytes; hostile texts give nulls, and in time."""

import json
import time

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamapp_core.data_types import VARIANT_PARTS
from streamapp_runtime.kernels.variant_kernels import (
    parsed_variant,
    schema_of_variant,
    variant_json,
    variant_members,
    variant_part,
)
from streamapp_systems.variants.variant_columns import (
    format_variants,
    parse_variants,
    variant_column,
    variants_of,
)
from streamapp_systems.variants.variant_decoding import decoded, members
from streamapp_systems.variants.variant_encoding import Node, Variant, VariantKind, encoded
from streamapp_systems.variants.variant_json import variant_of_json, variant_of_tokens

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_LONG = 2**63
_SCALARS = (
    st.just(Node(VariantKind.NULL))
    | st.booleans().map(lambda held: Node(VariantKind.BOOLEAN, held))
    | st.integers(-_LONG, _LONG - 1).map(lambda held: Node(VariantKind.LONG, held))
    | st.floats(allow_nan=False).map(lambda held: Node(VariantKind.DOUBLE, held))
    | st.floats(allow_nan=False, width=32).map(lambda held: Node(VariantKind.FLOAT, held))
    | st.decimals(places=9, allow_nan=False, min_value=-(10**28), max_value=10**28).map(
        lambda held: Node(VariantKind.DECIMAL, held)
    )
    | _TEXTS.map(lambda held: Node(VariantKind.STRING, held))
    | st.binary().map(lambda held: Node(VariantKind.BINARY, held))
    | st.integers(-(2**31), 2**31 - 1).map(lambda held: Node(VariantKind.DATE, held))
    | st.integers(-_LONG, _LONG - 1).map(lambda held: Node(VariantKind.TIMESTAMP, held))
    | st.integers(-_LONG, _LONG - 1).map(lambda held: Node(VariantKind.TIMESTAMP_NTZ, held))
)
_NODES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner).map(lambda held: Node(VariantKind.ARRAY, held))
        | st.dictionaries(_TEXTS, inner).map(
            lambda held: Node(VariantKind.OBJECT, sorted(held.items(), key=lambda field: field[0].encode("utf-16-be")))
        )
    ),
)


@given(_NODES)
def test_what_was_encoded_is_decoded_again(node):
    assert decoded(encoded(node)) == node


@pytest.mark.parametrize("count", [255, 256, 12_000])
def test_large_arrays_and_objects_are_decoded_again(count):
    node = Node(VariantKind.OBJECT, [(f"{place:06}", Node(VariantKind.LONG, place)) for place in range(count)])
    assert decoded(encoded(node)) == node
    array = Node(VariantKind.ARRAY, [Node(VariantKind.STRING, "x" * (place % 90)) for place in range(count)])
    assert decoded(encoded(array)) == array


@given(_NODES)
def test_the_members_of_a_value_are_its_elements_or_fields(node):
    found = members(encoded(node))
    if node.kind is VariantKind.ARRAY:
        assert found is not None
        assert [(name, decoded(value)) for name, value in found] == [(None, held) for held in node.held]
    elif node.kind is VariantKind.OBJECT:
        assert found is not None
        assert [(name, decoded(value)) for name, value in found] == node.held
    else:
        assert found is None


def test_members_have_places_and_the_names_of_the_whole_value():
    texts = ['{"b":true,"a":[1]}', None, "7", "[]", "[null]"]
    found = variant_members(parsed_variant(pa.array(texts))).to_pylist()
    names = b"\x01\x02\x00\x01\x02ba"
    rows = [[tuple(member.values()) for member in row] if row is not None else None for row in found]
    assert rows == [
        [
            (0, "a", dict(zip(VARIANT_PARTS, (b"\x03\x01\x00\x02\x0c\x01", names), strict=True))),
            (1, "b", dict(zip(VARIANT_PARTS, (b"\x04", names), strict=True))),
        ],
        None,
        None,
        [],
        [(0, None, dict(zip(VARIANT_PARTS, (b"\x00", b"\x01\x00\x00"), strict=True)))],
    ]


_NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,41})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
_PARTS = st.sampled_from(
    [*'{}[]:,"\\ \n\tx-.', "null", "true", '"a"', '"b":', '{"a":1,"a":1}', '"\\ud83d\\ude00"', "\ufeff"]
)
_SOUND = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
).flatmap(lambda value: st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)]))


@given(_NUMBERS | _SOUND | st.lists(_PARTS | _NUMBERS, max_size=8).map("".join))
@example("1" * 5_000)
@example("0." + "1" * 1_000)
@example('{"' + "x" * 50_001 + '":1}')
@example('{"' + "🙂" * 25_001 + '":1}')
@example('"\x7f"')
@example('"\x01"')
@example("[" * 200 + "]" * 200)
@example("[" * 201 + "]" * 201)
@example("1 x")
@example("-0.00")
def test_the_fast_reader_of_json_finds_what_the_exact_one_does(text):
    assert variant_of_json(text) == variant_of_tokens(text)


@pytest.mark.parametrize("array", [False, True])
def test_the_members_of_a_value_with_many_names_have_their_own(array):
    fields = {f"k{number:05}": number for number in range(20_000)}
    text = json.dumps([{name: value} for name, value in fields.items()] if array else fields)
    found = variant_members(parsed_variant(pa.array([text])))
    assert found.nbytes < 10_000_000
    values = found.flatten().field(2)
    expected = [f'{{"{name}":{value}}}' for name, value in fields.items()] if array else list(map(str, fields.values()))
    assert format_variants(values).to_pylist() == expected
    assert found.flatten().field(1).to_pylist() == ([None] * 20_000 if array else list(fields))


def test_a_column_keeps_nulls_and_slices():
    column = parsed_variant(pa.array(["1", None, "[2]", "null"]))
    assert [variant is None for variant in variants_of(column)] == [False, True, False, False]
    assert variant_column(variants_of(column.slice(1))).equals(column.slice(1))
    assert format_variants(column.slice(1)).to_pylist() == [None, "[2]", "null"]
    with pytest.raises(ValueError, match="no variant: an object has a field twice"):
        parse_variants([b'{"a":1}', b'{"a":1,"a":1}'])


def test_the_encoding_is_sparks():
    [found] = variants_of(parsed_variant(pa.array(['{"a":1,"b":0.8}'])))
    assert found == Variant(
        value=b"\x02\x02\x00\x01\x00\x02\x08\x0c\x01\x20\x01\x08\x00\x00\x00",
        metadata=b"\x01\x02\x00\x01\x02ab",
    )


@pytest.mark.parametrize(
    "text",
    ["", " ", "x", "{'a':1}", '{"a":1,"a":2}', '"\\ud83d"', "[" * 500 + "]" * 500, '"' + "x" * 2**24 + '"'],
    ids=lambda text: text[:12],
)
def test_a_text_that_is_no_variant_is_null(text):
    assert parsed_variant(pa.array([text])).to_pylist() == [None]


def test_a_part_has_the_names_of_its_own_fields_only():
    parts = variant_part(parsed_variant(pa.array(['{"long":{"b":[1]}}'])), pa.array(["$.long"]))
    assert variant_json(parts, pa.repeat("UTC", len(parts))).to_pylist() == ['{"b":[1]}']
    [part] = variants_of(parts)
    assert part is not None
    assert part.metadata == b"\x01\x01\x00\x01b"


def test_the_type_of_objects_that_all_differ_is_null_in_time():
    text = "[" + ",".join(f'{{"k{number}":1}}' for number in range(50_000)) + "]"
    variants = parsed_variant(pa.array([text]))
    start = time.process_time()
    assert schema_of_variant(variants).to_pylist() == [None]
    assert time.process_time() - start < 60
