"""The page of metrics lists what drivers and the operator have: names, types and labels."""

from collections.abc import Iterable

import pytest
from prometheus_client.metrics_core import Metric

from streamapp_operator.process.operator_metrics import OperatorMetrics
from streamapp_runtime.driver.run_record import StreamSummary, Summary
from streamapp_runtime.kubernetes.driver_metrics import SummaryCollector
from streamapp_runtime.processor.processor_report import BrokenClaimReport
from streamapp_runtime.state.store_size import StoreSize
from unit.docs import pages

SECTIONS = dict(pages.sections(pages.read("metrics.md")))
COMMON = {"namespace", "app"}
STREAM = StreamSummary(name="in", role="input", partitions=1, ended=0, read=1, total=None, watermark=1)
SUMMARY = Summary(
    streams=(STREAM,),
    written={"out": 1},
    not_used={"w": {"late": 1}},
    bad_rows=(),
    seconds=1.0,
    broken_claims={"in": BrokenClaimReport(checked=2, misplaced=1, example="")},
    state_sizes={"w": StoreSize(entries=1, bytes=1)},
)


def of_driver():
    return SummaryCollector("app", "team", lambda: SUMMARY).collect()


def of_operator():
    metrics = OperatorMetrics()
    metrics.register_phases(lambda: ["Running"])
    metrics.actions.labels("start")
    metrics.errors.labels("Conflict")
    return (family for family in metrics.registry.collect() if family.name.startswith("streamapp_"))


def figures(families: Iterable[Metric]):
    """Return the type and the labels of each metric, by the name that a scrape has."""
    return {
        family.name + ("_total" if family.type == "counter" else ""): (
            family.type,
            {label for sample in family.samples for label in sample.labels} - COMMON - {"le"},
        )
        for family in families
    }


def listed(section):
    """Return the same of the section's table."""
    rows = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| streamapp_")]
    return {
        name.strip(): (kind.strip(), {label.strip(" `") for label in labels.split(",") if label.strip()})
        for name, kind, labels, _ in rows
    }


@pytest.mark.parametrize(("title", "families"), [("Of an app", of_driver), ("Of the operator", of_operator)])
def test_all_metrics_are_listed_with_their_types_and_labels(title, families):
    assert listed(SECTIONS[title]) == figures(families())
