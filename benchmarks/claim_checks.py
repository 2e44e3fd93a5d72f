"""The CPU that the check of declared keys takes, beside that of decoding the JSON messages whose rows are checked.

Seconds are those of CPU, as if a core did nothing else: what others do on this machine makes no difference.
"""

import random
import time

import pyarrow as pa

from benchmarks.kafka_load import PARTITIONS, InputSource, now
from streamapp_core.plan.partition_claims import PartitionClaim
from streamapp_core.schema import parse_schema
from streamapp_core.spec.job import OnBrokenClaim
from streamapp_core.spec.streams import KeyFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.claim_checker import ClaimChecker
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import Message, MessageTuple

SECONDS, LIMIT = 10.0, 0.01
_ROWS = 8_000
_SCHEMA = "sensor string, value int, at bigint, site string, note string"
_BUSIEST = 20
"""Checks in a second at the most, however many partitions a processor has."""


def main() -> None:
    claim = PartitionClaim(
        stream="in",
        columns=("sensor",),
        fields=(),
        key_format=KeyFormat.STRING,
        initial_partitions=tuple(range(PARTITIONS)),
        initial_count=PARTITIONS,
        hashed=True,
        nulls_meet=True,
    )
    checker = ClaimChecker({"in": claim}, OnBrokenClaim.FAIL, time.process_time, random.Random(1))
    decoder = JsonDecoder(arrow_schema(parse_schema(_SCHEMA)))
    batches = {
        Ssp("kafka", "in", partition): MessageTuple(
            Message(offset, 0, None, message["value"])  # type: ignore[arg-type] - the values of all are bytes
            for offset, message in enumerate(messages)
        )
        for partition, messages in InputSource().batch(_ROWS * PARTITIONS, now()).items()
    }
    decoding = checking = 0.0
    rows = 0
    end = time.process_time() + SECONDS
    while time.process_time() < end:
        for ssp, messages in batches.items():
            began = time.process_time()
            read = decoder.decode(messages, ssp)
            decoded = time.process_time()
            checker.check(ssp, read.rows, lambda row: row)
            checking += time.process_time() - decoded
            decoding += decoded - began
            rows += len(messages)
    print(f"{rows:,} rows of {PARTITIONS} partitions decoded in {decoding:.1f} s of CPU, checked in {checking:.3f} s")
    print(f"the check takes {checking / decoding:.3%} of that   (at most {LIMIT:.0%})")
    busiest = _BUSIEST * _seconds_per_check(claim, read.rows)
    print(f"{_BUSIEST} checks a second, the most there are, take {busiest:.2%} of a core   (at most {LIMIT:.0%})")


def _seconds_per_check(claim: PartitionClaim, rows: pa.Table) -> float:
    """Return the CPU time of one check of ten rows."""
    ticks = iter(range(1 << 30))
    checker = ClaimChecker({"in": claim}, OnBrokenClaim.REPORT, lambda: float(next(ticks) * 4), random.Random(1))
    ssp, checks = Ssp("kafka", "in", PARTITIONS - 1), 2_000
    began = time.process_time()
    for _ in range(checks):
        checker.check(ssp, rows, lambda row: row)
    return (time.process_time() - began) / checks
