"""Kernels between bytes and texts: checksums, hashes, character sets. They go row by row, over functions in C."""

import hashlib
import zlib

import pyarrow as pa

_CHARACTER_SETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-32": "utf-32-be",
}
_MARKS = {"\ufeff".encode("utf-16-be"): "utf-16-be", "\ufeff".encode("utf-16-le"): "utf-16-le"}
_HASHES = {224: hashlib.sha224, 256: hashlib.sha256, 0: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}


def crc32(values: pa.Array) -> pa.Array:
    """Return the CRC-32 of bytes, from 0 to 2**32 - 1."""
    return pa.array([None if value is None else zlib.crc32(value) for value in values.to_pylist()], pa.int64())


def sha2(values: pa.Array, bits: pa.Array) -> pa.Array:
    """Return the SHA-2 hash of so many bits in hexadecimal digits; null if there is none."""

    def hashed(value: bytes | None, size: int | None) -> str | None:
        return None if value is None or size not in _HASHES else _HASHES[size](value).hexdigest()

    return pa.array(map(hashed, values.to_pylist(), bits.to_pylist()), pa.string())


def repaired_utf8(values: pa.Array) -> pa.Array:
    """Read bytes as UTF-8, with U+FFFD in place of each part that is none."""
    texts = (None if value is None else value.decode("utf-8", "replace") for value in values.to_pylist())
    return pa.array(texts, pa.string())


def encoded(texts: pa.Array, charsets: pa.Array) -> pa.Array:
    """Write texts in a character set; null if one has characters that the set lacks."""

    def bytes_of(text: str | None, charset: str | None) -> bytes | None:
        if text is None or charset is None:
            return None
        try:
            if charset == "UTF-16":
                return b"\xfe\xff" + text.encode("utf-16-be") if text else b""
            return text.encode(_CHARACTER_SETS[charset])
        except UnicodeError:
            return None

    return pa.array(map(bytes_of, texts.to_pylist(), charsets.to_pylist()), pa.binary())


def decoded(values: pa.Array, charsets: pa.Array) -> pa.Array:
    """Read bytes in a character set; null if they are none of it."""

    def text_of(value: bytes | None, charset: str | None) -> str | None:
        if value is None or charset is None:
            return None
        try:
            if charset == "UTF-16":
                return value[2:].decode(_MARKS[value[:2]]) if value[:2] in _MARKS else value.decode("utf-16-be")
            return value.decode(_CHARACTER_SETS[charset])
        except UnicodeError:
            return None

    return pa.array(map(text_of, values.to_pylist(), charsets.to_pylist()), pa.string())
