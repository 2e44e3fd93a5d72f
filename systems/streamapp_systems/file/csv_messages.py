"""Messages that are one record of CSV each, as rows: their values are the columns, in order.

Values that begin with a quote end with one; inside, a quote is written twice, and delimiters and line breaks are text.
Records are first checked one by one, so that a quote that is not closed takes nothing of the next message, and then
read together.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from streamapp_core.spec.streams import CsvOptions
from streamapp_systems.arrow_types import in_time_zone, in_utc
from streamapp_systems.file.csv_format import convert_text, raw_records
from streamapp_systems.file.file_chunks import Chunk, UnreadableRow, convert_columns

_UNCLOSED = "it is no one record of CSV: a quoted value is not closed, or there is text behind it, or a second line"
_LEAST_BLOCK = 1 << 20


class CsvRowReader:
    """Reads messages as rows with these columns."""

    def __init__(self, schema: pa.Schema, options: CsvOptions, time_zone: str) -> None:
        """Take the columns, and the time zone of texts of timestamps that name none."""
        self._schema = schema
        self._shown = in_time_zone(schema, time_zone)
        self._options = options
        delimiter = re.escape(options.delimiter.encode())
        value = rb'(?:"(?:[^"]|"")*+"|[^"%b\r\n][^%b\r\n]*+|)' % (delimiter, delimiter)
        self._record = re.compile(rb"(?:%b)(?:%b%b)*+" % (value, delimiter, value))
        self._needs_check = re.compile(rb'["\r\n]')

    def read(
        self, values: Sequence[bytes], header: int = 0
    ) -> tuple[pa.Table, npt.NDArray[np.bool_], Mapping[int, str]]:
        """Return the rows of the values that can be read, which these are, and why the others, by number, can't.

        Each value begins with a header of some bytes, and may end with a line end.
        """
        reasons: dict[int, str] = {}
        lines: list[bytes] = []
        numbers: list[int] = []
        for number, value in enumerate(values):
            line = value[header:].removesuffix(b"\n").removesuffix(b"\r")
            if not line and len(self._schema) > 1:
                reasons[number] = f"the record is empty, and has {len(self._schema)} values"
            elif self._needs_check.search(line) and not self._record.fullmatch(line):
                reasons[number] = _UNCLOSED
            else:
                lines.append(line)
                numbers.append(number)
        batches = []
        at = 0
        for chunk in self._chunks(lines):
            if isinstance(chunk, UnreadableRow):
                reasons[numbers[at]] = chunk.reason
                at += 1
            else:
                batches.append(chunk)
                at += len(chunk)
        assert at == len(numbers), "each line is one record"
        kept = np.ones(len(values), np.bool_)
        kept[list(reasons)] = False
        return in_utc(pa.Table.from_batches(batches, self._shown), self._schema).combine_chunks(), kept, reasons

    def _chunks(self, lines: Sequence[bytes]) -> Iterator[Chunk]:
        if not lines:
            return
        # Arrow passes over a byte order mark at the beginning: without this one, over one of the first record's text.
        data = codecs.BOM_UTF8 + b"\n".join((*lines, b""))
        names = [f"f{place}" for place in range(len(self._schema))]
        # All is one block, as an empty line at the beginning of a block is not told from its end.
        read_options = pa.csv.ReadOptions(
            use_threads=False, block_size=max(len(data) + 1, _LEAST_BLOCK), column_names=names
        )
        raw = raw_records(pa.BufferReader(data), read_options, self._options, names, first_number=1, skip_empty=False)
        for chunk in raw:
            if isinstance(chunk, UnreadableRow):
                yield chunk
            else:
                yield from convert_columns(chunk, self._shown, convert_text)
