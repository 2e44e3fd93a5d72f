"""Metadata in ConfigMaps: the store of apps on Kubernetes. One ConfigMap per key; its resourceVersion is the version.

Shards of job models are named by their content, so they are immutable; everything else is small. A value that is text
is stored as such, for people to read; other or long ones are compressed.
"""

import base64
import gzip
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from streamapp_core.deployment.app_documents import DocumentUnreadableError
from streamapp_core.deployment.kubernetes_names import APP_LABEL, KEY_ANNOTATION, SHARD_LABEL, document_name
from streamapp_core.job_model.job_model_shards import SHARD_PREFIX
from streamapp_core.metadata_store import ABSENT, VersionConflict, Versioned
from streamapp_systems.kubernetes.kubernetes_api import (
    Kind,
    KubernetesApi,
    Object,
    ObjectExistsError,
    ObjectNotFoundError,
    RequestRefusedError,
    VersionConflictError,
)

_VALUE = "value"
_COMPRESSED = "value.gz"
_LARGEST_TEXT = 820_000
"""A ConfigMap holds 1 MiB; compression is for what is larger than a shard."""
LARGEST_VALUE = 16 * 1024 * 1024
"""The most bytes of a value. Whoever may write a ConfigMap can put a thousand times its size into it: a reader that
serves many apps must not unpack all of that."""
_GZIP = 16 + zlib.MAX_WBITS
_WRITTEN_ANNOTATION = "streamapp.dev/written-over"


class ConfigMapMetadataStore:
    """See `MetadataStore`; every method may raise `KubernetesError`, and what reads a value `DocumentUnreadableError`.

    `put_all` writes one value after another. Every ConfigMap is owned by the objects in `owners`, and goes with them.
    """

    def __init__(self, api: KubernetesApi, namespace: str, app: str, owners: Sequence[Object]) -> None:
        self._api = api
        self._namespace = namespace
        self._app = app
        self._owners = owners

    def get(self, key: str) -> Versioned | None:
        """See `MetadataStore.get`."""
        found = self._find(key)
        return None if found is None else read_entry(found)

    def put(self, key: str, value: bytes, expected: int | None = None) -> int:
        """See `MetadataStore.put`."""
        try:
            if expected is None and key.startswith(SHARD_PREFIX):
                with suppress(ObjectExistsError):
                    return version_of(self._api.create(Kind.CONFIG_MAP, self._document(key, value)))
            found = self._find(key)
            self._expect(key, expected, found)
            if found is None:
                return version_of(self._api.create(Kind.CONFIG_MAP, self._document(key, value)))
            return self._over(key, value, found, expected)
        except (ObjectExistsError, ObjectNotFoundError, VersionConflictError):
            if expected is not None:
                raise VersionConflict(key, expected, self._version(key)) from None
            return self.put(key, value)

    def put_all(self, values: Mapping[str, bytes]) -> None:
        """See `MetadataStore.put_all`."""
        for key, value in values.items():
            self.put(key, value)

    def delete(self, key: str, expected: int | None = None) -> None:
        """See `MetadataStore.delete`."""
        if expected == ABSENT:
            self._expect(key, expected, self._find(key))
            return
        version = None if expected is None else str(expected)
        if version is not None:
            self._expect(key, expected, self._find(key))
        try:
            self._api.delete(Kind.CONFIG_MAP, self._namespace, document_name(self._app, key), version=version)
        except VersionConflictError:
            assert expected is not None
            raise VersionConflict(key, expected, self._version(key)) from None

    def all(self, prefix: str = "") -> Mapping[str, Versioned]:
        """See `MetadataStore.all`."""
        shards = f",{SHARD_LABEL}" if prefix.startswith(SHARD_PREFIX) else ""
        found = self._api.list(Kind.CONFIG_MAP, self._namespace, f"{APP_LABEL}={self._app}{shards}")
        entries = {key: item for item in found if (key := key_of(item)) is not None and key.startswith(prefix)}
        return {key: read_entry(entries[key]) for key in sorted(entries)}

    def flush(self) -> None:
        """See `MetadataStore.flush`."""

    def close(self) -> None:
        """See `MetadataStore.close`; the API is its owner's to close."""

    def _find(self, key: str) -> Object | None:
        return self._api.get(Kind.CONFIG_MAP, self._namespace, document_name(self._app, key))

    def _version(self, key: str) -> int:
        found = self._find(key)
        return ABSENT if found is None else version_of(found)

    def _expect(self, key: str, expected: int | None, found: Object | None) -> None:
        version = ABSENT if found is None else version_of(found)
        if expected is not None and version != expected:
            raise VersionConflict(key, expected, version)

    def _over(self, key: str, value: bytes, found: Object, expected: int | None) -> int:
        """Write over a ConfigMap. An immutable one has this content already: then only its version is raised.

        A removal of a shard names its version, so that one in use again stays (`job_model.stored_job_model`).
        """
        condition = {} if expected is None else {"resourceVersion": str(expected)}
        if found.get("immutable") and read_entry(found).value == value:
            metadata = {"annotations": {_WRITTEN_ANNOTATION: found["metadata"]["resourceVersion"]}, **condition}
            name = document_name(self._app, key)
            return version_of(self._api.patch(Kind.CONFIG_MAP, self._namespace, name, {"metadata": metadata}))
        body = self._document(key, value)
        body["metadata"] |= condition
        return version_of(self._api.replace(Kind.CONFIG_MAP, body))

    def _document(self, key: str, value: bytes) -> dict[str, Any]:
        shard = key.startswith(SHARD_PREFIX)
        metadata: dict[str, Any] = {
            "name": document_name(self._app, key),
            "namespace": self._namespace,
            "labels": {APP_LABEL: self._app} | ({SHARD_LABEL: "true"} if shard else {}),
            "annotations": {KEY_ANNOTATION: key},
            "ownerReferences": list(self._owners),
        }
        return {"metadata": metadata, **_content(metadata["name"], value)} | ({"immutable": True} if shard else {})


def read_entry(config_map: Object) -> Versioned:
    """Read the value of a document's ConfigMap, and its version.

    Raises:
        DocumentUnreadableError: it is no gzip, or its value has more than `LARGEST_VALUE` bytes.
    """
    compressed = config_map.get("binaryData", {}).get(_COMPRESSED)
    if compressed is not None:
        return Versioned(value=_decompress(config_map, compressed), version=version_of(config_map))
    return Versioned(value=config_map.get("data", {}).get(_VALUE, "").encode(), version=version_of(config_map))


def key_of(config_map: Object) -> str | None:
    """Return the name of the document in a ConfigMap; None if it is no document of an app."""
    key = config_map["metadata"].get("annotations", {}).get(KEY_ANNOTATION)
    return None if key is None else str(key)


def version_of(item: Object) -> int:
    """Return the version of an object as a number; a higher one is newer."""
    return int(item["metadata"]["resourceVersion"])


def _decompress(config_map: Object, compressed: str) -> bytes:
    name = config_map["metadata"]["name"]
    decompressor = zlib.decompressobj(_GZIP)
    try:
        value = decompressor.decompress(base64.b64decode(compressed), LARGEST_VALUE + 1)
    except (ValueError, zlib.error) as error:
        raise DocumentUnreadableError(
            f"ConfigMap {name} can't be read: its {_COMPRESSED} is damaged: {error}"
        ) from None
    if len(value) > LARGEST_VALUE:
        raise DocumentUnreadableError(
            f"ConfigMap {name} is not read: unpacked, it has more than {LARGEST_VALUE} bytes, the most of a document"
        )
    if not decompressor.eof or decompressor.unused_data:
        raise DocumentUnreadableError(
            f"ConfigMap {name} can't be read: its {_COMPRESSED} is cut off, or has more behind"
        )
    return value


def _content(name: str, value: bytes) -> dict[str, Any]:
    if len(value) > LARGEST_VALUE:
        raise RequestRefusedError(
            f"ConfigMap {name} can't be written: its document has {len(value)} bytes, {LARGEST_VALUE} is the most"
        )
    if len(value) <= _LARGEST_TEXT:
        try:
            return {"data": {_VALUE: value.decode()}}
        except UnicodeDecodeError:
            pass
    packed = gzip.compress(value, mtime=0)
    return {"binaryData": {_COMPRESSED: base64.b64encode(packed).decode()}}
