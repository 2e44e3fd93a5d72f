"""Outputs in parts: invisible until published, published once, and never at the cost of others' files."""

from pathlib import Path

import pyarrow as pa
import pytest

from streamapp_core.spec.streams import CsvOptions, StreamFormat
from streamapp_systems.file import FileOutput, claim_output, published_parts, remove_parts, staged_parts
from streamapp_systems.protocols import StagedPart, StreamDescriptor, StreamSystemError

STREAM = StreamDescriptor(name="s", system="files", address="out", format=StreamFormat.CSV)
ROWS = pa.table({"k": ["a", None], "n": [1, 2]})
TEXT = "k,n\na,1\n,2\n"


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_rows_are_visible_only_when_published(tmp_path: Path) -> None:
    output = FileOutput(tmp_path, [STREAM], "w")
    output.write("s", ROWS)
    (part,) = output.stage()
    assert part == StagedPart(stream="s", staged="out/.staging/part-w-0.csv", final="out/part-w-0.csv")
    assert names(tmp_path) == [part.staged]
    output.publish([part])
    assert names(tmp_path) == [part.final]
    assert (tmp_path / part.final).read_text() == TEXT


def test_each_stage_makes_parts_of_what_was_written_since(tmp_path: Path) -> None:
    output = FileOutput(tmp_path, [STREAM], "w")
    assert output.stage() == ()
    output.write("s", ROWS.slice(0, 0))
    assert output.stage() == ()
    for _ in range(2):
        output.write("s", ROWS.slice(0, 1))
        output.write("s", ROWS.slice(1))
        output.publish(output.stage())
    assert names(tmp_path) == ["out/part-w-0.csv", "out/part-w-1.csv"]
    assert {(tmp_path / name).read_text() for name in names(tmp_path)} == {TEXT}


def test_another_process_may_publish_again(tmp_path: Path) -> None:
    output = FileOutput(tmp_path, [STREAM], "w")
    output.write("s", ROWS)
    parts = output.stage()
    later = FileOutput(tmp_path, [STREAM], "v")
    later.publish(parts)
    later.publish(parts)
    assert names(tmp_path) == ["out/part-w-0.csv"]


def test_a_part_that_is_gone_is_an_error(tmp_path: Path) -> None:
    output = FileOutput(tmp_path, [STREAM], "w")
    output.write("s", ROWS)
    parts = output.stage()
    (tmp_path / parts[0].staged).unlink()
    with pytest.raises(StreamSystemError, match="is gone and was not published"):
        output.publish(parts)


def test_closing_drops_what_was_not_staged(tmp_path: Path) -> None:
    parquet = StreamDescriptor(name="p", system="files", address="out", format=StreamFormat.PARQUET)
    output = FileOutput(tmp_path, [STREAM, parquet], "w")
    output.write("s", ROWS)
    staged = output.stage()
    output.write("s", ROWS)
    output.write("p", ROWS)
    output.close()
    assert names(tmp_path) == [staged[0].staged]


def test_rows_of_one_part_have_one_schema(tmp_path: Path) -> None:
    output = FileOutput(tmp_path, [STREAM], "w")
    output.write("s", ROWS)
    with pytest.raises(StreamSystemError, match="columns k string after k string, n int64"):
        output.write("s", ROWS.select(["k"]))
    output.close()


def test_a_type_without_text_form_is_an_error(tmp_path: Path) -> None:
    output = FileOutput(tmp_path, [STREAM], "w")
    with pytest.raises(StreamSystemError, match="output s can't be written"):
        output.write("s", pa.table({"k": [[1]]}))
    output.close()


def test_values_are_quoted_where_reading_needs_it(tmp_path: Path) -> None:
    stream = StreamDescriptor(
        name="s",
        system="files",
        address="out",
        format=StreamFormat.CSV,
        csv=CsvOptions(delimiter=".", nullValue="-", header=False),
    )
    output = FileOutput(tmp_path, [stream], "w")
    output.write("s", pa.table({"k": ['a"b', "-", None, "x\ny"], "n": [1.5, 2.0, 3.0, None]}))
    output.publish(output.stage())
    assert (tmp_path / "out" / "part-w-0.csv").read_text() == '"a""b"."1.5"\n"-".2\n-.3\n"x\ny".-\n'


def test_only_parts_are_listed_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "out"
    claim_output(folder, "app")
    (folder / ".staging").mkdir()
    for name in ("part-w-0.csv", "part-w-1.parquet", "notes.txt", ".staging/part-w-2.csv", ".staging/notes.txt"):
        (folder / name).touch()
    claim_output(folder, "app")
    assert len(names(folder)) == 6
    assert published_parts(folder, "other") == []
    assert [path.name for path in staged_parts(folder)] == ["part-w-2.csv"]
    for _ in range(2):
        remove_parts([folder / "part-w-0.csv", folder / ".staging" / "part-w-2.csv"])
        assert [path.name for path in published_parts(folder, "app")] == ["part-w-1.parquet"]
        assert staged_parts(folder) == []
    assert {"notes.txt", ".staging/notes.txt"} < set(names(folder))


def test_foreign_folders_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "part-w-0.csv").touch()
    with pytest.raises(StreamSystemError, match="holds files that are not StreamApp's"):
        claim_output(tmp_path, "app")
    assert names(tmp_path) == ["part-w-0.csv"]


@pytest.mark.parametrize(("marker", "owner"), [('{"owner": "other"}', "other"), ("{", "someone unknown")])
def test_the_folder_of_another_owner_is_refused(tmp_path: Path, marker: str, owner: str) -> None:
    (tmp_path / "_streamapp.json").write_text(marker)
    with pytest.raises(StreamSystemError, match=f"belongs to {owner}, not to app"):
        claim_output(tmp_path, "app")


def test_a_claim_that_was_interrupted_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "._streamapp.json").touch()
    claim_output(tmp_path, "app")
    claim_output(tmp_path, "app")
    assert names(tmp_path) == ["_streamapp.json"]


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(StreamSystemError, match="can't be prepared"):
        claim_output(tmp_path / "out", "app")
