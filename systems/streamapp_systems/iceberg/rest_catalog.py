"""Catalogs of Iceberg that are services with its REST API."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    OAuthError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
)
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from requests import PreparedRequest, RequestException, Response, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import SSLError

from streamapp_core.spec.table_systems import IcebergCatalog
from streamapp_systems.iceberg.catalog import CommitRefusedError
from streamapp_systems.iceberg.file_io import ROOT, PlaceFileIO
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.secret_reader import SecretReader

_SECONDS = 30
_PASSING = (CommitStateUnknownException, ServerError, ServiceUnavailableError, TooManyRequestsError)
_LOGIN = (AuthorizationExpiredError, ForbiddenError, OAuthError, UnauthorizedError)
_AUTHORITIES = "SSL_CERT_FILE"


@dataclass(frozen=True, kw_only=True)
class CatalogService:
    """The service of a catalog, as whom it is asked, and the warehouse; see `CatalogAccess`.

    `properties` are the library's, with what is secret.
    """

    uri: str
    root: Place
    properties: Mapping[str, Any] = field(repr=False)

    @property
    def where(self) -> str:
        """See `CatalogAccess.where`."""
        return f"catalog {self.uri}"

    def open(self, *, create: bool = False) -> "OneTryRestCatalog":  # noqa: ARG002 - a service has its catalog
        """See `CatalogAccess.open`."""
        with self.explained("the catalog can't be opened"):
            return OneTryRestCatalog(self)

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """See `CatalogAccess.explained`."""
        try:
            yield
        except SSLError as error:
            raise StreamSystemError(
                f"{what}: the certificate of {self.where} is not trusted: write that of its authority to a file, and "
                f"set {_AUTHORITIES} to its path: {error}"
            ) from error
        except (*_PASSING, RequestException) as error:
            raise Unavailable(
                f"{what}: {self.where} does not answer: {_said(error)}. Check its address, and that it runs"
            ) from error
        except _LOGIN as error:
            raise StreamSystemError(
                f"{what}: {self.where} refuses the login: {_said(error)}. Check the secret of `catalog.secretName`, "
                "and the rights of its user"
            ) from error
        except (RESTError, ValueError, KeyError, OSError) as error:
            raise StreamSystemError(f"{what}: {self.where}: {_said(error)}") from error


def catalog_service(
    catalog: IcebergCatalog, root: Place, secrets: SecretReader, environment: Mapping[str, str]
) -> CatalogService:
    """Return the service of a catalog; `root` is the warehouse.

    Raises:
        StreamSystemError: the login is not there.
    """
    named = {
        "warehouse": catalog.warehouse,
        "oauth2-server-uri": catalog.oauth2_server_uri,
        "scope": catalog.scope,
    }
    properties: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if catalog.secret_name is not None:
        tokens = f"{catalog.uri.rstrip('/')}/v1/oauth/tokens"  # where the library asks, and warns that it was not told
        properties = {"oauth2-server-uri": tokens, **properties, **_login(catalog.secret_name, secrets)}
    if environment.get(_AUTHORITIES):
        properties["ssl"] = {"cabundle": environment[_AUTHORITIES]}
    return CatalogService(uri=catalog.uri, root=root, properties=properties)


class OneTryRestCatalog(RestCatalog):
    """A catalog that reads files as we do, and tries a commit once; see `TableCatalog`."""

    def __init__(self, service: CatalogService) -> None:
        file_io = f"{PlaceFileIO.__module__}.{PlaceFileIO.__qualname__}"
        self._files = {"py-io-impl": file_io, ROOT: service.root}
        super().__init__("rest", uri=service.uri, **service.properties)

    def load_newer(self, name: Identifier, known: str | None) -> Table | None:
        """See `TableCatalog.load_newer`."""
        table = self.load_table(name)
        return None if table.metadata_location == known else table

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """See `Catalog.commit_table`.

        Raises:
            CommitRefusedError: the table is another than it was.
        """
        try:
            committed: CommitTableResponse = super().commit_table(table, requirements, updates)
        except CommitFailedException as error:
            raise CommitRefusedError(str(error)) from error
        return committed

    def _create_session(self) -> Session:
        session = super()._create_session()
        for scheme in ("http://", "https://"):
            session.mount(scheme, _PatientAdapter())
        return session

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:  # noqa: ARG002
        return PlaceFileIO(self._files)


class _PatientAdapter(HTTPAdapter):
    """Waits for an answer for so long: the library would wait for ever."""

    def send(self, request: PreparedRequest, *given: Any, **named: Any) -> Response:
        return super().send(request, *given, **named | {"timeout": named.get("timeout") or _SECONDS})


def _login(secret: str, secrets: SecretReader) -> Mapping[str, str]:
    token = secrets.read(secret, "token")
    if token is not None:
        return {"token": token}
    found = {item: secrets.read(secret, item) for item in ("client-id", "client-secret")}
    for item, value in found.items():
        if value is None:
            raise StreamSystemError(
                f"catalog.secretName: {secrets.advice(secret, item)}, or name a secret with `token`"
            )
    return {"credential": f"{found['client-id']}:{found['client-secret']}"}


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:1_000] or type(error).__name__
