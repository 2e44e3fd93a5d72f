"""An app that reads a part of its input, from a time to a time or from offsets to offsets, whatever happens then."""

import json
import time
from contextlib import closing

from streamapp_core.spec.parse import parse_text
from streamapp_core.time_formats import format_milliseconds
from streamapp_runtime.driver.plan_run import plan_new_run
from streamapp_runtime.driver.read_positions import bounded_end_offsets, start_offsets
from streamapp_systems.registry import local_systems
from support import apps
from support.growth import Growing
from support.start_from import in_processes

KEYS = range(32)


def positions(source: Growing, **fields) -> tuple[dict[int, int], dict[int, int]]:
    """Return from where to where a new run reads the partitions of its input, which is bounded and has these fields."""
    document = source.document()
    document["spec"]["streams"]["in"] |= {"bounded": True} | fields
    systems = local_systems(source.folder)
    plan = plan_new_run(parse_text(json.dumps(document)), systems, "r1", "here").plan
    ends = bounded_end_offsets(plan, systems, {}, {})
    return start_offsets(plan, systems, {}, ends)["in"], ends["in"]


def play_times(source: Growing) -> None:
    """Write rows of four hours; read the second one by a run that stops early, while rows of it still come."""
    hours = [time.time_ns() // 1_000_000 - 4 * 3_600_000 + hour * 3_600_000 for hour in range(4)]
    for hour in hours:
        source.write(*KEYS, count=4, at=hour)
    document = source.document()
    document["spec"]["streams"]["in"] |= {
        "bounded": True,
        "startingTimestamp": format_milliseconds(hours[1]),
        "endingTimestamp": format_milliseconds(hours[2]),
    }
    source.run(document, lambda summary: True, make_host=in_processes)
    source.write(*KEYS, count=4, at=hours[1])
    summary = apps.run(document, source.folder, fresh=False)
    assert source.numbers() == {key: [1] for key in KEYS}
    assert {row["k"]: row["c"] for row in source.rows("counts")} == dict.fromkeys(KEYS, 1)
    (read,) = summary.streams
    assert read.read == len(KEYS)
    again = apps.run(document, source.folder, fresh=False)
    assert again.notices == (), "what comes behind an end that is named is no news"


def play_offsets(source: Growing) -> None:
    """Read one partition from an offset to another, one to its end, and the others as a whole."""
    for _ in range(3):
        source.write(*KEYS, count=4)
    with closing(source.admin()) as admin:
        ends = admin.end_offsets([source.stream("in")])
    last = {ssp.partition: end for ssp, end in ends.items()}
    per_write = {partition: end // 3 for partition, end in last.items()}
    document = source.document()
    document["spec"]["streams"]["in"] |= {
        "bounded": True,
        "startingOffsets": {"0": per_write[0], "1": 2 * per_write[1]},
        "endingOffsets": {"0": 2 * per_write[0]},
    }
    apps.run(document, source.folder, fresh=False)
    expected = {0: [1], 1: [2], 2: [0, 1, 2], 3: [0, 1, 2]}
    assert source.numbers() == {key: expected[key % 4] for key in KEYS}
    assert 8 * len(KEYS) // 4 == sum(row["c"] for row in source.rows("counts"))
