"""Samples of files: CSV, NDJSON or Parquet, in a folder, in folders that are columns, or alone."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_core.data_types import STRING, Column, DataType, TypeKind
from streamapp_core.inference.csv_dialect import guess_dialect
from streamapp_core.inference.json_fields import guess_json_columns, options_of
from streamapp_core.inference.value_types import null_text, type_of_texts, wider_types
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import CsvOptions, StreamFormat, StreamSpec
from streamapp_core.spec.systems import FileSystem, SystemSpec
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.inference.source_files import SourceFiles, find_files
from streamapp_runtime.inference.source_sample import (
    SAMPLED_FILES,
    ReadRows,
    SourceSample,
    fit_columns,
    folder_in_spec,
    read_chunks,
)
from streamapp_systems.arrow_types import arrow_schema, spec_type
from streamapp_systems.file.column_folders import NULL_FOLDER
from streamapp_systems.file.compressed_files import open_bytes
from streamapp_systems.file.csv_format import first_record
from streamapp_systems.file.file_chunks import BLOCK_SIZE
from streamapp_systems.file.partition_files import file_format
from streamapp_systems.protocols import StreamDescriptor

_FOLDER_TYPES = {TypeKind.BOOLEAN, TypeKind.BIGINT, TypeKind.DATE, TypeKind.TIMESTAMP}


def sample_files(source: str, app_folder: Path, rows: int) -> SourceSample:
    """Read the first rows of some files of a folder, of a pattern of names, or of one file.

    Raises:
        RuntimeFailure: there are none, or they hold nothing of which columns can be guessed.
        StreamSystemError: files can't be read.
    """
    files = find_files(source)
    try:
        return _sample(source, files, app_folder, rows)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RuntimeFailure(f"{source}: its files can't be read as {files.stream.format}: {error}") from error


def _sample(source: str, files: SourceFiles, app_folder: Path, rows: int) -> SourceSample:
    stream, sampled = files.stream, _spread(files.paths)
    described, columns, hidden = _described(stream, sampled, rows)
    by_place = stream.format is StreamFormat.CSV and not described.csv.header

    def read(schema: Schema) -> ReadRows:
        inside = replace(described, folder_columns=tuple(n for n in described.folder_columns if schema.get(n)))
        reader, whole = file_format(inside), _completed(schema, columns) if by_place else schema
        return read_chunks((reader.read(path, arrow_schema(whole), 0) for path in sampled), whole, rows)

    text = stream.format is StreamFormat.CSV
    wider = wider_types if stream.format is StreamFormat.JSON else lambda _: (STRING,) if text else ()
    folders = [Column(name, _folder_type(name, sampled)) for name in described.folder_columns]
    inside = [column for column in columns if column.name not in described.folder_columns]
    fitted = fit_columns((*inside, *folders), read, wider)
    schema = _completed(fitted.schema, columns) if by_place else fitted.schema
    count = sum(map(len, fitted.found.rows)) + len(fitted.found.unreadable)
    return SourceSample(
        label=Path(source).resolve().name.partition(".")[0],
        system=SystemSpec(file=FileSystem(path=folder_in_spec(files.root, source, app_folder))),
        stream=_spec(described, schema),
        schema=schema,
        rows=fitted.found.rows,
        partitions=len(files.paths),
        unreadable=fitted.found.unreadable,
        left_out=(*hidden, *fitted.left_out),
        bounded=True,
        remarks={
            "": [
                f"Guessed from {count:,} rows: the first ones of {len(sampled):,} of {len(files.paths):,} "
                f"file{'s' if len(files.paths) > 1 else ''}, each of which is a partition."
            ]
        },
    )


def _completed(schema: Schema, columns: Sequence[Column]) -> Schema:
    """Return a schema with all columns of files that tell them by their places: those that it lacks are text."""
    return Schema(tuple(schema.get(column.name) or Column(column.name, STRING) for column in columns))


def _spec(described: StreamDescriptor, schema: Schema) -> StreamSpec:
    given: dict[str, Any] = {"system": described.system, "name": described.address, "format": described.format}
    given["schema"] = str(schema)
    if described.folder_columns:
        given["folderColumns"] = described.folder_columns
    if described.format is StreamFormat.CSV:
        options = described.csv.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    else:
        options = options_of(schema.columns, described.json)
    return StreamSpec.model_validate_json(json.dumps(given | ({str(described.format): options} if options else {})))


def _described(
    stream: StreamDescriptor, files: Sequence[Path], rows: int
) -> tuple[StreamDescriptor, Sequence[Column], Sequence[str]]:
    """Return the stream with the layout of its files, the columns that they seem to have, and what can be none."""
    if stream.format is StreamFormat.PARQUET:
        return _parquet(stream, files)
    if stream.format is StreamFormat.CSV:
        return _csv(stream, files, rows)
    objects = [each for path in files for each in _objects(path, rows)]
    found = guess_json_columns(objects)
    return replace(stream, json=found.options), found.columns, found.left_out


def _parquet(
    stream: StreamDescriptor, files: Sequence[Path]
) -> tuple[StreamDescriptor, Sequence[Column], Sequence[str]]:
    schemas = [pq.read_schema(path) for path in files]
    common = [field for field in schemas[0] if all(field.name in other.names for other in schemas)]
    types = {field.name: spec_type(field.type) for field in common}
    columns = [Column(name, kind) for name, kind in types.items() if kind is not None]
    return stream, columns, [name for name, kind in types.items() if kind is None]


def _csv(
    stream: StreamDescriptor, files: Sequence[Path], rows: int
) -> tuple[StreamDescriptor, Sequence[Column], Sequence[str]]:
    dialect = guess_dialect("".join(_beginning(path) for path in files[:1]))
    headers = [header for path in files if (header := first_record(path, dialect))]
    if not headers:
        return stream, (), ()
    names = headers[0] if dialect.header else [f"c{number}" for number in range(1, len(headers[0]) + 1)]
    lower = Counter(name.lower() for name in names)
    usable = [
        name
        for name in names
        if lower[name.lower()] == 1 and (not dialect.header or all(name in header for header in headers))
    ]
    schema = Schema(tuple(Column(name, STRING) for name in usable))
    reader = file_format(replace(stream, csv=dialect, folder_columns=()))
    raw = read_chunks((reader.read(path, arrow_schema(schema), 0) for path in files), schema, rows)
    texts = {name: [text for table in raw.rows for text in table.column(name).to_pylist()] for name in usable}
    null = null_text(list(texts.values()))
    options = CsvOptions(delimiter=dialect.delimiter, header=dialect.header, nullValue=null)
    columns = [Column(name, type_of_texts([text for text in texts[name] if text != null])) for name in usable]
    return replace(stream, csv=options), columns, [name for name in names if name not in usable]


def _beginning(path: Path) -> str:
    """Return the whole lines at the beginning of a file."""
    with open_bytes(path) as file:
        text = file.read(BLOCK_SIZE)
    whole = text[: text.rfind(b"\n") + 1] if len(text) == BLOCK_SIZE else text
    return whole.decode("utf-8-sig", errors="replace")


def _objects(path: Path, most: int) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of the first lines of a file; lines that are none are left to what reads them."""
    with open_bytes(path) as file:
        lines = [line for line in file.readlines(BLOCK_SIZE) if line.strip()][:most]
    found = 0
    for line in lines:
        try:
            value = json.loads(line.decode("utf-8-sig"), parse_float=Decimal)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found += 1
            yield value
    if lines and (not found or lines[0].lstrip().startswith(b"[")):
        raise RuntimeFailure(
            f"{path}: its lines are no JSON objects. A file of JSON has one object a line: of an array "
            "`jq -c '.[]' FILE` makes such lines, and `jq -c .` of objects on several lines"
        )


def _folder_type(name: str, files: Sequence[Path]) -> DataType:
    texts = [
        unquote(value)
        for path in files
        for folder, _, value in (part.partition("=") for part in path.parts[:-1])
        if unquote(folder) == name and value != NULL_FOLDER
    ]
    found = type_of_texts(texts)
    return found if found.kind in _FOLDER_TYPES else STRING


def _spread(files: Sequence[Path]) -> Sequence[Path]:
    """Return some files, from the first to the last."""
    if len(files) <= SAMPLED_FILES:
        return files
    return [files[number * (len(files) - 1) // (SAMPLED_FILES - 1)] for number in range(SAMPLED_FILES)]
