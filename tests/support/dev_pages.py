"""Pages of `streamapp dev` without a run: a plan, and the progress that a test says."""

from streamapp_cli.dev_page import DevPage
from streamapp_runtime.driver.read_lag import PartitionLag
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
LAGS = [
    PartitionLag(stream="in", partition=0, start=0, position=1_000, end=3_000),
    PartitionLag(stream="in", partition=1, start=655, position=None, end=1_000),
]


def dev_page(sample=lambda _, stream: ROWS[stream], lag=lambda _: LAGS):
    return DevPage("app", sample, lag)
