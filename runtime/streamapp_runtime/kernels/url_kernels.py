"""The kernel of the parts of URLs, by the rules of Java's `URI`: RFC 2396, and what that class allows beyond it.

It goes row by row.
"""

import ipaddress
import re
from dataclasses import dataclass

import pyarrow as pa

_MARKS = r"a-zA-Z0-9_\-!.~'()*"
_SPACES = "\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_OTHER = rf"%[0-9a-fA-F]{{2}}|[^\x00-\x9f{_SPACES}]"
_URIC = re.compile(rf"(?:[{_MARKS};/?:@&=+$,\[\]]|{_OTHER})*")
_PATH = re.compile(rf"(?:[{_MARKS}:@&=+$,;/]|{_OTHER})*")
_USER = re.compile(rf"(?:[{_MARKS};:&=+$,]|{_OTHER})*")
_REGISTRY = re.compile(rf"(?:[{_MARKS}$,;:@&=+]|{_OTHER})*")
_SERVER = re.compile(rf"(?:[{_MARKS};:&=+$,@\[\]%]|{_OTHER})*")
_SCHEME = re.compile("[a-zA-Z][a-zA-Z0-9+.-]*")
_SCOPE = re.compile("[a-zA-Z0-9_.]+")
_BROKEN_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST_NAME = re.compile(rf"(?:{_LABEL}|(?:{_LABEL}\.)+[a-zA-Z](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)\.?")
_MAX_PORT = 2**31


@dataclass(frozen=True, slots=True)
class _Authority:
    whole: str | None = None
    user: str | None = None
    host: str | None = None


def url_part(urls: pa.Array, parts: pa.Array) -> pa.Array:
    """Return parts of URLs by their names (`HOST`, ...); null if a URL is none, or has no such part."""

    def found(url: str | None, part: str | None) -> str | None:
        if url is None or part is None:
            return None
        parsed = _parsed(url)
        return parsed.get(part) if parsed else None

    return pa.array(map(found, urls.to_pylist(), parts.to_pylist()), pa.string())


def _parsed(url: str) -> dict[str, str | None] | None:
    scheme, rest = _scheme(url)
    if rest is None:
        return None
    rest, hashed, fragment = rest.partition("#")
    if hashed and not _URIC.fullmatch(fragment):
        return None
    reference = fragment if hashed else None
    if scheme is not None and not rest.startswith("/"):
        opaque = rest and _URIC.fullmatch(rest)
        return {"PROTOCOL": scheme, "REF": reference} if opaque else None
    authority: _Authority | None = _Authority()
    if rest.startswith("//"):
        end = re.compile("[/?]|$").search(rest, 2)
        place = end.start() if end else len(rest)
        if place == 2 == len(rest) and not hashed:  # noqa: PLR2004 - the slashes
            return None
        authority = _authority(rest[2:place]) if place > 2 else authority  # noqa: PLR2004
        rest = rest[place:]
    path, asked, query = rest.partition("?")
    if authority is None or not _PATH.fullmatch(path) or (asked and not _URIC.fullmatch(query)):
        return None
    return {
        "PROTOCOL": scheme,
        "AUTHORITY": authority.whole,
        "USERINFO": authority.user,
        "HOST": authority.host,
        "PATH": path,
        "QUERY": query if asked else None,
        "FILE": path + asked + query,
        "REF": reference,
    }


def _scheme(url: str) -> tuple[str | None, str | None]:
    """Split a URL into its scheme, if it has one, and the rest, which is None if the scheme is malformed."""
    end = re.search("[:/?#]", url)
    if end is None or end[0] != ":":
        return None, url
    scheme = url[: end.start()]
    return (scheme, url[end.end() :]) if _SCHEME.fullmatch(scheme) else (None, None)


def _authority(text: str) -> _Authority | None:
    """Read a server with its user and port, or else a name of a registry; None if it is neither."""
    registry = _REGISTRY.fullmatch(text) is not None
    read = _REGISTRY.match(text)
    if read and _BROKEN_ESCAPE.match(text, read.end()):
        return None
    server = _server(text) if _SERVER.fullmatch(text) else None
    return server or (_Authority(text) if registry else None)


def _server(text: str) -> _Authority | None:
    user: str | None
    user, at, place = text.partition("@")
    if not at:
        user, place = None, text
    elif not _USER.fullmatch(user or ""):
        return None
    if place.startswith("["):
        address, closed, rest = place[1:].partition("]")
        if not closed or not _is_address(address):
            return None
        host = f"[{address}]"
    else:
        host, colon, port = place.partition(":")
        rest = colon + port
        if not _is_four_bytes(host) and not _HOST_NAME.fullmatch(host):
            return None
    digits = rest[1:]
    if rest and (rest[0] != ":" or not re.fullmatch("[0-9]*", digits) or (digits and int(digits[:20]) >= _MAX_PORT)):
        return None
    return _Authority(text, user, host)


def _is_address(text: str) -> bool:
    address, scoped, scope = text.partition("%")
    if scoped and not _SCOPE.fullmatch(scope):
        return False
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def _is_four_bytes(text: str) -> bool:
    numbers = text.split(".")
    return len(numbers) == 4 and all(re.fullmatch("[0-9]+", n) and int(n[:10]) <= 255 for n in numbers)  # noqa: PLR2004
