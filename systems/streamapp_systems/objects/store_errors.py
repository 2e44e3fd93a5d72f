"""The errors of stores of objects, by what their libraries write of an answer: what is the matter, and what to do."""

import re

from streamapp_systems.protocols import StreamSystemError, Unavailable

_LAYOUT = re.compile(r"\x1b\[[0-9;]*m|↳|\s+")
_CODE = re.compile(r"<Code>\s*(\w+)\s*</Code>")
_MESSAGE = re.compile(r"<Message>\s*(.*?)\s*</Message>")
_REGION = re.compile(r"<Region>\s*([\w-]+)\s*</Region>|expecting (?:'|\"|&#34;|&quot;)([\w-]+)")
_STATUS = re.compile(r"status code:?\s*(\d{3})")
_NO_ANSWER = re.compile("Error performing|HTTP error|error sending request")
_CERTIFICATE = re.compile(r"(?:InvalidCertificate\(|invalid peer certificate)\W*(\w+)")
_DEBUG = "Debug source:"
_METADATA_SERVICE = "169.254.169.254"
_NO_LOGIN = frozenset(
    {
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
    }
)
_PASSING_CODES = frozenset(
    {
        "ConditionalRequestConflict",
        "InternalError",
        "OperationAborted",
        "RequestTimeout",
        "ServiceUnavailable",
        "SlowDown",
        "ThrottlingException",
    }
)
_PASSING_STATUS = frozenset({408, 429})
_SERVER_ERROR, _NOT_IMPLEMENTED = 500, 501
_DENIED = frozenset({401, 403})
_MOVED = frozenset({301, 307, 308})
_BAD_REQUEST = 400
_NOT_FOUND = 404
_LONGEST = 500


class ObjectChanged(StreamSystemError):  # noqa: N818 - what happened to the object
    """Another object was put where one is being read. Look again, or take it away."""


def explained_store_error(place: str, where: str, error: Exception) -> StreamSystemError:
    """Return what a library's error about an object means; `where` is the address of its store.

    It is `Unavailable` where the store does not answer, or can't at the moment.
    """
    whole = _LAYOUT.sub(" ", str(error))
    text = whole.split(_DEBUG)[0].strip()
    distrusted = _first(_CERTIFICATE, whole)
    if distrusted is not None:
        return StreamSystemError(
            f"{place}: the certificate of {where} is not trusted ({distrusted}): write that of its authority to a "
            "file, and set SSL_CERT_FILE to its path"
        )
    code, status = _first(_CODE, text) or "", int(_first(_STATUS, text) or 0)
    said = f"{_first(_MESSAGE, text) or text[:_LONGEST]}{f' ({code})' if code else ''}"
    if _METADATA_SERVICE not in text and _passes(text, code, status):
        return Unavailable(f"{place}: {where} does not answer: {said}. Check its address, and that it runs")
    return StreamSystemError(f"{place}: {_refusal(where, text, code, status, said)}")


def _passes(text: str, code: str, status: int) -> bool:
    """Return whether a request may be answered later: libraries also fail without one, at what they have read."""
    if not status:
        return _NO_ANSWER.search(text) is not None
    fails = status >= _SERVER_ERROR and status != _NOT_IMPLEMENTED
    return fails or status in _PASSING_STATUS or code in _PASSING_CODES


def _refusal(where: str, text: str, code: str, status: int, said: str) -> str:
    if _METADATA_SERVICE in text:
        return (
            f"there are no credentials for {where}: name a secret (`store.secretName`), set "
            f"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the pod an identity: {said}"
        )
    if code == "NoSuchBucket":
        return f"{where} has no such bucket: create it, or correct the path"
    region = _first(_REGION, text)
    if region is not None or status in _MOVED or (status == _BAD_REQUEST and not code):
        wanted = f"`{region}`" if region is not None else "that of the bucket"
        return f"{where} refuses the region: set `store.region` to {wanted}: {said}"
    if code in _NO_LOGIN or (status == _NOT_FOUND and "access key" in said):
        return f"{where} refuses the credentials: correct them, or the clock: {said}"
    if status in _DENIED:
        return (
            f"{where} denies it: {said}. Grant the user s3:ListBucket on the bucket, and s3:GetObject, "
            "s3:PutObject and s3:DeleteObject on what is below the path (s3:GetObject alone where it is only read)"
        )
    return f"{where}: {said}"


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return None if found is None else next((group for group in found.groups() if group is not None), None)
