"""Encryption by AES: bytes that Spark documents, and what can't be encrypted or decrypted."""

import base64

import pyarrow as pa
import pytest

from streamapp_core.expressions import ExpressionError, check_select
from streamapp_core.schema import parse_schema
from streamapp_runtime.kernels.cipher_kernels import aes_decrypted, aes_encrypted

KEY = b"abcdefghijklmnop12345678ABCDEFGH"
AAD = b"This is an AAD mixed into the input"


def column(value):
    return pa.array([value], pa.string() if isinstance(value, str) else pa.binary())


def encrypted(*row):
    return aes_encrypted(*map(column, row)).to_pylist()[0]


def decrypted(*row):
    return aes_decrypted(*map(column, row)).to_pylist()[0]


@pytest.mark.parametrize(
    "row, written",
    [
        ((b"Spark SQL", b"1234567890abcdef", "ECB", "PKCS", b"", b""), "3lmwu+Mw0H3fi5NDvcu9lg=="),
        ((b"Spark", KEY, "cbc", "DEFAULT", bytes(16), b""), "AAAAAAAAAAAAAAAAAAAAAPSd4mWyMZ5mhvjiAPQJnfg="),
        ((b"Spark", KEY, "GCM", "default", bytes(12), AAD), "AAAAAAAAAAAAAAAAQiYi+sTLm7KD9UcZ2nlRdYDe/PX4"),
    ],
)
def test_bytes_are_encrypted_as_spark_documents_it(row, written):
    value, key, mode, padding, _, aad = row
    assert encrypted(*row) == base64.b64decode(written)
    assert decrypted(base64.b64decode(written), key, mode, padding, aad) == value


@pytest.mark.parametrize(
    "row",
    [
        (b"a", KEY[:15], "ECB", "PKCS", b"", b""),
        (b"a", KEY, "GCM", "DEFAULT", b"", b""),
        (b"a", KEY, "GCM", "PKCS", bytes(12), b""),
        (b"a", KEY, "CBC", "DEFAULT", bytes(12), b""),
        (b"a", KEY, "CBC", "DEFAULT", bytes(16), b"aad"),
        (b"a", KEY, "ECB", "DEFAULT", bytes(16), b""),
        (b"a", KEY, "OFB", "DEFAULT", bytes(16), b""),
        (None, KEY, "ECB", "DEFAULT", b"", b""),
        (b"a", KEY, "ECB", "DEFAULT", None, b""),
    ],
)
def test_what_spark_does_not_encrypt_is_null(row):
    assert encrypted(*row) is None


def test_what_was_not_encrypted_so_is_null():
    written = encrypted(b"Spark", KEY, "GCM", "NONE", bytes(12), AAD)
    assert decrypted(written, KEY, "GCM", "NONE", b"") is None
    assert decrypted(written[:-1], KEY, "GCM", "NONE", AAD) is None
    assert decrypted(b"short", KEY, "GCM", "NONE", b"") is None
    assert decrypted(bytes(17), KEY, "ECB", "PKCS", b"") is None
    assert decrypted(bytes(32), KEY, "CBC", "PKCS", b"") is None


@pytest.mark.parametrize("call", ["aes_encrypt(s, k)", "aes_encrypt(s, k, 'CBC', 'PKCS', '')", "aes_encrypt(s, k, m)"])
def test_encryption_by_a_random_vector_is_refused(call):
    with pytest.raises(ExpressionError, match="Give an iv: 12 bytes"):
        check_select(f"{call} as c", parse_schema("s string, k string, m string"))


@pytest.mark.parametrize("call", ["aes_encrypt(s, s, 'OFB')", "aes_decrypt(s, s, 'GCM', 'PKCS')"])
def test_a_mode_or_padding_that_there_is_not_is_refused(call):
    with pytest.raises(ExpressionError, match=r"takes .*the (modes|paddings) "):
        check_select(f"{call} as c", parse_schema("s string"))
