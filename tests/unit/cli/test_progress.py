"""What `streamapp run` shows of a run."""

import io

import msgspec
import pytest
from rich.console import Console

from streamapp_cli.progress import progress_table
from streamapp_runtime.driver.records import StreamSummary, Summary
from streamapp_runtime.processor.reports import HeldBack


def shown(**changed):
    stream = {"name": "planes", "role": "sideInput", "partitions": 2, "ended": 0, "read": 1_200, "total": None}
    summary = Summary(
        streams=(StreamSummary(**stream | {"watermark": None} | changed),),
        written={},
        not_used={},
        bad_rows=(),
        seconds=2.0,
        held_back_by={"hourly": "planes", "daily": "planes", "other": "trains"},
    )
    console = Console(file=io.StringIO(), width=200)
    console.print(progress_table("app", summary))
    return " ".join(console.file.getvalue().split())


@pytest.mark.parametrize(
    "changed, told",
    [
        ({"awaited": 8_000}, "planes sideInput 1,200 600 bootstrap: 8,000 to go 0/2"),
        ({}, "planes sideInput 1,200 600 in the table 0/2"),
        ({"total": 5_000, "ended": 1}, "planes sideInput 1,200 of 5,000 600 in the table 1/2"),
        ({"role": "input"}, "planes input 1,200 600 none 0/2"),
    ],
)
def test_a_side_input_shows_what_other_inputs_wait_for(changed, told):
    assert told in shown(**changed)


def test_who_holds_a_watermark_back_is_shown_with_the_operators_that_wait():
    held = HeldBack(task="Partition 1", partition=1, producer=None, watermark=None, since=1_700_000_000_000)
    told = shown(role="input", held_back=held)
    assert "partition 1 since 2023-11-14 22:13:20 hourly, daily" in told
    written = msgspec.structs.replace(held, producer="Partition 7")
    assert "what task Partition 7 writes to partition 1 since" in shown(role="input", held_back=written)
