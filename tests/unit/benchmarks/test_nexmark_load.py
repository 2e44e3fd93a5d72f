"""Events that are sent again and again get new times."""

import json
from datetime import UTC, datetime

from benchmarks.nexmark_load import parts_of, written
from examples.nexmark.generate import make

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2027, 5, 6, 7, 8, 9, 123_000, tzinfo=UTC)


def test_only_the_time_of_an_event_changes():
    lines = [*make(events=50, seed=1, rate=10, start=START, disorder=0)]
    for line, (before, behind) in zip(lines, parts_of(lines), strict=True):
        kinds = {kind: event for kind, event in json.loads(line).items() if isinstance(event, dict)}
        changed = json.loads(before + written(LATER) + behind)
        for kind, event in kinds.items():
            assert changed[kind] == event | {"dateTime": "2027-05-06T07:08:09.123Z"}
