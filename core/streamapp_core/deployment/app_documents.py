"""The common form of an app's documents: JSON under fixed keys, with a schema version; unknown fields are ignored."""

import json
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from streamapp_core.metadata_store import MetadataStore, Versioned

SCHEMA_VERSION = 1


class DocumentUnreadableError(Exception):
    """A document of the app is damaged, or of a later release; the message names it, and what to do."""


class OpenEnum(StrEnum):
    """Words that are for people: one that a later release may add is read as the member `UNKNOWN`."""

    @classmethod
    def _missing_(cls, value: object) -> "OpenEnum | None":
        return cls["UNKNOWN"] if isinstance(value, str) else None


class Document(BaseModel):
    """A part of a document: immutable, camelCase in JSON; fields that a later version may add are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class StoredDocument(Document):
    """A whole document."""

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION)] = SCHEMA_VERSION

    def to_bytes(self) -> bytes:
        """Write the document; equal documents give equal bytes."""
        document = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_entry(cls, key: str, entry: Versioned) -> Self:
        """Read the document that is stored under a key.

        Raises:
            DocumentUnreadableError: it is damaged, or a later release wrote it.
        """
        try:
            return cls.model_validate_json(entry.value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise DocumentUnreadableError(
                f"document `{key}` can't be read ({where}: {first['msg']}): it is damaged, or a later release wrote it"
            ) from None

    @classmethod
    def read(cls, store: MetadataStore, key: str) -> Self | None:
        """Read the document under a key of a store; None if there is none.

        Raises:
            DocumentUnreadableError: it is damaged, or a later release wrote it.
        """
        entry = store.get(key)
        return None if entry is None else cls.from_entry(key, entry)
