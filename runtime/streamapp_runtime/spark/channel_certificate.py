"""The certificate of a driver's channel: made when the driver starts, and trusted by its processors alone.

Processors get it with their launch, through Spark's encrypted connections. The key never leaves the driver.
"""

from pathlib import Path

from streamapp_runtime.errors import RuntimeFailure
from streamapp_systems.certificates import CertificateError, ServerCertificate, make_certificate


def make_channel_certificate(folder: Path) -> ServerCertificate:
    """Make a key and a certificate in a folder that only this user can read.

    Raises:
        RuntimeFailure: OpenSSL's program is missing, or fails.
    """
    try:
        return make_certificate(folder, "streamapp-driver")
    except CertificateError as error:
        raise RuntimeFailure(f"no certificate can be made for the processors' channel: {error}") from error
