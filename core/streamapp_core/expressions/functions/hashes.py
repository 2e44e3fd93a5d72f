"""Functions that hash values, or the bytes of one."""

from functools import partial

from streamapp_core.data_types import TypeKind, unordered
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter, fixed
from streamapp_core.expressions.kernels import CRC32, MURMUR3, SHA2, XXHASH64, Kernel
from streamapp_core.expressions.typed_sql import Value, bound
from streamapp_core.schema import BIGINT, STRING

_BYTES = Parameter("value", Accepts.BINARY)
_ANY = Parameter("value", Accepts.ANY)


def _hashed(kernel: Kernel, *values: Value) -> Value:
    for value in values:
        kind = unordered(value.type) if value.type else None
        if kind is TypeKind.MAP:
            raise Refusal(f"maps have no hash, got {value.type}; take the sorted array of its map_entries")
        if kind:
            raise Refusal(f"variants have no hash, got {value.type}; cast it")
    return Value(kernel.result, kernel.over(*(value.sql for value in values)))


def _sha2(value: Value, bits: Value) -> Value:
    if bits.literal in (0, 256):
        return Value(STRING, f"sha256({value.sql})")

    def write(v: str, n: str) -> str:
        return f"CASE WHEN {n} IN (0, 256) THEN sha256({v}) ELSE {SHA2.over(v, n)} END"

    return Value(STRING, bound([value, bits], write))


HASHES = (
    Function(
        name="hash",
        parameters=(_ANY,),
        repeated=True,
        result="int",
        doc="Spark's own hash of all the values (Murmur3).",
        write=partial(_hashed, MURMUR3),
    ),
    Function(
        name="xxhash64",
        parameters=(_ANY,),
        repeated=True,
        result="bigint",
        doc="The hash of all the values by xxHash64.",
        write=partial(_hashed, XXHASH64),
    ),
    Function(
        name="crc32",
        parameters=(_BYTES,),
        result="bigint",
        doc="The cyclic redundancy check of the bytes.",
        write=lambda value: Value(BIGINT, CRC32.over(value.sql)),
    ),
    Function(
        name="md5",
        parameters=(_BYTES,),
        result="string",
        doc="The MD5 hash of the bytes, in hexadecimal digits.",
        write=fixed(STRING, "md5({0})"),
    ),
    Function(
        name="sha1",
        aliases=("sha",),
        parameters=(_BYTES,),
        result="string",
        doc="The SHA-1 hash of the bytes, in hexadecimal digits.",
        write=fixed(STRING, "sha1({0})"),
    ),
    Function(
        name="sha2",
        parameters=(_BYTES, Parameter("bits", Accepts.WHOLE)),
        result="string",
        doc="The SHA-2 hash of 224, 256 (or 0), 384 or 512 bits, in hexadecimal digits; null for others.",
        write=_sha2,
    ),
)
