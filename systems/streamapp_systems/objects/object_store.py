"""Buckets of stores that speak S3, opened: which store, with which credentials, and what it must be able to do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from streamapp_core.spec.table_systems import ObjectStore
from streamapp_core.storage_urls import StorageUrl, parse_storage_url
from streamapp_systems.objects.object_path import ObjectPath, Place
from streamapp_systems.objects.store_errors import ObjectChanged, explained_store_error
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.secret_reader import SecretReader

if TYPE_CHECKING:
    from obstore.store import S3Store

_DEFAULT_REGION = "us-east-1"
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_LOGIN_VARIABLES = {
    "access_key_id": "AWS_ACCESS_KEY_ID",
    "secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
}
_TOKEN_VARIABLES = frozenset({"aws_session_token", "aws_token", "session_token", "token"})
"""In small letters. The libraries take each as the session token; they can't be told that there is none."""
_SECONDS = 20
"""How long a request is tried again, while the store does not answer."""
_BACKOFF = timedelta(milliseconds=100)
_LONGEST_BACKOFF = timedelta(seconds=2)
_TRIES = 30
_ENDPOINT_OPTIONS = ("aws_endpoint", "aws_endpoint_url_s3")
_ITEMS = {"access_key_id": "access-key-id", "secret_access_key": "secret-access-key"}
"""The credentials by their names in the libraries, and those of the items of a secret."""
_MORE_ITEMS = {"session_token": "session-token"}
_PROBE, _COPIED_PROBE = ".streamapp/conditional-writes", ".streamapp/conditional-copies"


@dataclass(frozen=True, kw_only=True)
class ObjectBucket:
    """A bucket, how its store is reached, and as whom; without credentials the libraries find those of the process.

    What is said here is said to the libraries whatever the environment has: they would take that for what is left out.
    """

    name: str
    endpoint: str | None
    region: str
    path_style: bool
    credentials: Mapping[str, str] = field(repr=False)

    @property
    def url(self) -> str:
        """See `Bucket.url`."""
        return f"s3://{self.name}"

    @property
    def where(self) -> str:
        """The store, for messages."""
        return self.endpoint or f"S3 in {self.region}"

    @property
    def storage_options(self) -> dict[str, str]:
        """The options by which deltalake opens the bucket.

        A version of a table is written by a conditional request: no option or variable of the environment may make it
        an unconditional one.
        """
        return self._options | {
            "timeout": "30s",
            "connect_timeout": "5s",
            "max_retries": str(_TRIES),
            "retry_timeout": f"{_SECONDS}s",
        }

    @cached_property
    def objects(self) -> "S3Store":
        """See `Bucket.objects`."""
        from obstore.store import S3Store

        options: dict[str, Any] = {**self._options}
        options["aws_copy_if_not_exists"] = "multipart"
        allow_http = options.pop("aws_allow_http") == "true"
        return S3Store(
            self.name,
            **options,
            client_options={
                "allow_http": allow_http,
                "timeout": "30s",
                "connect_timeout": "5s",
            },
            retry_config={
                "max_retries": _TRIES,
                "retry_timeout": timedelta(seconds=_SECONDS),
                "backoff": {"init_backoff": _BACKOFF, "max_backoff": _LONGEST_BACKOFF, "base": 2},
            },
        )

    @contextmanager
    def explained(self, place: str) -> Iterator[None]:
        """See `Bucket.explained`."""
        from obstore.exceptions import BaseError, PreconditionError

        try:
            yield
        except PreconditionError as error:
            raise ObjectChanged(f"{place} has changed while it was read: another object was put there") from error
        except FileNotFoundError as error:
            if "<Code>NoSuchKey" in str(error) or "<Code>" not in str(error):
                raise FileNotFoundError(f"{place} is not there") from error
            raise explained_store_error(place, self.where, error) from error
        except (BaseError, OSError) as error:
            raise explained_store_error(place, self.where, error) from error

    @property
    def _options(self) -> dict[str, str]:
        found = {
            "aws_region": self.region,
            "aws_virtual_hosted_style_request": "false" if self.path_style else "true",
            "aws_allow_http": "true" if (self.endpoint or "").startswith("http://") else "false",
            "aws_conditional_put": "etag",
            "aws_skip_signature": "false",
            **{f"aws_{name}": value for name, value in self.credentials.items()},
        }
        return found if self.endpoint is None else {**found, **dict.fromkeys(_ENDPOINT_OPTIONS, self.endpoint)}


def open_place(
    folder: Path, path: str, store: ObjectStore | None, environment: Mapping[str, str], secrets: SecretReader
) -> Place:
    """Return the place that a system's path names: below `folder`, or in a store.

    Raises:
        StreamSystemError: the path is of no store that is known, or a credential is not there.
    """
    url = parse_storage_url(path)
    if url is None:
        return folder / path
    reason = url.problem
    if reason is not None:
        raise StreamSystemError(f"{path}: {reason}")
    return ObjectPath(_bucket(url, store or ObjectStore(), environment, secrets), url.key)


def check_conditional_writes(root: ObjectPath) -> None:
    """Check that a store refuses to write an object again that is to be written once: commits of tables rest on it.

    Raises:
        StreamSystemError: it does write it again, or does not know such requests.
    """
    from obstore.exceptions import AlreadyExistsError, NotSupportedError

    probe = root / _PROBE
    try:
        with root.bucket.explained(str(probe)):
            try:
                for _ in range(2):
                    root.bucket.objects.put(probe.key, b"", mode="create")
            except AlreadyExistsError:
                return
            except NotSupportedError:
                pass
    except StreamSystemError as error:
        if "NotImplemented" not in str(error):
            raise
    raise StreamSystemError(
        f"{root}: the store has no conditional writes (`If-None-Match: *`), so two writers could both write one "
        "version of a table, and rows would be lost. Use a store that has them, such as Amazon S3, MinIO or Ceph"
    )


def check_conditional_copies(root: ObjectPath) -> None:
    """Check that a store copies no object onto another one where it is told so: files are published by such copies.

    Raises:
        StreamSystemError: it does, or does not know such requests.
    """
    from obstore.exceptions import AlreadyExistsError

    check_conditional_writes(root)
    probe, copied = root / _PROBE, root / _COPIED_PROBE
    try:
        with root.bucket.explained(str(copied)):
            try:
                for _ in range(2):
                    root.bucket.objects.copy(probe.key, copied.key, overwrite=False)
            except AlreadyExistsError:
                return
    except StreamSystemError as error:
        if "NotImplemented" not in str(error):
            raise
    raise StreamSystemError(
        f"{root}: the store can't copy an object on the condition that there is none of its new name "
        "(`If-None-Match: *` with CompleteMultipartUpload), so a file could be replaced while it is read. Use a store "
        "that can, such as Amazon S3, or write a table (`delta`)"
    )


def _bucket(url: StorageUrl, store: ObjectStore, environment: Mapping[str, str], secrets: SecretReader) -> ObjectBucket:
    endpoint = store.endpoint or _variable(environment, _ENDPOINT_VARIABLES)
    if endpoint is not None:
        _check_endpoint(endpoint)
    secret = store.secret_name
    credentials = _ambient_credentials(environment) if secret is None else _credentials(secret, secrets)
    if credentials and "session_token" not in credentials:
        _check_no_token(environment)
    return ObjectBucket(
        name=url.bucket,
        endpoint=None if endpoint is None else endpoint.rstrip("/"),
        region=store.region or _variable(environment, _REGION_VARIABLES) or _DEFAULT_REGION,
        path_style=(endpoint is not None or "." in url.bucket) if store.path_style is None else store.path_style,
        credentials=credentials,
    )


def _check_endpoint(endpoint: str) -> None:
    """Refuse what is no address: the library asks whatever it takes it for, or panics."""
    try:
        parts = urlsplit(endpoint)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise StreamSystemError(
            f"`{endpoint}` is no address of a store: write it with scheme, host and port, as in `https://minio:9000` "
            "(`store.endpoint`; without it, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL)"
        )


def _credentials(secret: str, secrets: SecretReader) -> Mapping[str, str]:
    found = {option: secrets.read(secret, item) for option, item in (_ITEMS | _MORE_ITEMS).items()}
    for option, item in _ITEMS.items():
        if found[option] is None:
            raise StreamSystemError(f"store.secretName: {secrets.advice(secret, item)}")
    return {option: value for option, value in found.items() if value is not None}


def _ambient_credentials(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the credentials of the environment, or none, so that the libraries find those of the pod or machine."""
    found = {option: environment[name] for option, name in _LOGIN_VARIABLES.items() if environment.get(name)}
    return found if _ITEMS.keys() <= found.keys() else {}


def _check_no_token(environment: Mapping[str, str]) -> None:
    name = next((name for name in environment if name.lower() in _TOKEN_VARIABLES and environment[name]), None)
    if name is not None:
        raise StreamSystemError(
            f"the environment variable {name} would be sent as the session token of credentials that have none: unset "
            "it, or add `session-token` to the secret of `store.secretName`"
        )


def _variable(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environment[name] for name in names if environment.get(name)), None)
