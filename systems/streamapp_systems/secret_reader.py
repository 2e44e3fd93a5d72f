"""Secrets that systems name: values that are read where this process finds them.

On Kubernetes that is a Secret, read by the operator or mounted in a pod; on one machine, the environment or a file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from streamapp_core.deployment.kubernetes_names import NAMESPACE_VARIABLE, SECRETS_FOLDER
from streamapp_systems.protocols import StreamSystemError

SECRETS_FOLDER_VARIABLE = "STREAMAPP_SECRETS"
"""Environment variable: the folder with one subfolder per secret, each with a file for each key."""

_USERNAME, _PASSWORD = "username", "password"


class SecretReader(Protocol):
    """Reads the secrets that systems name, from where this process finds them."""

    def read(self, secret: str, key: str) -> str | None:
        """Return the value of a key of a secret; None if it is not there.

        Raises:
            StreamSystemError: it can't be read, or is no text.
        """
        ...

    def advice(self, secret: str, key: str) -> str:
        """Return what is missing, and what its reader can do about it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretItems:
    """The items of a Secret in an app's namespace that have been read; empty if it is not there."""

    namespace: str
    items: Mapping[str, bytes] = field(repr=False)

    def read(self, secret: str, key: str) -> str | None:
        """See `SecretReader.read`."""
        value = self.items.get(key)
        return None if value is None else _text(value, f"Secret {secret} in namespace {self.namespace}", key)

    def advice(self, secret: str, key: str) -> str:
        """See `SecretReader.advice`."""
        return secret_advice(secret, key, self.namespace, missing=not self.items)


class LocalSecrets:
    """Secrets in the environment of a process, else in files as Kubernetes mounts them."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._folder = Path(environment.get(SECRETS_FOLDER_VARIABLE) or SECRETS_FOLDER)

    def read(self, secret: str, key: str) -> str | None:
        """See `SecretReader.read`. One newline at the end of a file does not count.

        Raises:
            StreamSystemError: the file can't be read.
        """
        value = self._environment.get(_variable(secret, key))
        if value is not None:
            return value
        path = self._folder / secret / key
        try:
            return _text(path.read_bytes(), f"secret {secret}: {path}", key).removesuffix("\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StreamSystemError(f"secret {secret}: {path} can't be read ({error.strerror})") from error

    def advice(self, secret: str, key: str) -> str:
        """See `SecretReader.advice`: in the pods of an app, of its Secret."""
        namespace = self._environment.get(NAMESPACE_VARIABLE)
        if namespace is not None:
            return secret_advice(secret, key, namespace)
        return (
            f"secret {secret} has no {key} on this machine: set {_variable(secret, key)}, or write it to the file "
            f"{self._folder / secret / key}"
        )


def _text(value: bytes, where: str, key: str) -> str:
    """Return an item of a secret as text.

    Raises:
        StreamSystemError: it is none.
    """
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise StreamSystemError(f"{where}: {key} is no text, but binary; write it as UTF-8") from error
    if "\0" in text:
        raise StreamSystemError(f"{where}: {key} is no text, but binary: it has a byte of 0")
    return text


def secret_advice(secret: str, key: str, namespace: str, *, missing: bool = False) -> str:
    """Return what a user of a cluster does about a Secret (`missing`), or a key of it, that is not there."""
    named = f"Secret {secret} in namespace {namespace}"
    if missing:
        create = f"{named} is not there. Create it with the keys"
        if key not in (_USERNAME, _PASSWORD):
            return (
                f"{create} tls.crt and tls.key: kubectl create secret tls {secret} --namespace {namespace} "
                "--cert=... --key=..."
            )
        return (
            f"{create} {_USERNAME} and {_PASSWORD}: kubectl create secret generic "
            f"{secret} --namespace {namespace} --from-literal={_USERNAME}=... --from-file={_PASSWORD}=..."
        )
    patch = f'{{"stringData": {{"{key}": "..."}}}}'
    return f"{named} has no key {key}. Add it: kubectl patch secret {secret} --namespace {namespace} --patch '{patch}'"


def _variable(secret: str, key: str) -> str:
    return f"STREAMAPP_SECRET_{secret}_{key}".upper().replace("-", "_").replace(".", "_")
