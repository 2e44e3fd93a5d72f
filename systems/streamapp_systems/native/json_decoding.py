"""JSON objects as columns by the native library: only what it is sure of, all else is told message by message."""

import ctypes
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.spec.streams import JsonTimestamps
from streamapp_systems.native.decoded_messages import MessageFunction, NativeDecodingError
from streamapp_systems.variants.variant_columns import is_variant

(
    _BOOL,
    _INT8,
    _INT16,
    _INT32,
    _INT64,
    _EPOCH,
    _FLOAT,
    _DOUBLE,
    _DECIMAL,
    _TEXT,
    _DATE,
    _CLOCK,
    _TIMESTAMP,
    _JSON,
    _LIST,
    _MAP,
    _STRUCT,
) = range(17)
_KINDS = {
    pa.bool_(): _BOOL,
    pa.int8(): _INT8,
    pa.int16(): _INT16,
    pa.int32(): _INT32,
    pa.int64(): _INT64,
    pa.float32(): _FLOAT,
    pa.float64(): _DOUBLE,
    pa.string(): _TEXT,
    pa.date32(): _DATE,
    pa.timestamp("us"): _CLOCK,
    pa.timestamp("us", tz="UTC"): _TIMESTAMP,
}
_MICROSECONDS = {JsonTimestamps.SECONDS: 1_000_000, JsonTimestamps.MILLIS: 1_000, JsonTimestamps.MICROS: 1}
_DEEPEST = 40
_FIRST_POWER, _LAST_POWER = -342, 308
_POWER_BITS = 128


class _Node(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in ("kind", "parameter", "scale", "first_child", "child_count", "left_out")),
        *((name, ctypes.c_int64) for name in ("name", "name_length")),
    ]


class _Schema(ctypes.Structure):
    _fields_ = [
        ("nodes", ctypes.c_void_p),
        ("node_count", ctypes.c_int64),
        ("names", ctypes.c_char_p),
        ("powers", ctypes.c_void_p),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """The way to read values of a type: as which built type, and the names and kinds of what is in them."""

    code: int
    built: pa.DataType
    parameter: int = 0
    scale: int = 0
    children: tuple[tuple[str, "_Kind"], ...] = ()
    left_out: bool = False

    @property
    def holds_maps(self) -> bool:
        return self.code == _MAP or any(kind.holds_maps for _, kind in self.children)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedObjects:
    """The `MessageKind` of each message, and the columns of those that are rows; None: left out."""

    kinds: npt.NDArray[np.uint8]
    count: int
    columns: tuple[pa.Array | None, ...]


class NativeJsonDecoder:
    """Decodes messages of JSON objects with one schema."""

    def __init__(self, fields: pa.Schema, timestamps: JsonTimestamps, left_out: Collection[str]) -> None:
        """Take the names and types of the objects' fields, and which columns may be left out once they are checked.

        Raises:
            NativeDecodingError: the library is absent, or can't read such objects.
        """
        self._function = MessageFunction("streamapp_decode_json")
        kinds = [
            _left_out(_kind(field.type, timestamps), field) if field.name in left_out else _kind(field.type, timestamps)
            for field in fields
        ]
        self._built = [None if kind.left_out else kind.built for kind in kinds]
        self._schema = pa.schema([(str(place), built) for place, built in enumerate(self._built) if built is not None])
        root = _Kind(code=_STRUCT, built=pa.null(), children=tuple(zip(fields.names, kinds, strict=True)))
        self._nodes, self._names = _compile(root)
        self._powers = _powers()
        self._description = _Schema(
            nodes=ctypes.addressof(self._nodes),
            node_count=len(self._nodes),
            names=self._names,
            powers=self._powers.ctypes.data,
        )

    def decode(self, values: pa.BinaryArray) -> DecodedObjects:
        """Decode messages; columns have the built types: texts stay in place of what the library does not convert.

        Raises:
            MemoryError: there is too little.
        """
        found = self._function.decode(self._description, values, self._schema)
        if found is None:  # a text is no longer than its message
            raise MemoryError("JSON messages are too large for their columns")
        kinds, rows = found
        columns = iter(rows.columns)
        return DecodedObjects(
            kinds=kinds,
            count=rows.num_rows,
            columns=tuple(None if built is None else next(columns) for built in self._built),
        )


def _kind(kind: pa.DataType, timestamps: JsonTimestamps, depth: int = 0) -> _Kind:
    if depth == _DEEPEST:
        raise NativeDecodingError("the schema is nested too deeply")
    if pa.types.is_nested(kind) and not is_variant(kind):
        return _nested_kind(kind, timestamps, depth)
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    if zoned and timestamps is not JsonTimestamps.TEXT:
        return _Kind(code=_EPOCH, built=kind, parameter=_MICROSECONDS[timestamps])
    if kind in _KINDS:
        return _Kind(code=_KINDS[kind], built=kind)
    if pa.types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
        return _Kind(code=_DECIMAL, built=kind, parameter=kind.precision, scale=kind.scale)
    if is_variant(kind):
        return _Kind(code=_JSON, built=pa.binary())
    if zoned or pa.types.is_binary(kind):
        return _Kind(code=_TEXT, built=pa.string())
    raise NativeDecodingError(f"there is no native decoding of {kind}")


def _nested_kind(kind: pa.DataType, timestamps: JsonTimestamps, depth: int) -> _Kind:
    if pa.types.is_struct(kind):
        children = tuple((field.name, _kind(field.type, timestamps, depth + 1)) for field in kind.fields)
        fields = [field.with_type(part.built) for field, (_, part) in zip(kind.fields, children, strict=True)]
        return _Kind(code=_STRUCT, built=pa.struct(fields), children=children)
    if pa.types.is_list(kind):
        element = _kind(kind.value_type, timestamps, depth + 1)
        return _Kind(code=_LIST, built=pa.list_(kind.value_field.with_type(element.built)), children=(("", element),))
    if pa.types.is_map(kind):
        key, value = _Kind(code=_TEXT, built=pa.string()), _kind(kind.item_type, timestamps, depth + 1)
        entry = _Kind(code=_STRUCT, built=pa.null(), children=(("", key), ("", value)))
        built = pa.map_(pa.string(), kind.item_field.with_type(value.built))
        return _Kind(code=_MAP, built=built, children=(("", entry),))
    raise NativeDecodingError(f"there is no native decoding of {kind}")


def _left_out(kind: _Kind, field: pa.Field) -> _Kind:
    """Return a kind whose values are only checked, which the library does for what it converts itself."""
    return kind if kind.built != field.type or kind.holds_maps else _without_values(kind)


def _without_values(kind: _Kind) -> _Kind:
    children = tuple((name, _without_values(child)) for name, child in kind.children)
    return replace(kind, children=children, left_out=True)


def _compile(root: _Kind) -> tuple["ctypes.Array[_Node]", bytes]:
    """Return the description of a kind for the library, level by level, and the names of fields in it."""
    kinds = [("", root)]
    first_children = []
    for _, kind in kinds:
        first_children.append(len(kinds))
        kinds += kind.children
    encoded = [name.encode() for name, _ in kinds]
    nodes = (_Node * len(kinds))()
    begin = 0
    for node, first_child, name, (_, kind) in zip(nodes, first_children, encoded, kinds, strict=True):
        node.kind, node.parameter, node.scale = kind.code, kind.parameter, kind.scale
        node.first_child, node.child_count, node.left_out = first_child, len(kind.children), kind.left_out
        node.name, node.name_length = begin, len(name)
        begin += len(name)
    return nodes, b"".join(encoded)


@cache
def _powers() -> npt.NDArray[np.uint64]:
    """Return the leading bits of powers of five, high and low, which the rounding of doubles takes."""
    numbers = list(map(leading_bits, range(_FIRST_POWER, _LAST_POWER + 1)))
    return np.array([(number >> 64, number & (1 << 64) - 1) for number in numbers], np.uint64)


def leading_bits(power: int) -> int:
    """Return the 128 leading bits of a power of five, rounded down, or up where its inverse has so few bits."""
    if power >= 0:
        number: int = 5**power << _POWER_BITS
        return number >> number.bit_length() - _POWER_BITS
    divisor: int = 5**-power
    return (1 << divisor.bit_length() + _POWER_BITS - 1) // divisor + (divisor.bit_length() <= _POWER_BITS // 2)
