"""Pages of `streamapp dev` without a run: a plan, and the progress that a test says."""

from streamapp_cli.dev_page import DevPage
from streamapp_runtime.driver.run_record import StreamSummary, Summary
from streamapp_runtime.processor.processor_report import WatermarkHolderReport
from support.plan_documents import accepted, document

PLAN = accepted(
    document(
        [{"name": "large", "from": "in", "filter": "v > 5"}, {"name": "o", "from": "large", "sendTo": "out"}],
        streams={"in": "k string, v int", "out": {}},
    )
)
HELD = WatermarkHolderReport(task="Partition 2", partition=2, producer=None, watermark=None, since=0)
SUMMARY = Summary(
    streams=(
        StreamSummary(
            name="in", role="input", partitions=4, ended=0, read=1_234, total=None, watermark=None, held_back=HELD
        ),
    ),
    written={"out": 17},
    not_used={"in": {"a bad record": 3}},
    bad_rows=("in, partition 1, offset 5: </script><b>no JSON</b>",),
    seconds=2.0,
    held_back_by={"large": "in"},
)
ROWS = {"in": [{"partition": 0, "offset": 7, "row": {"k": "<b>bold</b>", "v": 6}}]}


def dev_page():
    return DevPage("app", lambda _, stream: ROWS[stream])
