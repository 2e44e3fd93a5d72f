"""A job model as it is stored: shards of a bounded size and a pointer that names them.

The model is one JSON text, cut into chunks wherever a shard is full: one task may own 10,000 partitions, so no part of
a model is sure to fit into a shard. A *shard* is a line with the stamp of its model, and a chunk of the text.
Its name is made of the SHA-256 of its content. The *pointer* names the shards in order and has the SHA-256 of the whole
text. Equal models give equal bytes.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from streamapp_core.job_model.job_model import SCHEMA_VERSION, JobModel
from streamapp_core.job_model.job_model_errors import JobModelDamagedError, JobModelTooNewError

POINTER = "job-model"
SHARD_PREFIX = "job-model-"
SHARD_BYTES = 800_000
"""The size of a full shard: below 800 KiB, so that it fits into a ConfigMap with all that Kubernetes adds to it."""
LARGEST_MODEL = 64 * SHARD_BYTES
"""The most bytes of a model: some 500,000 partitions. A reader that serves many apps must not read any number."""


class Stamp(BaseModel):
    """The model that a document belongs to, and the version of its schema."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    schema_version: Annotated[int, Field(ge=1)]
    run_id: str
    epoch: Annotated[int, Field(ge=0)]
    version: Annotated[int, Field(ge=1)]

    def __str__(self) -> str:
        return f"run {self.run_id}, epoch {self.epoch}, version {self.version}"


class Pointer(Stamp):
    """The names of the shards of a model, in order; `sha256` is that of their chunks put together."""

    sha256: str
    shards: tuple[str, ...]

    @property
    def stamp(self) -> Stamp:
        """The stamp that each of the shards must have."""
        return Stamp.model_validate(self.model_dump(include=set(Stamp.model_fields)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobModelDocuments:
    """The documents of one job model: the pointer, and the shards by name."""

    pointer: bytes
    shards: Mapping[str, bytes]

    @classmethod
    def of(cls, model: JobModel, *, epoch: int, shard_bytes: int = SHARD_BYTES) -> Self:
        """Return the documents of a model for the driver of `epoch`.

        Raises:
            ValueError: `shard_bytes` has no room for anything but the first line of a shard, or the model is too large.
        """
        stamp = Stamp(schema_version=SCHEMA_VERSION, run_id=model.run_id, epoch=epoch, version=model.version)
        first_line = _json(stamp.model_dump(by_alias=True)) + b"\n"
        room = shard_bytes - len(first_line)
        if room < 1:
            raise ValueError(f"shards of {shard_bytes} bytes are too small: the first line has {len(first_line)}")
        text = _json(model.to_document())
        contents = [first_line + text[start : start + room] for start in range(0, len(text), room)]
        if len(text) > LARGEST_MODEL:
            raise ValueError(f"the job model has {len(text)} bytes, {LARGEST_MODEL} is the most: use fewer partitions")
        names = [_shard_name(content) for content in contents]
        pointer = Pointer(**stamp.model_dump(), sha256=_sha256(text), shards=tuple(names))
        return cls(
            pointer=_json(pointer.model_dump(by_alias=True)),
            shards=dict(zip(names, contents, strict=True)),
        )


def read_pointer(content: bytes) -> Pointer:
    """Read a pointer.

    Raises:
        JobModelTooNewError: a later release wrote it.
        JobModelDamagedError: it is no pointer.
    """
    try:
        document = json.loads(content)
        if isinstance(document, dict) and isinstance(document.get("schemaVersion"), int):
            _check_schema_version(document["schemaVersion"])
        return Pointer.model_validate(document)
    except (ValueError, RecursionError) as error:
        raise JobModelDamagedError(f"the pointer `{POINTER}` is damaged: {_first_line(error)}") from None


def read_shards(pointer: Pointer, shards: Mapping[str, bytes]) -> JobModel:
    """Return the model that a pointer names, from its shards by name.

    Raises:
        JobModelDamagedError: a shard is missing, damaged or of another model.
    """
    chunks = [_chunk(pointer, position, shards.get(name)) for position, name in enumerate(pointer.shards)]
    check_size(pointer, sum(map(len, chunks)))
    text = b"".join(chunks)
    if _sha256(text) != pointer.sha256:
        raise JobModelDamagedError(
            f"the {len(chunks)} shards of the job model ({pointer}) are sound but are not all of it, or not in order: "
            f"the pointer `{POINTER}` is damaged"
        )
    try:
        return parse_job_model(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise JobModelDamagedError(f"the job model ({pointer}) is incomplete: {_first_line(error)}") from None


def check_size(pointer: Pointer, size: int) -> None:
    """Refuse a job model of more bytes than a model may have.

    Raises:
        JobModelDamagedError: it has more.
    """
    if size > LARGEST_MODEL:
        raise JobModelDamagedError(
            f"the {len(pointer.shards)} shards of the job model ({pointer}) have more than {LARGEST_MODEL} bytes, the "
            f"most of a model: the pointer `{POINTER}` is damaged"
        )


def parse_job_model(document: object) -> JobModel:
    """Read a job model from plain values, of this or an earlier schema version; it becomes one of this version.

    Raises:
        JobModelTooNewError: a later release wrote it.
        pydantic.ValidationError: it is no job model.
    """
    if isinstance(document, Mapping) and isinstance(document.get("schemaVersion"), int):
        _check_schema_version(document["schemaVersion"])
    return JobModel.model_validate(document).model_copy(update={"schema_version": SCHEMA_VERSION})


def _chunk(pointer: Pointer, position: int, content: bytes | None) -> bytes:
    name = pointer.shards[position]
    where = f"shard {position + 1} of {len(pointer.shards)} of the job model ({pointer}), `{name}`,"
    if content is None:
        raise JobModelDamagedError(f"{where} is missing")
    if len(content) > SHARD_BYTES:
        raise JobModelDamagedError(f"{where} has {len(content)} bytes, {SHARD_BYTES} is the most")
    if _shard_name(content) != name:
        raise JobModelDamagedError(f"{where} is damaged: its content has the SHA-256 {_sha256(content)}")
    first_line, _, chunk = content.partition(b"\n")
    try:
        stamp = Stamp.model_validate_json(first_line)
    except ValidationError as error:
        raise JobModelDamagedError(f"{where} is no shard: {_first_line(error)}") from None
    if stamp != pointer.stamp:
        raise JobModelDamagedError(f"{where} belongs to another job model ({stamp})")
    return chunk


def _check_schema_version(version: int) -> None:
    if version > SCHEMA_VERSION:
        raise JobModelTooNewError(
            f"the job model has schema version {version}, and this release reads up to {SCHEMA_VERSION}: a later "
            "release wrote it; upgrade StreamApp, or keep using that release"
        )


def _shard_name(content: bytes) -> str:
    return SHARD_PREFIX + _sha256(content)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _json(value: object) -> bytes:
    """Write JSON in one way only, and in ASCII: any chunk of it is text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _first_line(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
