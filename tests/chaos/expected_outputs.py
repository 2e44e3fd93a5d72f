"""The checker of the soak: what must come out of given orders and payments, and how what came out differs from it.

It is plain Python over all records at once, and shares nothing with the runtime.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, groupby

from chaos.shop_records import SESSION, TUMBLING, WITHIN, Offset, Record

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Output:
    """A message of an output, and where it lies."""

    stream: str
    place: Offset
    row: dict


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must come out, each exactly once: the rows of each key in order, and results in any order."""

    copies: dict[int, list[tuple]]
    counts: dict[int, list[tuple]]
    results: dict[str, Counter[tuple]]

    @property
    def size(self) -> Counter[str]:
        """How many rows each output must have; of `counts` there may be fewer."""
        copies = sum(len(rows) for rows in self.copies.values())
        return Counter({"out": copies, **{stream: found.total() for stream, found in self.results.items()}})


def expected(orders: Sequence[Record], payments: Sequence[Record], watermark: int) -> Expectation:
    """Return what must have come out when no record before the watermark can follow.

    Args:
        orders: those that are committed, in any order.
        payments: likewise.
        watermark: results that it does not complete are not expected.
    """
    by_key = _by_key(orders)
    paid = _by_key(payments)
    pairs = Counter(
        (key, *pair)
        for key in by_key.keys() | paid.keys()
        for pair in _pairs(by_key.get(key, []), paid.get(key, []), watermark)
    )
    return Expectation(
        copies={key: [(record.number, record.value) for record in found] for key, found in by_key.items()},
        counts={key: list(enumerate(accumulate(record.value for record in found), 1)) for key, found in by_key.items()},
        results={
            "windows": Counter(_windows(by_key, watermark)),
            "sessions": Counter(_sessions(by_key, watermark)),
            "pairs": pairs,
        },
    )


def differences(wanted: Expectation, outputs: Iterable[Output]) -> list[str]:
    """Name everything that is lost, doubled, out of order or wrong; nothing if the outputs are exact."""
    by_stream = defaultdict(list)
    for output in outputs:
        by_stream[output.stream].append(output)
    told = [*_strayed(by_stream), *_wrong_copies(wanted, by_stream["out"]), *_wrong_counts(wanted, by_stream["counts"])]
    for stream, results in wanted.results.items():
        found = Counter(result_of(output) for output in by_stream[stream])
        told += _named(f"{stream}: lost", (results - found).elements())
        told += _named(f"{stream}: doubled or wrong", (found - results).elements())
    return told


def disorder(records: Iterable[Record]) -> list[str]:
    """Name the input records that are there twice, or behind a later one of their key and partition."""
    records = sorted(records, key=lambda record: record.place)
    last: dict[tuple[int, int], int] = {}
    told = []
    for record in records:
        lane = (record.key, record.place[0])
        if record.number <= last.get(lane, -1):
            told.append(f"{record} comes behind number {last[lane]} of its key")
        last[lane] = max(record.number, last.get(lane, -1))
    again = Counter(record.number for record in records)
    return told[:_SHOWN] + _named("input: doubled", (number for number, times in again.items() if times > 1))


def result_of(output: Output) -> tuple:
    """Return a row of `windows`, `sessions` or `pairs` as it is expected."""
    row = output.row
    if output.stream == "pairs":
        return row["k"], row.get("n"), row.get("m")
    start = _milliseconds(row["window_start"])
    span = (start,) if output.stream == "windows" else (start, _milliseconds(row["window_end"]))
    return row["k"], *span, row["c"], row["s"], row["first"], row["last"]


def _strayed(by_stream: dict[str, list[Output]]) -> list[str]:
    homes: dict[tuple[str, int], set[int]] = defaultdict(set)
    for stream, outputs in by_stream.items():
        for output in outputs:
            homes[stream, output.row["k"]].add(output.place[0])
    return _named("in more than one partition", (lane for lane, found in homes.items() if len(found) > 1))


def _wrong_copies(wanted: Expectation, outputs: list[Output]) -> Iterator[str]:
    found = defaultdict(list)
    for output in outputs:
        row = output.row
        found[row["k"]].append((row["n"], row["v"]))
        if row["name"] != f"name {row['k']}":
            yield f"out: wrong name: {row}"
    for key in sorted(found.keys() | wanted.copies.keys()):
        have, want = Counter(found[key]), Counter(wanted.copies.get(key, []))
        yield from _named(f"out: key {key}: lost", (want - have).elements())
        yield from _named(f"out: key {key}: doubled or wrong", (have - want).elements())
        if have == want and found[key] != wanted.copies[key]:
            at = next(
                i for i, pair in enumerate(zip(found[key], wanted.copies[key], strict=True)) if pair[0] != pair[1]
            )
            yield f"out: key {key}: out of order: {found[key][at : at + _SHOWN]}, not {wanted.copies[key][at : at + 1]}"


def _wrong_counts(wanted: Expectation, outputs: list[Output]) -> Iterator[str]:
    found = defaultdict(list)
    for output in outputs:
        found[output.row["k"]].append((output.row["c"], output.row["s"]))
    for key in sorted(found.keys() | wanted.counts.keys()):
        want = wanted.counts.get(key, [])
        right = set(want)
        yield from _named(f"counts: key {key}: wrong", (pair for pair in found[key] if pair not in right))
        counts = [count for count, _ in found[key]]
        if counts != sorted(set(counts)):
            yield f"counts: key {key}: doubled or out of order"
        if found[key][-1:] != want[-1:]:
            yield f"counts: key {key}: ends with {found[key][-1:]}, not {want[-1:]}"


def _named(what: str, wrong: Iterable) -> list[str]:
    wrong = list(wrong)
    return [f"{what}: {len(wrong)}: {wrong[:_SHOWN]}"] if wrong else []


def _by_key(records: Iterable[Record]) -> dict[int, list[Record]]:
    found = defaultdict(list)
    for record in sorted(records, key=lambda record: record.number):
        found[record.key].append(record)
    return found


def _windows(by_key: dict[int, list[Record]], watermark: int) -> Iterator[tuple]:
    for key, records in by_key.items():
        for number, found in groupby(_in_time(records), lambda record: record.at // TUMBLING):
            if (number + 1) * TUMBLING <= watermark:
                yield key, number * TUMBLING, *_summed(list(found))


def _sessions(by_key: dict[int, list[Record]], watermark: int) -> Iterator[tuple]:
    for key, records in by_key.items():
        for found in _bursts(_in_time(records)):
            end = found[-1].at + SESSION
            if end <= watermark:
                yield key, found[0].at, end, *_summed(found)


def _bursts(records: list[Record]) -> Iterator[list[Record]]:
    burst: list[Record] = []
    for record in records:
        if burst and record.at - burst[-1].at > SESSION:
            yield burst
            burst = []
        burst.append(record)
    if burst:
        yield burst


def _summed(records: list[Record]) -> tuple:
    return len(records), sum(record.value for record in records), records[0].number, records[-1].number


def _pairs(orders: list[Record], payments: list[Record], watermark: int) -> Iterator[tuple[int | None, int | None]]:
    orders, payments = _in_time(orders), _in_time(payments)
    times = [payment.at for payment in payments]
    met = set()
    for order in orders:
        near = payments[bisect_left(times, order.at - WITHIN) : bisect_right(times, order.at + WITHIN)]
        yield from ((order.number, payment.number) for payment in near)
        met.update(payment.number for payment in near)
        if not near and order.at + WITHIN < watermark:
            yield order.number, None
    for payment in payments:
        if payment.number not in met and payment.at + WITHIN < watermark:
            yield None, payment.number


def _in_time(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record.at, record.number))


def _milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
