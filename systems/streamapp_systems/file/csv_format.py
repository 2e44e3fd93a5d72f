"""CSV files, read and written.

Text is UTF-8. The null value is null; in quotes it is text. Empty lines are skipped, but in a file of one column they
are rows with an empty value.
"""

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from io import TextIOWrapper

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from streamapp_core.spec.streams import CsvOptions
from streamapp_systems.file.compressed_files import open_bytes, open_stream
from streamapp_systems.file.file_chunks import BLOCK_SIZE, Chunk, UnreadableRow, check_columns, convert_columns
from streamapp_systems.file.text_values import format_text, parse_text, shorten
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError

_SMALL = 1 << 16


class CsvFormat:
    """Reads CSV files: by the names in their header, or by position when they have none."""

    def __init__(self, options: CsvOptions) -> None:
        self._options = options

    def count(self, path: Place) -> int:
        """Count records, as `FileFormat` says; line breaks in values and malformed records count right."""
        first = first_record(path, self._options)
        pieces = _raw_chunks(path, self._options, len(first), self._names(first)[:1])
        return sum(map(_length, pieces)) if first else 0

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """Read records, as `FileFormat` says."""
        first = first_record(path, self._options)
        if not first:
            return
        found = first if self._options.header else schema.names[: len(first)]
        check_columns(path, found, schema, _column_hint(found, schema.names, self._options))
        wanted = schema.names if self._options.header else self._names(schema.names)
        offset = 0
        for chunk in _raw_chunks(path, self._options, len(first), wanted):
            skipped, offset = max(0, start - offset), offset + _length(chunk)
            if offset <= start:
                continue
            if isinstance(chunk, UnreadableRow):
                yield chunk
            else:
                yield from convert_columns(chunk.slice(skipped), schema, convert_text)

    def _names(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the names that the CSV library knows these first columns of a file by."""
        return columns if self._options.header else [f"f{position}" for position in range(len(columns))]


def csv_lines(rows: pa.Table, options: CsvOptions) -> Iterator[str]:
    """Write rows as CSV lines without their line ends; the header is not among them.

    Values are quoted where reading needs it: around delimiters, quotes and line breaks, and text that would be null.

    Raises:
        pa.ArrowException: a column's type has no text form.
    """
    for batch in rows.to_batches():
        columns = [_quote(format_text(column), options) for column in batch.columns]
        columns = [pc.fill_null(column, options.null_value) for column in columns]
        yield from pc.binary_join_element_wise(*columns, options.delimiter).to_pylist()


def csv_header(names: Sequence[str], options: CsvOptions) -> str:
    """Write the header line."""
    return options.delimiter.join(_quote(pa.array(names, pa.string()), options).to_pylist())


def _quote(texts: pa.Array, options: CsvOptions) -> pa.Array:
    special = pc.or_(
        pc.match_substring_regex(texts, '["\r\n\ufeff]'),
        pc.or_(pc.match_substring(texts, options.delimiter), pc.equal(texts, options.null_value)),
    )
    if not pc.any(special).as_py():
        return texts
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
    return pc.if_else(special, quoted, texts)


def first_record(path: Place, options: CsvOptions) -> Sequence[str]:
    """Read the values of the first line that has any; none if the file has no columns."""
    with open_bytes(path) as content:
        only_nulls = [""] if content.read(1) and not options.header else ()
    with TextIOWrapper(open_bytes(path), encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            return next(filter(None, csv.reader(file, delimiter=options.delimiter)), only_nulls)
        except csv.Error as error:
            raise StreamSystemError(f"{path} is no CSV: its first record can't be read: {error}") from error


def _raw_chunks(path: Place, options: CsvOptions, width: int, names: Sequence[str]) -> Iterator[Chunk]:
    """Read some columns of all records as bytes; records with too few or too many values are unreadable."""
    read_options = pa.csv.ReadOptions(
        use_threads=False, block_size=BLOCK_SIZE, autogenerate_column_names=not options.header
    )
    with _source(path) as source:
        yield from raw_records(
            source, read_options, options, names, first_number=2 if options.header else 1, skip_empty=width > 1
        )


def raw_records(
    source: pa.NativeFile,
    read_options: pa.csv.ReadOptions,
    options: CsvOptions,
    names: Sequence[str],
    *,
    first_number: int,
    skip_empty: bool,
) -> Iterator[Chunk]:
    """Read some columns of a source's records as bytes, in order, by a single thread, which knows their numbers."""
    malformed: deque[pa.csv.InvalidRow] = deque()

    def note(row: pa.csv.InvalidRow) -> str:
        malformed.append(row)
        return "skip"

    parse_options = pa.csv.ParseOptions(
        delimiter=options.delimiter,
        newlines_in_values=True,
        ignore_empty_lines=skip_empty,
        invalid_row_handler=note,
    )
    convert_options = pa.csv.ConvertOptions(
        include_columns=names,
        column_types=dict.fromkeys(names, pa.binary()),
        null_values=[options.null_value],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    with pa.csv.open_csv(source, read_options, parse_options, convert_options) as reader:
        offset = 0
        for block in reader:
            rest = block
            while malformed and (before := malformed[0].number - first_number - offset) <= rest.num_rows:
                if before:
                    yield rest.slice(0, before)
                yield _malformed(malformed.popleft())
                rest = rest.slice(before)
                offset += before + 1
            if rest.num_rows:
                yield rest
            offset += rest.num_rows
        yield from map(_malformed, malformed)


def _source(path: Place) -> pa.NativeFile:
    with open_bytes(path) as file:
        data = file.read(_SMALL + 1)
    if len(data) > _SMALL:
        return open_stream(path)
    # The library takes a file of a single line for empty unless the line is ended.
    return pa.BufferReader(data if data.endswith((b"\n", b"\r")) else data + b"\n")


def _column_hint(found: Sequence[str], wanted: Sequence[str], options: CsvOptions) -> str:
    """Return what may be wrong with the options if none of the columns is found; empty if nobody knows."""
    if len(found) == 1 and len(wanted) > 1:
        other = next((sign for sign in (";", "\t", "|", ",") if sign != options.delimiter and sign in found[0]), None)
        written = "\\t" if other == "\t" else other
        return f'If its values are separated so, set the stream\'s `csv: {{delimiter: "{written}"}}`' if other else ""
    if options.header and len(found) == len(wanted) and not set(found) & set(wanted):
        return "If its first line is a record and no header, set the stream's `csv: {header: false}`; else mend it"
    return ""


def _malformed(row: pa.csv.InvalidRow) -> UnreadableRow:
    return UnreadableRow(
        reason=f"the record has {row.actual_columns} values, not {row.expected_columns}: {shorten(row.text)}"
    )


def convert_text(column: pa.Array, to: pa.DataType) -> pa.Array:
    """Read a column of raw values as a type; raises as `parse_text`."""
    return parse_text(pc.cast(column, pa.string()), to)


def _length(chunk: Chunk) -> int:
    return 1 if isinstance(chunk, UnreadableRow) else chunk.num_rows
