"""The progress of a run, as `streamapp run` shows it."""

import io

import msgspec
import pytest

from streamapp_cli.consoles import new_console
from streamapp_cli.progress_display import follow, print_summary, progress_table
from streamapp_runtime.driver.run_record import StreamSummary, Summary
from streamapp_runtime.processor.processor_report import BrokenClaimReport, WatermarkHolderReport


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
    console = new_console(io.StringIO())
    console.print(progress_table("app", summary))
    return " ".join(console.file.getvalue().split())


@pytest.mark.parametrize(
    "changed, told",
    [
        ({"awaited": 8_000}, "planes sideInput 1,200 600 bootstrap: 8,000 to go 0/2"),
        ({}, "planes sideInput 1,200 600 in the table 0/2"),
        ({"version": "7-5f0c1a2b"}, "planes sideInput 1,200 600 version 7-5f0c1a2b 0/2"),
        ({"total": 5_000, "ended": 1}, "planes sideInput 1,200 of 5,000 600 in the table 1/2"),
        ({"role": "input"}, "planes input 1,200 600 none 0/2"),
    ],
)
def test_a_side_input_shows_what_other_inputs_wait_for(changed, told):
    assert told in shown(**changed)


def test_who_holds_a_watermark_back_is_shown_with_the_operators_that_wait():
    held = WatermarkHolderReport(
        task="Partition 1", partition=1, producer=None, watermark=None, since=1_700_000_000_000
    )
    told = shown(role="input", held_back=held)
    assert (
        "planes: the watermark is held back by partition 1 since 2023-11-14 22:13:20, for which hourly, daily wait"
        in told
    )
    written = msgspec.structs.replace(held, producer="Partition 7")
    assert "the rows of task Partition 7 in partition 1 since" in shown(role="input", held_back=written)


def test_rows_that_are_left_out_are_told_while_the_run_goes_on_each_once():
    def told(seconds, *bad_rows, **not_used):
        return Summary(streams=(), written={}, not_used=not_used, bad_rows=bad_rows, seconds=seconds, held_back_by={})

    console = new_console(io.StringIO())
    with follow(console, "app", clock=iter(range(0, 100, 5)).__next__) as listener:
        listener(told(1, "kafka.in[0], offset 7: 'x' is no JSON object", by={"late": 0}))
        listener(told(2, "kafka.in[0], offset 7: 'x' is no JSON object", orders={"unreadable": 1_234}))
        listener(told(3, "kafka.in[0], offset 7: 'x' is no JSON object", orders={"unreadable": 1_234}))
    lines = [line for line in console.file.getvalue().splitlines() if not line.endswith("s: ")]
    assert lines == [
        "app 1s: left out: kafka.in[0], offset 7: 'x' is no JSON object",
        "app 2s: orders: 1,234 rows not used (unreadable)",
    ]


def test_a_broken_claim_is_printed_once_and_counted_in_the_summary():
    claim = BrokenClaimReport(checked=1_200, misplaced=30, example="hub.in[0], offset 7: elsewhere.")
    summary = Summary(
        streams=(), written={}, not_used={}, bad_rows=(), seconds=2, held_back_by={}, broken_claims={"in": claim}
    )
    console = new_console(io.StringIO())
    with follow(console, "app") as listener:
        listener(summary)
        listener(summary)
    assert console.file.getvalue().count("app 2s: hub.in[0], offset 7: elsewhere.") == 1
    print_summary(console, "app", summary)
    assert (
        "in: 30 of 1,200 rows checked are not in the partition of their key, results may be wrong. "
        "hub.in[0], offset 7: elsewhere." in console.file.getvalue()
    )


ODD = "in[0], offset 7: '[/red] [bold]x :boom: [link]'"


def test_text_of_rows_and_messages_is_never_taken_for_markup():
    summary = Summary(
        streams=(), written={}, not_used={"[/by]": {"[late] :x:": 3}}, bad_rows=(ODD,), seconds=2, held_back_by={}
    )
    console = new_console(io.StringIO())
    with follow(console, "app") as listener:
        listener(summary)
    print_summary(console, "app", summary)
    text = console.file.getvalue()
    assert f"app 2s: left out: {ODD}" in text
    assert f"  {ODD}\n" in text
    assert "[/by]: 3 rows not used ([late] :x:)" in text


def test_what_is_piped_is_not_cut(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert f"{'x' * 300} sideInput" in shown(name="x" * 300)
