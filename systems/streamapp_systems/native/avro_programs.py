"""Records of Avro as columns by the native library, which runs a program of steps."""

import ctypes
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa

from streamapp_core.avro.avro_schema import AvroKind, AvroType
from streamapp_core.schema import Schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.native.avro_steps import PlannedStep, plan_record
from streamapp_systems.native.column_shapes import made_columns
from streamapp_systems.native.decoded_messages import MessageFunction, NativeDecodingError, NativeRows

_HALF = (1 << 64) - 1
_MOST_STEPS = 100_000
"""A writer's schema has 10,000 types at the most."""


class _Step(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("kind", "column", "first", "count")),
        *((name, ctypes.c_int64) for name in ("size", "low", "high")),
        *((name, ctypes.c_uint64 * 2) for name in ("factor", "limit")),
    )


class _Program(ctypes.Structure):
    _fields_ = (
        ("steps", ctypes.c_void_p),
        ("shapes", ctypes.c_void_p),
        ("shape_count", ctypes.c_int64),
        ("symbols", ctypes.c_char_p),
        ("symbol_ends", ctypes.c_void_p),
    )


class NativeAvroDecoder:
    """Decodes records that were written with one schema."""

    def __init__(self, writer: AvroType, schema: Schema) -> None:
        """Take the writer's schema, and the columns of rows.

        Raises:
            NativeDecodingError: the library is absent, or can't read such records.
        """
        self._function = MessageFunction("streamapp_decode_avro")
        if writer.kind is not AvroKind.RECORD:
            raise NativeDecodingError(f"{writer} is no record")
        self._schema = arrow_schema(schema)
        root, self._shapes = made_columns(self._schema)
        steps = _in_order(plan_record(writer, schema.columns, root))
        symbols = [symbol.encode() for step in steps for symbol in step.symbols]
        self._steps = _compiled(steps)
        self._symbol_ends = (ctypes.c_int64 * (len(symbols) + 1))(*accumulate(map(len, symbols), initial=0))
        self._program = _Program(
            steps=ctypes.addressof(self._steps),
            shapes=ctypes.addressof(self._shapes),
            shape_count=len(self._shapes),
            symbols=b"".join(symbols),
            symbol_ends=ctypes.addressof(self._symbol_ends),
        )

    def decode(self, values: pa.BinaryArray, header: bytes = b"") -> NativeRows | None:
        """Decode records that stand behind a header; None if another decoder has to read all of them.

        Raises:
            MemoryError: there is too little.
        """
        found = self._function.decode(self._program, values, self._schema, header)
        return None if found is None else NativeRows(kinds=found[0], rows=pa.Table.from_batches([found[1]]))


def _in_order(root: PlannedStep) -> list[PlannedStep]:
    """Return all steps, those below one next to each other."""
    steps = [root]
    for step in steps:
        steps += step.below
        if len(steps) > _MOST_STEPS:
            raise NativeDecodingError("the schema has too many types")
    return steps


def _compiled(steps: Sequence[PlannedStep]) -> "ctypes.Array[_Step]":
    compiled = (_Step * len(steps))()
    first, symbol = 1, 0
    for into, step in zip(compiled, steps, strict=True):
        into.kind, into.column = step.kind, -1 if step.column is None else step.column.number
        into.first, into.count = (symbol, len(step.symbols)) if step.symbols else (first, len(step.below))
        into.size, into.low, into.high = step.size, step.low, step.high
        into.factor[:] = step.factor & _HALF, step.factor >> 64
        into.limit[:] = step.limit & _HALF, step.limit >> 64
        first += len(step.below)
        symbol += len(step.symbols)
    return compiled
