"""The decoding of what a processor polls: records become rows with an event time, and control messages."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.control.control_codec import decode
from streamapp_core.control.messages import UserMessage
from streamapp_core.control.sequence_numbers import SequenceNumber, decode_key
from streamapp_core.spec.job import OnError
from streamapp_core.spec.streams import CHANGE_COLUMN
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.claim_checker import ClaimChecker
from streamapp_runtime.rows.arrow_ipc import decode_rows, decode_shared_rows
from streamapp_runtime.rows.decoded_batch import DeadLetter, DecodedBatch
from streamapp_runtime.rows.event_time_column import add_event_time, without_event_time
from streamapp_runtime.rows.message_rows import MessageDecoder, MessageRows, offset_column, timestamp_column
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_systems.protocols import BadRecord, Consumer, FetchedBatch


class InputSource(Protocol):
    """The source of the batches of a processor."""

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        """Yield what there is of these partitions; see `Consumer.poll`."""
        ...


class DecodingInputSource:
    """The input source that polls a consumer per system, and decodes what it returns."""

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        *,
        intermediate: Mapping[str, pa.Schema],
        shared: Mapping[str, pa.Schema],
        external: Mapping[str, MessageDecoder],
        event_times: Mapping[str, Sequence[str]],
        on_error: OnError,
        dead_letters: Collection[str],
        claims: ClaimChecker,
        later_starts: Mapping[Ssp, Collection[int]],
    ) -> None:
        """Take consumers by system, the schemas of streams between tasks, decoders and event time columns of others.

        `shared` are intermediate streams of other apps, of which these columns are read.
        Records of the streams `dead_letters` that can't be read are kept, whatever `on_error` says of others.
        Batches are split at the offsets in `later_starts`.
        """
        self._consumers = consumers
        self._intermediate = intermediate
        self._shared = shared
        self._external = external
        self._event_times = event_times
        self._skip = on_error is OnError.SKIP
        self._kept = dead_letters
        self._claims = claims
        self._later_starts = later_starts

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        """See `InputSource.poll`."""
        for system, consumer in self._consumers.items():
            wanted = [ssp for ssp in ssps if ssp.system == system]
            if not wanted:
                continue
            try:
                for fetched in consumer.poll(wanted, max_rows, timeout):
                    for part in split_batch(fetched, self._later_starts.get(fetched.ssp, ())):
                        yield self._decode(part)
            except BadRecord as bad:
                if not self._skip:
                    raise _advised(bad) from None
                skipped = {"unreadable": 1}
                yield DecodedBatch(
                    ssp=bad.ssp, next_offset=bad.offset + 1, rows=None, not_used=skipped, bad_rows=(str(bad),)
                )

    def _decode(self, fetched: FetchedBatch) -> DecodedBatch:
        stream = fetched.ssp.stream
        if stream in self._intermediate:
            decoded = self._decode_messages(fetched, partial(decode_rows, schema=self._intermediate[stream]))
            return replace(decoded, sequence=_sequence(fetched))
        if stream in self._shared:
            return self._decode_shared(fetched)
        if fetched.messages:
            return self._decode_external(fetched)
        rows = None
        if fetched.rows is not None and len(fetched.rows):
            table = pa.Table.from_batches([fetched.rows])
            if CHANGE_COLUMN in table.column_names:
                rows = self._changes(stream, table)
            else:
                self._claims.check(fetched.ssp, table, lambda row: fetched.offset + row)
                rows = add_event_time(table, self._event_times[stream])
        return DecodedBatch(ssp=fetched.ssp, next_offset=fetched.next_offset, rows=rows, ended=fetched.ended)

    def _changes(self, stream: str, records: pa.Table) -> pa.Table | None:
        """Return the changes of a table, whose one partition has all keys; None if there are none."""
        changes = records.filter(records.column(CHANGE_COLUMN).is_valid())
        if not len(changes):
            return None
        deleted = pc.equal(changes.column(CHANGE_COLUMN), "d").to_numpy()
        rows = add_event_time(changes.drop_columns([CHANGE_COLUMN]), self._event_times[stream])
        return with_deleted_column(rows, deleted)

    def _decode_external(self, fetched: FetchedBatch) -> DecodedBatch:
        stream = fetched.ssp.stream
        read = self._external[stream].decode(fetched.messages, fetched.ssp)
        dead_letters = _dead_letters(fetched, read.bad) if stream in self._kept else ()
        if not dead_letters:
            self._raise_unless_skipped(read.bad)
        self._claims.check(fetched.ssp, read.rows, lambda row: read.messages[row].offset)
        without_value = len(fetched.messages) - len(read.messages) - len(read.bad)
        reason = "dead letters" if dead_letters else "unreadable"
        not_used = {reason: len(read.bad), "without value": without_value}
        return DecodedBatch(
            ssp=fetched.ssp,
            next_offset=fetched.next_offset,
            rows=self._stamped(stream, read),
            ended=fetched.ended,
            not_used={reason: count for reason, count in not_used.items() if count},
            bad_rows=tuple(map(str, read.bad)),
            dead_letters=dead_letters,
        )

    def _stamped(self, stream: str, read: MessageRows) -> pa.Table | None:
        columns = self._event_times[stream]
        timestamps = None if columns else timestamp_column(read.messages)
        rows = add_event_time(read.rows, columns, timestamps) if len(read.rows) else None
        return rows if rows is None or read.deleted is None else with_deleted_column(rows, read.deleted)

    def _raise_unless_skipped(self, bad: Sequence[BadRecord]) -> None:
        """Raise the first record that can't be read, unless the app skips them."""
        if bad and not self._skip:
            raise bad[0]

    def _decode_shared(self, fetched: FetchedBatch) -> DecodedBatch:
        """Decode another app's intermediate stream: rows keep their event times, unless a column has them."""
        stream = fetched.ssp.stream
        decoded = self._decode_messages(fetched, partial(decode_shared_rows, schema=self._shared[stream]))
        columns = self._event_times[stream]
        if decoded.rows is None or not columns:
            return decoded
        return replace(decoded, rows=add_event_time(without_event_time(decoded.rows), columns))

    def _decode_messages(self, fetched: FetchedBatch, rows_of: Callable[..., pa.Table]) -> DecodedBatch:
        tables, offsets, controls = [], [], []
        for message in fetched.messages:
            content = decode(message.value or b"", ssp=fetched.ssp, offset=message.offset)
            if isinstance(content, UserMessage):
                tables.append(rows_of(content.data, ssp=fetched.ssp, offset=message.offset))
                offsets.append(message.offset)
            else:
                controls.append(content)
        rows = pa.concat_tables(tables) if any(map(len, tables)) else None
        if rows is not None:
            self._claims.check(fetched.ssp, rows, lambda row: _offset_of(row, tables, offsets))
        return DecodedBatch(
            ssp=fetched.ssp,
            next_offset=fetched.next_offset,
            rows=rows,
            controls=tuple(controls),
            ended=fetched.ended,
        )


def _sequence(fetched: FetchedBatch) -> tuple[SequenceNumber, ...]:
    """Return the numbers of messages; releases before wrote none."""
    numbered = zip(fetched.messages.keys, offset_column(fetched.messages).tolist(), strict=True)
    return tuple(decode_key(key, ssp=fetched.ssp, offset=offset) for key, offset in numbered if key is not None)


def _dead_letters(fetched: FetchedBatch, bad: Sequence[BadRecord]) -> tuple[DeadLetter, ...]:
    if not bad:
        return ()
    reasons = {record.offset: record.reason for record in bad}
    return tuple(
        DeadLetter(message, reasons[message.offset], fetched.messages.headers(at))
        for at, message in enumerate(fetched.messages)
        if message.offset in reasons
    )


def split_batch(fetched: FetchedBatch, offsets: Collection[int]) -> Iterator[FetchedBatch]:
    """Yield the parts of a batch: each of the offsets that lie in it begins one."""
    inside = sorted(offset for offset in offsets if fetched.offset < offset < fetched.next_offset)
    for begin, end in pairwise([fetched.offset, *inside, fetched.next_offset]) if inside else ():
        yield replace(
            fetched,
            offset=begin,
            next_offset=end,
            rows=None if fetched.rows is None else fetched.rows.slice(begin - fetched.offset, end - begin),
            messages=fetched.messages.between(begin, end),
            ended=fetched.ended and end == fetched.next_offset,
        )
    if not inside:
        yield fetched


def _offset_of(row: int, tables: Sequence[pa.Table], offsets: Sequence[int]) -> int:
    """Return the offset of the message that has a row of all their rows."""
    ends = accumulate(map(len, tables))
    return next(offset for offset, end in zip(offsets, ends, strict=True) if row < end)


def _advised(bad: BadRecord) -> BadRecord:
    """Return the error of a record that ends the app with what can be done about it."""
    return BadRecord(
        bad.ssp,
        bad.offset,
        f"{bad.reason}. Correct the record or spec.streams.{bad.ssp.stream}.schema, or set spec.job.onError to skip: "
        "such records are then left out and counted",
    )
