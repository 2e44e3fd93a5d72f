"""Appends records to a log in transactions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from streamapp_core.ssp import Ssp
from streamapp_systems.clock import time_of_day
from streamapp_systems.log.log_database import BUSY_SECONDS, connect, first_row, transaction
from streamapp_systems.log.partition_shards import find_shard
from streamapp_systems.log.producer_fences import check_turn, take_over
from streamapp_systems.protocols import SentRecords, StreamDescriptor, TransactionOwner

_Record: TypeAlias = tuple[int, bytes | None, bytes | None]
"""Timestamp, key and value."""


class LogProducer:
    """Buffers what is sent in memory and writes it in one transaction: a producer that dies has written nothing.

    Offsets are given at the commit, without gaps. One producer writes at a time; others wait for their turn up to
    `busy_seconds`.
    """

    def __init__(
        self,
        path: Path,
        streams: Sequence[StreamDescriptor],
        owner: TransactionOwner,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        """Open the log and take over the owner's transactional id.

        Raises:
            Fenced: a later epoch has it.
        """
        self._path = path
        self._owner = owner
        self._streams = {stream.name: stream for stream in streams}
        self._connection = connect(path, busy_seconds)
        self._sent: dict[Ssp, list[_Record]] = {}
        try:
            with transaction(self._connection, path, write=True):
                self._turn = take_over(self._connection, owner)
        except BaseException:
            self._connection.close()
            raise

    def prepare(self) -> None:
        """Do nothing: a log needs nothing before a transaction."""

    def was_away(self) -> bool:
        """Return False: a file forgets nothing."""
        return False

    def send(self, ssp: Ssp, value: bytes | None, *, key: bytes | None = None, timestamp: int) -> None:
        """Add one record, as `Producer.send` says."""
        self.send_all(ssp, SentRecords.of(timestamps=[timestamp], keys=[key], values=[value]))

    def send_all(self, ssp: Ssp, records: SentRecords) -> None:
        """Add records, as `Producer.send_all` says."""
        self._sent.setdefault(ssp, []).extend(records.rows(time_of_day()))

    def commit(self) -> Mapping[Ssp, int]:
        """Write all that was sent, as `Producer.commit` says.

        Raises:
            Fenced: a later producer has taken over.
            StreamSystemError: a partition does not exist, others keep the log busy, or the disk is full.
        """
        if not self._sent:
            return {}
        with transaction(self._connection, self._path, write=True):
            check_turn(self._connection, self._owner, self._turn)
            next_offsets = {ssp: self._append(ssp, self._sent[ssp]) for ssp in sorted(self._sent)}
        self._sent = {}
        return next_offsets

    def abort(self) -> None:
        """Forget what was sent since the last commit."""
        self._sent = {}

    def close(self) -> None:
        """Abort and release the file."""
        self.abort()
        self._connection.close()

    def _append(self, ssp: Ssp, records: list[_Record]) -> int:
        shard = find_shard(self._connection, self._streams, ssp)
        first = first_row(shard.id) + shard.next_offset
        next_offset = shard.next_offset + len(records)
        self._connection.executemany(
            "INSERT INTO records (id, timestamp, key, value) VALUES (?, ?, ?, ?)",
            ((row, *record) for row, record in enumerate(records, first)),
        )
        self._connection.execute("UPDATE shards SET next_offset = ? WHERE id = ?", (next_offset, shard.id))
        return next_offset
