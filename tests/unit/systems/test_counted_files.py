"""What is said of files that are not what their stream says, before a record of them is used."""

import gzip
from pathlib import Path

import pytest

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import CsvOptions, StreamFormat
from streamapp_systems.file.counted_files import count_records
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError

ORDERS = "id int, item string, at timestamp"
LINE = "1,tea,2024-05-01T09:15:00Z\n"
RECORDS = f"id,item,at\n{LINE}"


def zipped(content: bytes) -> bytes:
    """Compress without the time of day, as names of tests have it."""
    return gzip.compress(content, mtime=0)


def count(path: Path, content: str | bytes, **options: object) -> int:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    named = {"format": StreamFormat.CSV, "schema": parse_schema(ORDERS)} | options
    return count_records(StreamDescriptor(name="s", system="files", address=path.name, **named), path)  # type: ignore[arg-type]


def test_a_record_that_was_taken_for_a_header_is_no_empty_file(tmp_path: Path) -> None:
    with pytest.raises(StreamSystemError, match=r"1\.csv has no column id, item, at: .*`csv: {header: false}`"):
        count(tmp_path / "1.csv", LINE)
    assert count(tmp_path / "1.csv", LINE, csv=CsvOptions(header=False)) == 1
    assert count(tmp_path / "1.csv", "id,item,at\n") == 0
    assert count(tmp_path / "1.csv", "") == 0


@pytest.mark.parametrize("sign, written", [(";", ";"), ("\t", "\\t"), ("|", "|")])
def test_another_delimiter_is_named(tmp_path: Path, sign: str, written: str) -> None:
    with pytest.raises(StreamSystemError) as raised:
        count(tmp_path / "1.csv", "id,item,at\n".replace(",", sign))
    assert f'`csv: {{delimiter: "{written}"}}`' in str(raised.value)


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("1.csv", zipped(RECORDS.encode()), r"compressed by gzip, .* does not end in `\.gz`: rename it"),
        ("1.csv.gz", zipped(zipped(RECORDS.encode())), "holds what is compressed by gzip"),
        ("1.csv", RECORDS.encode("utf-16"), "UTF-16: write it in UTF-8"),
        ("1.csv", b"PK\x03\x04...", "ZIP archive"),
        ("1.csv", b"PAR1...", "`format: parquet`"),
    ],
)
def test_what_is_no_text_is_named(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    with pytest.raises(StreamSystemError, match=said):
        count(tmp_path / name, content)


def test_compressed_text_is_read_by_its_name(tmp_path: Path) -> None:
    assert count(tmp_path / "1.csv.gz", zipped(RECORDS.encode())) == 1
    lines = b'{"id": 1}\n{"id": 2}\n'
    assert count(tmp_path / "1.jsonl.gz", zipped(lines), format=StreamFormat.JSON) == 2
