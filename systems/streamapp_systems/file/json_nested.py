"""Nested columns of JSON, read: what is inside of arrays and objects is taken apart, down to columns of plain values.

The plain values are parsed as those of other columns are, so that the same texts are values of a type everywhere.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from streamapp_systems.file.text_values import parse_text
from streamapp_systems.map_keys import check_map_keys
from streamapp_systems.variants.variant_columns import is_variant, parse_variants

Texts: TypeAlias = Sequence[bytes | None]
"""The JSON of one column, without white space around it; None where the field is missing."""
ParsePlain: TypeAlias = Callable[[Texts, pa.DataType], pa.Array]

_NULL = b"null"
_UNUSUAL = re.compile(r'[\\"]')
"""What msgspec takes in no name of a field."""
_NESTING = (b"{", b"[")
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_map = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def field_texts(objects: Sequence[bytes], names: tuple[str, ...]) -> list[list[bytes | None]]:
    """Return the JSON of each of some fields of objects; of a field given twice the last one counts.

    Raises:
        ValueError, RecursionError: a text is no JSON object.
    """
    if any(_UNUSUAL.search(name) for name in names):
        maps = list(map(_decode_map, objects))
        return [[_text(row.get(name)) for row in maps] for name in names]
    decode = _object_decoder(names)
    decoded = list(map(decode, objects))
    return [[_text(getattr(row, f"field{number}")) for row in decoded] for number in range(len(names))]


def only_fields(line: bytes, names: tuple[str, ...], strings: Collection[str] = ()) -> bytes:
    """Return an object with these fields only, each once, on one line; arrays and objects in `strings` as texts.

    Raises:
        ValueError, RecursionError: the text is no JSON object.
    """
    fields = zip(names, field_texts([line], names), strict=True)
    known = ((name, text) for name, (text,) in fields if text is not None)
    one = _object((name, _as_text(text) if name in strings else text) for name, text in known)
    return one.replace(b"\n", b" ") + b"\n"


def object_type(fields: Iterable[tuple[str, Any]]) -> type | None:
    """Return a class for objects with such fields, `field0` and so on, each perhaps missing; None if there can't be."""
    typed, names = [], {}
    for number, (name, kind) in enumerate(fields):
        if _UNUSUAL.search(name):
            return None
        typed.append((f"field{number}", kind, None))
        names[f"field{number}"] = name
    return msgspec.defstruct("Object", typed, rename=names, gc=False)


def parse_nested(texts: Texts, to: pa.DataType, parse_plain: ParsePlain) -> pa.Array:
    """Parse the JSON of one column as values of a type.

    Raises:
        ValueError, RecursionError, pa.ArrowException: a text is no value of the type.
    """
    if is_variant(to):
        return parse_variants(texts)
    if pa.types.is_struct(to):
        return _parse_structs(texts, to, parse_plain)
    if pa.types.is_list(to):
        return _parse_arrays(texts, to, parse_plain)
    if pa.types.is_map(to):
        return _parse_maps(texts, to, parse_plain)
    return parse_plain([_as_text(text) if text else text for text in texts] if pa.types.is_string(to) else texts, to)


def map_array(starts: pa.Array, keys: pa.Array, items: pa.Array, to: pa.DataType, missing: pa.Array | None) -> pa.Array:
    """Return a column of maps.

    Raises:
        ValueError: a key is null or twice in a map.
    """
    maps = pa.MapArray.from_arrays(starts, keys, items, type=to, mask=missing)
    if not pa.types.is_string(to.key_type):
        check_map_keys(maps)
    return maps


def _absent(values: Sequence[object]) -> pa.Array | None:
    """Return which values are None, as masks of nested arrays are; None if none is."""
    return pa.array([value is None for value in values], pa.bool_()) if None in values else None


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Return where the elements of lists begin and end in all their elements; None has none."""
    lengths = map(len, values) if None not in values else (0 if value is None else len(value) for value in values)
    starts = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(values)), out=starts[1:])
    return pa.array(starts, pa.int32())


def _object(members: Iterable[tuple[str, bytes]]) -> bytes:
    return b"{" + b",".join(json.dumps(name).encode() + b":" + text for name, text in members) + b"}"


def _parse_structs(texts: Texts, to: pa.DataType, parse_plain: ParsePlain) -> pa.Array:
    names = tuple(field.name for field in to.fields)
    known = [_checked(text, b"{") for text in texts]
    columns = field_texts([text or b"{}" for text in known], names)
    children = [parse_nested(column, field.type, parse_plain) for column, field in zip(columns, to.fields, strict=True)]
    return pa.StructArray.from_arrays(children, fields=to.fields, mask=_absent(known))


def _parse_arrays(texts: Texts, to: pa.DataType, parse_plain: ParsePlain) -> pa.Array:
    decoded = [None if text is None else _decode_array(_checked(text, b"[") or b"[]") for text in map(_known, texts)]
    elements = [_text(raw) for raw in chain.from_iterable(filter(None, decoded))]
    values = parse_nested(elements, to.value_type, parse_plain)
    return pa.ListArray.from_arrays(_offsets(decoded), values, type=to, mask=_absent(decoded))


def _parse_maps(texts: Texts, to: pa.DataType, parse_plain: ParsePlain) -> pa.Array:
    decoded = [None if text is None else _decode_map(_checked(text, b"{") or b"{}") for text in map(_known, texts)]
    known = list(filter(None, decoded))
    keys = parse_text(pa.array(list(chain.from_iterable(known)), pa.string()), to.key_type)
    values = [_text(raw) for entries in known for raw in entries.values()]
    items = parse_nested(values, to.item_type, parse_plain)
    return map_array(_offsets(decoded), keys, items, to, _absent(decoded))


def _known(text: bytes | None) -> bytes | None:
    return None if text == _NULL else text


def _checked(text: bytes | None, first: bytes) -> bytes | None:
    if text is None or text == _NULL:
        return None
    if not text.startswith(first):
        raise ValueError("it is no JSON object" if first == b"{" else "it is no JSON array")
    return text


def _text(raw: msgspec.Raw | None) -> bytes | None:
    return None if raw is None else bytes(raw)


def _as_text(text: bytes) -> bytes:
    return json.dumps(text.decode(), ensure_ascii=False).encode() if text[:1] in _NESTING else text


@lru_cache(maxsize=1_000)
def _object_decoder(names: tuple[str, ...]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(object_type((name, msgspec.Raw) for name in names) or object).decode
