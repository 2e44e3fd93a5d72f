"""Replays of an app that counts and copies rows, beside its own run."""

import json
import time

from typer.testing import CliRunner

from streamapp_cli.main import app as streamapp
from streamapp_core.time_formats import format_milliseconds
from support.growth import Growing

KEYS = range(32)


def replay(folder, *options):
    """Replay the app of a folder in threads of this process."""
    arguments = ["replay", str(folder / "app.yaml"), *options]
    return CliRunner().invoke(streamapp, arguments if "--print" in options else [*arguments, "--host", "in-process"])


def write_hours(source: Growing) -> list[str]:
    """Write the app, and a row of each key at three times, an hour apart; return these."""
    now = time.time_ns() // 1_000_000
    hours = [now - before * 3_600_000 for before in (3, 2, 1)]
    (source.folder / "app.yaml").write_text(json.dumps(source.document()))
    for hour in hours:
        source.write(*KEYS, count=4, at=hour)
    return [format_milliseconds(hour) for hour in hours]


def numbers(source: Growing, run_id: str) -> dict[int, list[int]]:
    """Give the numbers of each key in the order in which a replay has emitted them."""
    found: dict[int, list[int]] = {}
    for row in source.rows(f"out-{run_id}"):
        found.setdefault(row["k"], []).append(row["n"])
    return found


def play(source: Growing) -> None:
    """Replay all while the app runs, then one hour of it: nothing of the app's own run changes."""
    hours = write_hours(source)
    replayed = []

    def listen(_):
        if not replayed:
            replayed.append(replay(source.folder, "--run-id", "all"))

    source.run(source.document(), source.all_copied, listener=listen)
    assert replayed[0].exit_code == 0, replayed[0].output
    assert numbers(source, "all") == source.numbers() == {key: [0, 1, 2] for key in KEYS}
    live, again = ({row["k"]: row["c"] for row in source.rows(name)} for name in ("counts", "counts-all"))
    assert live == again == dict.fromkeys(KEYS, 3)
    result = replay(source.folder, "--from", hours[1], "--to", hours[2], "--run-id", "hour")
    assert result.exit_code == 0, result.output
    assert numbers(source, "hour") == {key: [1] for key in KEYS}
    source.check()
