"""Tests of apps in steps: rows that are late, partitions that are idle, and what has been written by then."""

import json
import re

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_tests.phase_gate import GatedConsumer, HeldPhase, PhaseGate
from streamapp_systems.protocols import BadRecord, FetchedBatch, KnownEnds

SALES = {
    "systems": {"kafka": {"kafka": {"bootstrapServers": "kafka:9092"}}, "files": {"file": {"path": "."}}},
    "defaultSystem": "kafka",
    "streams": {
        "orders": {
            "system": "kafka",
            "schema": "item string, n int, at timestamp",
            "eventTime": {"column": "at", "maxOutOfOrderness": "5m", "idleTimeout": "30s"},
        },
        "prices": {"system": "kafka", "schema": "item string, price int", "key": "item"},
        "sales": {"system": "kafka", "key": "item"},
        "priced": {"system": "kafka"},
        "totals": {"system": "kafka", "key": "item"},
    },
    "tables": {"price": {"key": "item", "sideInputs": ["prices"], "bootstrap": False}},
    "operators": [
        {"name": "by-item", "from": "orders", "partitionBy": {"key": "item"}},
        {"name": "hourly", "from": "by-item", "window": {"tumbling": "1h", "by": ["item"], "select": "sum(n) as n"}},
        {"name": "sold", "from": "hourly", "map": "item, date_format(window_start, 'HH') as hour, n"},
        {"name": "sales-out", "from": "sold", "sendTo": "sales"},
        {"name": "total", "from": "by-item", "aggregate": {"by": ["item"], "select": "sum(n) as n"}},
        {"name": "totals-out", "from": "total", "sendTo": "totals"},
        {"name": "with-price", "from": "by-item", "joinTable": {"table": "price", "on": "item"}},
        {"name": "worth", "from": "with-price", "map": "item, n * price as worth"},
        {"name": "priced-out", "from": "worth", "sendTo": "priced"},
    ],
}


def order(time, n, item="tea"):
    return {"item": item, "n": n, "at": f"2024-05-01T{time}:00Z"}


def sold(hour, n):
    return {"item": "tea", "hour": hour, "n": n}


def run(folder, *tests, spec=SALES):
    """Run tests in all circumstances; return the exit code and what was printed."""
    document = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}
    (folder / "app.yaml").write_text(json.dumps(document))
    (folder / "app.tests.yaml").write_text(json.dumps({"tests": list(tests)}))
    result = CliRunner().invoke(app, ["test", str(folder / "app.yaml")])
    return result.exit_code, result.output


def case(name, first, *steps, **expected):
    return {"name": name, "given": first, "then": list(steps), "expect": expected}


def test_late_rows_idle_partitions_and_tables_that_change_are_the_same_in_all_circumstances(tmp_path):
    late = case(
        "a row is late once the watermark has passed its window",
        {"orders": [order("09:15", 1), order("10:06", 2)]},
        {"expect": {"sales": [sold("09", 1)], "totals": [{"item": "tea", "n": 3}]}},
        {"given": {"orders": [order("09:59", 100), order("10:01", 10)]}},
        sales=[sold("09", 1), sold("10", 12)],
        totals=[{"item": "tea", "n": 113}],
    )
    idle = case(
        "an idle partition holds nobody back, and its rows are late",
        {"orders": [[order("09:15", 1)], [order("09:16", 2)]]},
        {"given": {"orders": [order("11:00", 4)]}, "expect": {"sales": []}},
        {"idle": "29s", "expect": {"sales": []}},
        {"idle": "1s", "given": {"orders": [order("11:06", 8)]}, "expect": {"sales": [sold("09", 3)]}},
        {"given": {"orders": [[], [order("09:17", 1_000)]]}, "expect": {"sales": [sold("09", 3)]}},
        sales=[sold("09", 3), sold("11", 12)],
    )
    hours = range(10, 15)
    stays_idle = case(
        "an idle partition stays so, whoever dies",
        {"orders": [[order("09:15", 1)], [order("09:16", 2)], []]},
        {"idle": "10s"},
        {"idle": "10s"},
        {"idle": "10s"},
        *(
            {"given": {"orders": [order(f"{hour}:05", hour)]}, "expect": {"sales": [sold("09", 3), *sales]}}
            for hour in hours
            for sales in [[sold(str(before), before) for before in hours if before < hour]]
        ),
    )
    prices = case(
        "a row is priced as the table is when it comes",
        {"prices": [{"item": "tea", "price": 1}]},
        {"given": {"orders": [order("09:15", 1)]}},
        {"given": {"prices": [{"item": "tea", "price": 10}]}},
        {"given": {"orders": [order("09:16", 1)]}, "expect": {"worth": [{"item": "tea", "worth": w} for w in (1, 10)]}},
        worth=[{"item": "tea", "worth": worth} for worth in (1, 10)],
    )
    code, output = run(tmp_path, late, idle, stays_idle, prices)
    assert code == 0, output


def test_what_differs_is_told_with_its_step(tmp_path):
    early = case(
        "early", {"orders": [order("09:15", 1)]}, {"expect": {"sales": [sold("09", 1)]}}, sales=[sold("09", 1)]
    )
    code, output = run(tmp_path, early)
    assert code == 1
    assert re.search(r'^  sales after then\[0\]: - expected, \+ written\n    - {"item":"tea"', output, re.MULTILINE)
    assert "\n  sales: " not in output


def test_rows_of_files_come_in_steps_too(tmp_path):
    spec = {**SALES, "tables": {}, "operators": SALES["operators"][:4]}
    orders = {**SALES["streams"]["orders"], "system": "files"}
    spec["streams"] = {"orders": orders, "sales": {"system": "files"}}
    late = case(
        "late",
        {"orders": [order("09:15", 1), {"__unreadable": "no row"}, order("10:06", 2)]},
        {"given": {"orders": [order("09:59", 100), {"__unreadable": "no row"}]}, "expect": {"sales": [sold("09", 1)]}},
        {"given": {"orders": [{"__unreadable": "no row"}]}},
        sales=[sold("09", 1), sold("10", 2)],
    )
    code, output = run(tmp_path, late, spec={**spec, "job": {"onError": "skip"}})
    assert code == 0, output


SSP, FREE = Ssp("log", "in", 0), Ssp("log", "between", 0)


class Records:
    """A consumer of one partition with so many records, of which one can't be read."""

    def __init__(self, count, bad=None):
        self.next, self.count, self.bad = 0, count, bad

    def assign(self, starts, ends):
        self.next = starts[SSP]

    def poll(self, ssps, max_rows, timeout):
        if SSP not in ssps or self.next > self.count:
            return []
        begin = self.next
        if begin == self.bad:
            self.next += 1
            raise BadRecord(SSP, begin, "bad")
        stop = self.count if self.bad is None or self.bad < begin else self.bad
        end = min(begin + max_rows, stop)
        ended = end == self.count
        self.next = end + ended
        return [FetchedBatch(ssp=SSP, offset=begin, next_offset=end, ended=ended)]

    def ask_ends(self, ssps):
        return KnownEnds(dict.fromkeys(ssps, False))


def gate(folder, *limits, idle=0, looked=lambda _: None, begun=lambda _: None):
    phases = [HeldPhase(idle=idle, limits={"in": [limit]}, step=number) for number, limit in enumerate(limits)]
    made = PhaseGate(phases, folder, looked, begun)
    made.expect(["0", "1"])
    return made


def rest(made, *processors):
    """Let processors go through the two turns without work after which nothing can have been missed."""
    for processor in processors * 2:
        made.end_turn(processor, quiet=True)


@pytest.mark.parametrize("bad", [None, 0, 1, 3])
def test_a_partition_is_read_as_far_as_the_gate_lets_it_and_ends_when_it_is_open(tmp_path, bad):
    made = gate(tmp_path, 2, 2, 4)
    consumer = GatedConsumer(Records(4, bad), made)
    consumer.assign({SSP: 0}, {SSP: 4})
    read = []
    for reached in (0, 2, 2, 4, 4):
        assert consumer.ask_ends([SSP]).poll()[SSP] is (reached == len(read) and not made.is_open)
        for _ in range(8):
            try:
                for batch in consumer.poll([SSP, FREE], 10, 0):
                    read += range(batch.offset, batch.next_offset)
                    assert not batch.ended or made.is_open
                    read += ["end"] * batch.ended
            except BadRecord as found:
                read.append(found.offset)
        assert [one for one in read if one != "end"] == list(range(reached))
        rest(made, "0", "1")
    assert read == [0, 1, 2, 3, "end"]


def test_a_phase_passes_when_all_processors_have_rested_after_the_last_change(tmp_path):
    looked = []
    made = gate(tmp_path, 1, 2, looked=looked.append)
    rest(made, "0", "1")
    assert made.limit(SSP) == 1
    made.end_turn("0", quiet=True)
    made.end_turn("0", quiet=True)
    made.end_turn("1", quiet=True)
    made.end_turn("1", quiet=False)
    made.end_turn("0", quiet=True)
    made.end_turn("1", quiet=True)
    assert made.limit(SSP) == 1  # what 1 wrote last, 0 may not have read in the turn that ended after it
    made.end_turn("0", quiet=True)
    assert made.limit(SSP) == 2
    assert [phase.step for phase in looked] == [0]


def test_a_start_after_a_death_comes_to_rest_where_the_last_one_stood(tmp_path):
    made = gate(tmp_path, 1, 2, idle=100)
    rest(made, "0", "1")
    rest(made, "0", "1")
    assert (made.limit(SSP), made.now) == (2, 200)
    looked, begun = [], []
    again = gate(tmp_path, 1, 2, idle=100, looked=looked.append, begun=begun.append)
    assert (again.limit(SSP), again.now) == (0, 0)
    rest(again, "0", "1")
    assert (again.limit(SSP), again.now) == (1, 100)
    rest(again, "0", "1")
    assert (again.limit(SSP), again.now, looked) == (2, 200, [])
    rest(again, "0", "1")
    assert again.is_open
    assert [phase.step for phase in looked] == [1]
    assert begun == [0, 1, 2]
