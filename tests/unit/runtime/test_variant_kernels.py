"""Variants: what was encoded is decoded again, in Spark's bytes; hostile texts give nulls, and in time."""

import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.kernels.variant_encoding import Node, VariantKind, decoded, encoded
from streamapp_runtime.kernels.variant_kernels import parsed_variant, schema_of_variant, variant_json, variant_part

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


def test_the_encoding_is_sparks():
    [found] = parsed_variant(pa.array(['{"a":1,"b":0.8}'])).to_pylist()
    assert found == {
        "value": b"\x02\x02\x00\x01\x00\x02\x08\x0c\x01\x20\x01\x08\x00\x00\x00",
        "metadata": b"\x01\x02\x00\x01\x02ab",
    }


@pytest.mark.parametrize(
    "text",
    ["", " ", "x", "{'a':1}", '{"a":1,"a":2}', '"\\ud83d"', "[" * 500 + "]" * 500, '"' + "x" * 2**24 + '"'],
    ids=lambda text: text[:12],
)
def test_a_text_that_is_no_variant_is_null(text):
    assert parsed_variant(pa.array([text])).to_pylist() == [None]


def test_a_part_has_the_names_of_its_own_fields_only():
    parts = variant_part(parsed_variant(pa.array(['{"long":{"b":[1]}}'])), pa.array(["$.long"]))
    assert variant_json(parts).to_pylist() == ['{"b":[1]}']
    assert parts.to_pylist()[0]["metadata"] == b"\x01\x01\x00\x01b"


def test_the_type_of_objects_that_all_differ_is_null_in_time():
    text = "[" + ",".join(f'{{"k{number}":1}}' for number in range(50_000)) + "]"
    variants = parsed_variant(pa.array([text]))
    start = time.process_time()
    assert schema_of_variant(variants).to_pylist() == [None]
    assert time.process_time() - start < 60
