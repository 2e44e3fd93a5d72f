"""Detached signatures with an Ed25519 key, which openssl checks.

openssl pkeyutl -verify -pubin -inkey release.pub -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig
"""

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from tools.cluster.errors import ClusterError


def read_key(pem: bytes) -> Ed25519PrivateKey:
    """Read a private key, as `openssl genpkey -algorithm ed25519` writes it.

    Raises:
        ClusterError: it is no such key.
    """
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ClusterError(f"the key to sign with can't be read: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ClusterError("the key to sign with is no Ed25519 key: openssl genpkey -algorithm ed25519 makes one")
    return key


def sign(file: Path, key: Ed25519PrivateKey) -> Path:
    """Write the signature of a file beside it, and return its path."""
    signature = file.with_name(f"{file.name}.sig")
    signature.write_bytes(key.sign(file.read_bytes()))
    return signature
