"""What is said of a stream without files: what is at its place instead."""

from pathlib import Path

import pytest

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file import explain_missing_files
from streamapp_systems.protocols import StreamDescriptor


def explain(root: Path, address: str, stream_format: StreamFormat = StreamFormat.CSV) -> str:
    return explain_missing_files(
        root, StreamDescriptor(name="s", system="files", address=address, format=stream_format)
    )


@pytest.mark.parametrize(
    "files, address, said",
    [
        (["orders/1.csv"], "ordrs", "there is no {root}/ordrs; did you mean `orders`?"),
        (["a.txt"], "orders", "there is no {root}/orders: put files there, or correct"),
        ([], "none/orders", "there is no {root}/none/orders: put files there"),
        (["orders/1.jsonl"], "orders", "a folder of files in json, and the stream's format is csv: set `format: json`"),
        (["orders/day=1/1.csv"], "orders", "such as day=1: set `folderColumns: [day]`"),
        (
            ["orders/may/1.csv"],
            "orders",
            "such as may, in which nothing is looked for: name them by a pattern, such as",
        ),
        (["orders/may/1.csv"], "orders", "`name: 'orders/**/*.csv'`"),
        (["orders/.hidden"], "orders", "a folder without files: put some there, whose names end in .csv"),
        (["orders/1.xls"], "orders", "whose files are not csv, such as 1.xls: names have to end in .csv"),
        (["orders/1.csv"], "orders/*.tsv", "no file has a name like {root}/orders/*.tsv"),
    ],
)
def test_what_is_there_instead_is_named(tmp_path: Path, files: list[str], address: str, said: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert said.format(root=tmp_path) in explain(tmp_path, address)
