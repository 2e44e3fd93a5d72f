"""Kernels that encrypt bytes and decrypt them by AES. They go row by row."""

import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.padding import PKCS7

from streamapp_core.expressions.functions.encryption import AES_PADDINGS
from streamapp_runtime.kernels.row_functions import each_row

_VECTOR_SIZES = {"GCM": 12, "CBC": 16, "ECB": 0}
_KEY_SIZES = (16, 24, 32)
_BLOCK = 128


def aes_encrypted(  # noqa: PLR0917 - one for each parameter of the kernel
    values: pa.Array, keys: pa.Array, names: pa.Array, paddings: pa.Array, vectors: pa.Array, aads: pa.Array
) -> pa.Array:
    """Return the bytes encrypted behind their initialization vectors; null of what can't be."""
    return pa.array(each_row(_encrypted, values, keys, names, paddings, vectors, aads), pa.binary())


def aes_decrypted(values: pa.Array, keys: pa.Array, names: pa.Array, paddings: pa.Array, aads: pa.Array) -> pa.Array:
    """Return the bytes that were encrypted; null of what was not."""
    return pa.array(each_row(_decrypted, values, keys, names, paddings, aads), pa.binary())


def _mode(key: bytes, name: str, padding: str) -> str | None:
    mode = name.upper()
    fits = padding.upper() in AES_PADDINGS.get(mode, ()) and len(key) in _KEY_SIZES
    return mode if fits else None


def _cipher(key: bytes, mode: str, vector: bytes) -> Cipher[modes.CBC | modes.ECB]:
    return Cipher(algorithms.AES(key), modes.CBC(vector) if mode == "CBC" else modes.ECB())  # noqa: S305 - as asked for


def _encrypted(  # noqa: PLR0917 - the values of a row
    value: bytes, key: bytes, name: str, padding: str, vector: bytes, aad: bytes
) -> bytes | None:
    mode = _mode(key, name, padding)
    if mode is None or len(vector) != _VECTOR_SIZES[mode] or (aad and mode != "GCM"):
        return None
    if mode == "GCM":
        return vector + AESGCM(key).encrypt(vector, value, aad)
    padder, encryptor = PKCS7(_BLOCK).padder(), _cipher(key, mode, vector).encryptor()
    return vector + encryptor.update(padder.update(value) + padder.finalize()) + encryptor.finalize()


def _decrypted(value: bytes, key: bytes, name: str, padding: str, aad: bytes) -> bytes | None:
    mode = _mode(key, name, padding)
    if mode is None or len(value) < _VECTOR_SIZES[mode] or (aad and mode == "CBC"):
        return None
    vector, held = value[: _VECTOR_SIZES[mode]], value[_VECTOR_SIZES[mode] :]
    try:
        if mode == "GCM":
            return AESGCM(key).decrypt(vector, held, aad)
        if not held:
            return b""
        decryptor, unpadder = _cipher(key, mode, vector).decryptor(), PKCS7(_BLOCK).unpadder()
        return unpadder.update(decryptor.update(held) + decryptor.finalize()) + unpadder.finalize()
    except (InvalidTag, ValueError):
        return None
