"""Credentials of a Kafka cluster: values, read from the secret that the spec names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamapp_core.spec.systems import KafkaAuth
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.secret_reader import SecretReader

_USERNAME, _PASSWORD = "username", "password"
_CERTIFICATE, _KEY = "ssl.certificate.pem", "ssl.key.pem"
_ITEMS: Mapping[str, Sequence[str]] = {
    "ssl.ca.pem": ("ssl.ca.pem", "ca.crt"),
    _CERTIFICATE: (_CERTIFICATE, "tls.crt"),
    _KEY: (_KEY, "tls.key"),
    "ssl.key.password": ("ssl.key.password",),
}
"""The settings that are items of a secret: by the setting's own name, or by that of Kubernetes' secrets for TLS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A user of a cluster; the password is never shown."""

    username: str
    password: str = field(repr=False)


def read_credentials(system: str, auth: KafkaAuth, secrets: SecretReader) -> Credentials:
    """Read the credentials that a system's `auth` names.

    Raises:
        StreamSystemError: the secret, or a key of it, is not there.
    """
    found = {}
    for key in (_USERNAME, _PASSWORD):
        value = secrets.read(auth.secret_name, key)
        if value is None:
            raise StreamSystemError(f"spec.systems.{system}.kafka.auth: {secrets.advice(auth.secret_name, key)}")
        found[key] = value
    return Credentials(username=found[_USERNAME], password=found[_PASSWORD])


def read_certificates(system: str, auth: KafkaAuth, secrets: SecretReader) -> Mapping[str, str]:
    """Read the settings of TLS that a system's secret has: certificates and a key, as texts in PEM.

    Raises:
        StreamSystemError: an item is no text; or `auth` has no mechanism, and the secret no certificate and key.
    """
    found = {}
    for setting, items in _ITEMS.items():
        for item in items:
            if setting not in found and (value := secrets.read(auth.secret_name, item)) is not None:
                found[setting] = value
    if auth.mechanism is None and (missing := [part for part in (_CERTIFICATE, _KEY) if part not in found]):
        key = _ITEMS[missing[0]][-1]
        raise StreamSystemError(
            f"spec.systems.{system}.kafka.auth has no mechanism, so its secret has a client's certificate and key: "
            f"{secrets.advice(auth.secret_name, key)}"
        )
    return found
