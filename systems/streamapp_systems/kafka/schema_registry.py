"""A client of a schema registry with Confluent's API, which Apicurio, Karapace and Redpanda have too."""

import base64
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

from streamapp_core.spec.systems import SchemaRegistry
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.secret_reader import SecretReader

AVRO, PROTOBUF = "AVRO", "PROTOBUF"
"""Kinds of schemas."""
_CONTENT = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND, _CONFLICT, _TOO_MANY, _SERVER_ERROR = 404, 409, 429, 500
_LOGIN_REFUSED = (401, 403)
_LARGEST_ANSWER = 16 << 20
_DEEPEST_REFERENCE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema:
    """A schema, and the names and texts of those it refers to, each after its own; `kind` is AVRO, PROTOBUF or JSON."""

    text: str
    kind: str
    references: tuple[tuple[str, str], ...] = ()


class SchemaRegistryClient:
    """Asks one registry; every request is a connection of its own, as there are few.

    Every method raises:
        Unavailable: the registry does not answer, or can't at the moment.
        StreamSystemError: it refuses the login, or answers what is not understood.
    """

    def __init__(self, where: str, url: str, headers: Mapping[str, str], tls: ssl.SSLContext, timeout: float) -> None:
        """Take where the spec names the registry, its address, and for how many seconds it may be silent."""
        self._where = where
        self._url = url.rstrip("/")
        self._headers = {**headers, "Accept": f"{_CONTENT}, application/json", "Content-Type": _CONTENT}
        self._opener: OpenerDirector = build_opener(ProxyHandler({}), HTTPSHandler(context=tls))
        self._timeout = timeout

    def schema(self, number: int) -> RegisteredSchema | None:
        """Return the schema with an id; None if there is none."""
        found = self._ask("GET", f"/schemas/ids/{number}")
        return None if found is None else self._with_references(found)

    def versions(self, subject: str) -> tuple[int, ...]:
        """Return the numbers of a subject's schemas, the newest last; none of a subject that is not there."""
        found = self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions")
        if found is None:
            return ()
        if not isinstance(found, list) or not all(isinstance(number, int) for number in found):
            raise self._not_understood(found)
        return tuple(sorted(found))

    def version(self, subject: str, number: int) -> RegisteredSchema | None:
        """Return one of a subject's schemas; None if it has been deleted."""
        found = self._version(subject, number)
        return None if found is None else self._with_references(found)

    def version_id(self, subject: str, number: int) -> int | None:
        """Return the id of one of a subject's schemas; None if it has been deleted."""
        found = self._version(subject, number)
        return None if found is None else self._number(found)

    def id_of(self, subject: str, schema: RegisteredSchema) -> int | None:
        """Return the id of a schema of a subject; None if it is not registered."""
        found = self._ask("POST", f"/subjects/{quote(subject, safe='')}", _given(schema))
        return None if found is None else self._number(found)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Register a schema, and return its id: that which it has, if it is registered already.

        Raises:
            StreamSystemError: it is not compatible with the subject's others.
        """
        return self._number(self._ask("POST", f"/subjects/{quote(subject, safe='')}/versions", _given(schema)))

    def incompatibility(self, subject: str, schema: RegisteredSchema) -> str | None:
        """Return why a schema is not compatible with a subject's newest; None if it is, or is the first."""
        path = f"/compatibility/subjects/{quote(subject, safe='')}/versions/latest?verbose=true"
        found = self._ask("POST", path, _given(schema))
        if found is None or (isinstance(found, dict) and found.get("is_compatible") is True):
            return None
        if not isinstance(found, dict) or found.get("is_compatible") is not False:
            raise self._not_understood(found)
        messages = found.get("messages")
        return " ".join(map(str, messages)) if isinstance(messages, list) and messages else "it gives no reason"

    def _with_references(self, found: Any, depth: int = 0) -> RegisteredSchema:  # noqa: ANN401 - JSON
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
            raise self._not_understood(found)
        before: list[tuple[str, str]] = []
        for reference in found.get("references") or ():
            if not isinstance(reference, dict) or depth > _DEEPEST_REFERENCE:
                raise self._not_understood(found)
            other = self._version(str(reference.get("subject")), reference.get("version"))
            if other is None:
                raise StreamSystemError(f"{self}: there is no {reference}, which a schema refers to")
            inner = self._with_references(other, depth + 1)
            before += [*inner.references, (str(reference.get("name")), inner.text)]
        return RegisteredSchema(
            text=found["schema"],
            kind=str(found.get("schemaType") or AVRO),
            references=tuple(dict.fromkeys(before)),
        )

    def _version(self, subject: str, number: object) -> Any:  # noqa: ANN401 - JSON
        return self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions/{quote(str(number), safe='')}")

    def _number(self, found: Any) -> int:  # noqa: ANN401 - JSON
        if not isinstance(found, dict) or not isinstance(found.get("id"), int):
            raise self._not_understood(found)
        return int(found["id"])

    def _ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON
        """Return what the registry answers; None if it has not got what was asked for."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._url + path, data, dict(self._headers), method=method)  # noqa: S310 - http or https, as the spec is checked
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                content = answer.read(_LARGEST_ANSWER)
        except HTTPError as error:
            with error:
                return self._refused(error.code, error.read(_LARGEST_ANSWER).decode(errors="replace"))
        except (URLError, HTTPException, OSError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise Unavailable(f"{self} does not answer: {reason}. Check its address, and that it runs") from error
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._not_understood(content[:80]) from None

    def _refused(self, status: int, text: str) -> None:
        """Return if something is not there.

        Raises:
            Unavailable, StreamSystemError: anything else is the matter.
        """
        message = _message(text)
        if status == _NOT_FOUND:
            return
        if status == _TOO_MANY or status >= _SERVER_ERROR:
            raise Unavailable(f"{self} can't answer at the moment ({status}): {message}")
        if status in _LOGIN_REFUSED:
            raise StreamSystemError(
                f"{self} refuses the login ({status}): {message}. Check {self._where}.secretName, and the user's rights"
            )
        if status == _CONFLICT:
            raise StreamSystemError(f"{self}: the schema is not compatible with those before it: {message}")
        raise StreamSystemError(f"{self} refuses the request ({status}): {message}")

    def _not_understood(self, found: object) -> StreamSystemError:
        return StreamSystemError(
            f"{self} answers what is not understood: {str(found)[:200]}. Check that {self._where}.url is that of a "
            "registry with Confluent's API"
        )

    def __str__(self) -> str:
        return f"schema registry {self._url}"


def _given(schema: RegisteredSchema) -> dict[str, str]:
    """Return a schema as a request has it; older registries know no other kind than Avro, so that has no name."""
    return {"schema": schema.text} | ({} if schema.kind == AVRO else {"schemaType": schema.kind})


def _message(text: str) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return text[:200]


def open_schema_registry(
    system: str, registry: SchemaRegistry, secrets: SecretReader, timeout: float
) -> SchemaRegistryClient:
    """Return a client of a system's registry, with the login and the authority that its secret names, read now.

    Raises:
        StreamSystemError: the secret is not there, or has neither.
    """
    where = f"spec.systems.{system}.kafka.schemaRegistry"
    read: Callable[[str], str | None] = lambda key: (  # noqa: E731 - three short readings
        None if registry.secret_name is None else secrets.read(registry.secret_name, key)
    )
    user, password, authority = read("username"), read("password"), read("ca.crt")
    if (registry.secret_name is not None and (user is None) != (password is None)) or (
        registry.secret_name is not None and user is None and authority is None
    ):
        missing = "username" if user is None else "password"
        raise StreamSystemError(f"{where}: {secrets.advice(registry.secret_name, missing)}")
    try:
        tls = ssl.create_default_context(cadata=authority)
    except (ssl.SSLError, ValueError) as error:
        raise StreamSystemError(
            f"{where}: ca.crt of secret {registry.secret_name} is no certificate: {error}"
        ) from None
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    return SchemaRegistryClient(
        where, registry.url, {} if user is None else {"Authorization": f"Basic {login}"}, tls, timeout
    )
