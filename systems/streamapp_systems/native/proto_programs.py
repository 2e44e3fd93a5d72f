"""Messages of Protobuf as columns by the native library, which runs a program of steps."""

import ctypes
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from streamapp_core.schema import Schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.native.column_shapes import MadeColumn, made_columns
from streamapp_systems.native.decoded_messages import MessageFunction, NativeRows
from streamapp_systems.native.proto_steps import Absence, PlannedField, WireForm, plan_message

_HALF = (1 << 64) - 1


class _Step(ctypes.Structure):
    _fields_ = (
        *(
            (name, ctypes.c_int32)
            for name in ("kind", "form", "wire", "number", "column", "list", "oneof", "absence", "first", "count")
        ),
        ("standard", ctypes.c_uint64),
        ("factor", ctypes.c_uint64 * 2),
    )


class _Program(ctypes.Structure):
    _fields_ = (
        ("steps", ctypes.c_void_p),
        ("shapes", ctypes.c_void_p),
        ("shape_count", ctypes.c_int64),
        ("texts", ctypes.c_char_p),
        ("text_ends", ctypes.c_void_p),
        ("text_numbers", ctypes.c_void_p),
    )


class NativeProtoDecoder:
    """Decodes messages of one kind."""

    def __init__(self, message: Descriptor, schema: Schema) -> None:
        """Take the kind of messages, and the columns of rows.

        Raises:
            NativeDecodingError: the library is absent, or can't read such messages.
        """
        self._function = MessageFunction("streamapp_decode_proto")
        self._schema = arrow_schema(schema)
        root, self._shapes = made_columns(self._schema)
        steps = [plan_message(message, schema.columns, root)]
        for step in steps:
            steps += step.below
        texts = [text for step in steps for text in step.texts]
        self._steps = _compiled(steps)
        self._text_ends = (ctypes.c_int64 * (len(texts) + 1))(*accumulate((len(t) for _, t in texts), initial=0))
        self._text_numbers = (ctypes.c_int32 * len(texts))(*(number for number, _ in texts))
        self._program = _Program(
            steps=ctypes.addressof(self._steps),
            shapes=ctypes.addressof(self._shapes),
            shape_count=len(self._shapes),
            texts=b"".join(text for _, text in texts),
            text_ends=ctypes.addressof(self._text_ends),
            text_numbers=ctypes.addressof(self._text_numbers),
        )

    def decode(self, values: pa.BinaryArray, header: bytes = b"") -> NativeRows | None:
        """Decode messages that stand behind a header; None if another decoder has to read all of them.

        Raises:
            MemoryError: there is too little.
        """
        found = self._function.decode(self._program, values, self._schema, header)
        return None if found is None else NativeRows(kinds=found[0], rows=pa.Table.from_batches([found[1]]))


def _compiled(steps: Sequence[PlannedField]) -> "ctypes.Array[_Step]":
    compiled = (_Step * len(steps))()
    first, text = 1, 0
    for into, step in zip(compiled, steps, strict=True):
        into.kind, into.form, into.wire, into.number = step.kind, step.form, step.form.wire, step.number
        into.column, into.list = _number(step.column), _number(step.list_column)
        into.oneof, into.absence = step.oneof, step.absence
        into.first, into.count = (text, len(step.texts)) if step.texts else (first, len(step.below))
        is_text = step.absence is Absence.DEFAULT and step.form is WireForm.BYTES
        into.standard = text if is_text else step.standard
        into.factor[:] = step.factor & _HALF, step.factor >> 64
        first += len(step.below)
        text += len(step.texts)
    return compiled


def _number(column: MadeColumn | None) -> int:
    return -1 if column is None else column.number
