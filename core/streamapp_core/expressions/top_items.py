"""The most frequent items, about: aggregates that count items in a sketch."""

from collections.abc import Sequence

from streamapp_core.expressions.aggregate_calls import AggregateCall
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.item_sketches import (
    FOUND,
    ITEMS,
    MOST_TRACKED,
    item_sketch_type,
    item_type,
    items_type,
)
from streamapp_core.expressions.number_literals import number_or, whole
from streamapp_core.expressions.partial_aggregates import PartialsBuilder, SummaryCall
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import TypeKind

_TRACKED = 10_000


def top_items(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value], kept: Value | None) -> Value:
    """Write `approx_top_k`."""
    value, *numbers = arguments
    most, tracked = number_or(arguments, 1, FOUND), number_or(arguments, 2, _TRACKED)
    if len(numbers) > 2 or not _sound(numbers) or most > tracked or call.ordering:  # noqa: PLR2004
        raise invalid(
            f"{call.name} takes a value, perhaps how many are found ({FOUND}), and perhaps how many are tracked"
        )
    kind = _kind(call, value)
    assert value.type is not None
    return builder.add_summary(
        items_type(value.type), _item(value, kept), SummaryCall("top_items", (kind.value, tracked, most))
    )


def item_sketch(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value], kept: Value | None) -> Value:
    """Write `approx_top_k_accumulate`."""
    value, *numbers = arguments
    if len(numbers) > 1 or not _sound(numbers) or call.ordering:
        raise invalid(f"{call.name} takes a value, and perhaps how many are tracked ({_TRACKED})")
    kind = _kind(call, value)
    assert value.type is not None
    parameters = (kind.value, number_or(arguments, 1, _TRACKED), ITEMS[kind])
    return builder.add_summary(item_sketch_type(value.type), _item(value, kept), SummaryCall("item_sketch", parameters))


def item_sketch_union(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    """Write `approx_top_k_combine`."""
    value, *numbers = arguments
    if len(numbers) > 1 or not _sound(numbers):
        raise invalid(f"{call.name} takes a sketch of approx_top_k_accumulate, and perhaps how many items are tracked")
    item = item_type(call.name, value)
    parameters = (item.kind.value, number_or(arguments, 1, 0), ITEMS[item.kind])
    return builder.add_summary(item_sketch_type(item), guarded(value), SummaryCall("item_sketch_union", parameters))


def _item(value: Value, kept: Value | None) -> str:
    """Write an item so that nulls count."""
    item = f"{{'item': {guarded(value)}}}"
    return f"CASE WHEN {guarded(kept)} THEN {item} END" if kept else item


def _kind(call: AggregateCall, value: Value) -> TypeKind:
    if value.type is None or value.kind not in ITEMS:
        raise Refusal(f"{call.name} takes texts, whole numbers, booleans, dates and timestamps, got {value.type}")
    return value.type.kind


def _sound(numbers: Sequence[Value]) -> bool:
    return all(whole(number, 1, MOST_TRACKED) for number in numbers)
