"""The settings by which Spark's processes talk only to each other: all connections are authenticated and encrypted."""

import os
from pathlib import Path

_ENCRYPTED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.authEngineVersion": "2",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.network.crypto.saslFallback": "false",
}
"""The defaults of the cipher and of the engine are the weaker ones, kept by Spark for older releases."""


def rpc_security_settings(driver_file: Path) -> dict[str, str]:
    """Return the settings for a secret that the driver has in a file, and executors in a variable that is set already.

    With a file for executors, Spark writes no such variable into their pods, where everybody could read it.
    """
    return _ENCRYPTED | {
        "spark.authenticate.secret.driver.file": str(driver_file),
        "spark.authenticate.secret.executor.file": os.devnull,
    }
