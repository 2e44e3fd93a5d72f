"""A listener with TLS and logins, for a broker that is to be like those of production."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.kafka.jars import BrokerError

MECHANISMS = ("SCRAM-SHA-512", "PLAIN")
ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""Settings of a broker where those who log in may do only what they were granted, and all others anything."""
_STORE_PASSWORD = "of-the-broker"  # noqa: S105 - of a key that lives as long as the broker
_SECONDS = 60

_PROPERTIES = """
sasl.enabled.mechanisms={mechanisms}
listener.name.secured.ssl.keystore.type=PKCS12
listener.name.secured.ssl.keystore.location={keys}
listener.name.secured.ssl.keystore.password={keys_password}
listener.name.secured.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secured.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
  user_{username}="{password}";
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login of a client, by SCRAM or PLAIN."""

    username: str
    password: str

    def properties(self, keys: Path) -> str:
        """Write the broker's settings of the listener named SECURED; its key is in a file."""
        return _PROPERTIES.format(
            mechanisms=",".join(MECHANISMS),
            keys=keys,
            keys_password=_STORE_PASSWORD,
            username=self.username,
            password=self.password,
        )

    @property
    def storage_options(self) -> list[str]:
        """Return the options that the broker's storage is prepared with: SCRAM logins are kept there."""
        return ["--add-scram", f"SCRAM-SHA-512=[name={self.username},password={self.password}]"]


def make_certificate(keys: Path, certificate: Path, host: str) -> None:
    """Make a key for a host, valid for some days, and write its certificate, signed by itself, as PEM.

    Raises:
        BrokerError: Java's keytool can't.
    """
    store = ["-alias", "kafka", "-keystore", str(keys), "-storetype", "PKCS12", "-storepass", _STORE_PASSWORD]
    names = ["-dname", "CN=streamapp-broker", "-ext", f"san=ip:{host}", "-ext", "bc=ca:true"]
    _keytool("-genkeypair", *store, *names, "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "30")
    _keytool("-exportcert", "-rfc", *store, "-file", str(certificate))


def _keytool(*arguments: str) -> None:
    done = subprocess.run(  # noqa: S603 - a fixed command
        ["keytool", *arguments],  # noqa: S607 - Java is on the path: the broker runs on it
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise BrokerError(f"the broker's certificate can't be made:\n{done.stdout}{done.stderr}")
