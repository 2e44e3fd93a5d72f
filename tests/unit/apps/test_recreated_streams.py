"""Streams that were deleted or recreated between two starts: a run never takes them for the ones that it knows."""

from contextlib import closing

import pytest

from streamapp_runtime.errors import RuntimeFailure
from streamapp_systems.protocols import StreamDescriptor
from support.growth import HUB, Growing

KEYS = range(8)
OPERATORS = [
    {"name": "by", "from": "in", "partitionBy": {"key": "k"}},
    {"name": "counted", "from": "by", "aggregate": {"by": ["k"], "select": "count(*) as c"}},
    {"name": "sent", "from": "counted", "sendTo": "out"},
]


@pytest.mark.parametrize(
    "address, again",
    [
        ("app.in", True),
        ("default.app.r1.by", True),
        ("default.app.r1._changelog", True),
        ("default.app.r1._changelog", False),
    ],
)
def test_a_run_does_not_go_on_with_a_stream_that_was_recreated(tmp_path, address, again):
    source = Growing(tmp_path, {"log": {"path": "log.db"}})
    document = source.document(operators=OPERATORS)
    source.write(*KEYS, count=4)
    source.run(document, source.all_copied)
    source.run(document, source.all_copied)
    stream = StreamDescriptor(name="s", system=HUB, address=address, format=source.stream("in").format)
    with closing(source.admin()) as admin:
        count = admin.partitions([stream])["s"]
        admin.delete([stream])
        if again:
            admin.create({stream: count})
    with pytest.raises(RuntimeFailure, match=rf"^{address}: deleted or recreated since run r1 began.*new run"):
        source.run(document, lambda summary: False)
