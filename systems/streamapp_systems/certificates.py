"""Self-signed certificates for HTTPS among the project's own processes, made by OpenSSL's program.

A client gets the certificate on a way that it trusts, so no authority is needed.
"""

import ssl
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_COMMAND = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
    *("-days", "3650"),
)
_SECONDS = 60


class CertificateError(Exception):
    """No certificate can be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCertificate:
    """A certificate as text (PEM), which clients trust, and the server's side of TLS with it and its key."""

    text: str
    context: ssl.SSLContext


def make_certificate(folder: Path, name: str, hosts: Sequence[str] = ()) -> ServerCertificate:
    """Make a certificate for host names in a folder that only this user can read; its key is in memory only.

    Raises:
        CertificateError: OpenSSL's program is missing, or fails.
    """
    certificate, key = write_certificate(folder, name, hosts)
    context = serve_certificate(certificate, key)
    key.unlink()
    return ServerCertificate(text=certificate.read_text(), context=context)


def write_certificate(folder: Path, name: str, hosts: Sequence[str] = ()) -> tuple[Path, Path]:
    """Write a certificate for host names and its key into a folder, and return their files.

    Raises:
        CertificateError: OpenSSL's program is missing, or fails.
    """
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    named = ["-addext", "subjectAltName=" + ",".join(f"DNS:{host}" for host in hosts)] if hosts else []
    try:
        subprocess.run(  # noqa: S603 - a fixed command
            [*_COMMAND, "-subj", f"/CN={name}", *named, "-keyout", str(key), "-out", str(certificate)],
            capture_output=True,
            check=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = error.stderr.decode(errors="replace") if isinstance(error, subprocess.CalledProcessError) else ""
        raise CertificateError(
            f"{error} {said}. The image needs the program openssl (Debian: the package ca-certificates brings it)"
        ) from error
    return certificate, key


def serve_certificate(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the server's side of TLS 1.3 with a certificate and its key.

    Raises:
        OSError: they can't be read, or do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    return context
