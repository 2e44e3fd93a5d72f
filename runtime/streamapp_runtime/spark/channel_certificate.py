"""The certificate of a driver's channel: made when the driver starts, and trusted by its processors alone.

Processors get it with their launch, through Spark's encrypted connections, so no authority is needed. The key never
leaves the driver.
"""

import ssl
import subprocess
from pathlib import Path

from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.processor.http_driver_channel import ServerCertificate

_COMMAND = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
    *("-subj", "/CN=streamapp-driver", "-days", "3650"),
)
_SECONDS = 60


def make_channel_certificate(folder: Path) -> ServerCertificate:
    """Make a key and a certificate, with OpenSSL's program, in a folder that only this user can read.

    Raises:
        RuntimeFailure: OpenSSL's program is missing, or fails.
    """
    key, certificate = folder / "channel.key", folder / "channel.pem"
    try:
        subprocess.run(  # noqa: S603 - a fixed command
            [*_COMMAND, "-keyout", str(key), "-out", str(certificate)],
            capture_output=True,
            check=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = error.stderr.decode(errors="replace") if isinstance(error, subprocess.CalledProcessError) else ""
        raise RuntimeFailure(
            f"no certificate can be made for the processors' channel: {error} {said}. The image needs the program "
            "openssl (Debian: the package ca-certificates brings it)"
        ) from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    key.unlink()
    return ServerCertificate(text=certificate.read_text(), context=context)
