"""Metadata and maintenance of streams: what the admins of systems do."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols.producer import TransactionOwner
from streamapp_systems.protocols.record_limits import RecordLimits
from streamapp_systems.protocols.stream_descriptor import StreamDescriptor


class Admin(Protocol):
    """Metadata of a system: its streams, their partition counts and their offsets."""

    def partitions(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Count the partitions of these streams; a stream that does not exist is absent from the answer."""
        ...

    def create(self, counts: Mapping[StreamDescriptor, int]) -> None:
        """Create these streams with these partition counts where they are missing.

        Raises:
            StreamSystemError: a stream exists with another count.
        """
        ...

    def start_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return, per partition of these streams, the offset below which nothing can be read any more."""
        ...

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return, per partition of these streams, the offset after the last record there is now."""
        ...

    def identities(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, str]:
        """Return, by stream name, what distinguishes a stream from a deleted or later one at its address.

        Empty if there is none.
        """
        ...

    def close(self) -> None:
        """Release every handle; the admin is not used again."""
        ...


class TransactionalAdmin(Admin, Protocol):
    """The admin of a system with transactions: fencing, growth and clean-up besides."""

    def fence(self, owners: Sequence[TransactionOwner]) -> None:
        """Fence all producers opened earlier under these ids, and wait until what they committed is visible.

        Raises:
            Fenced: an id has a later epoch already (log).
        """
        ...

    def expand(self, stream: StreamDescriptor, count: int) -> None:
        """Raise a stream's partitions to this count, unless it has them already; what it holds stays where it is.

        Raises:
            StreamSystemError: it does not exist, or has more partitions.
        """
        ...

    def written_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return ends as `end_offsets` does, counting also records that are not committed and not readable yet."""
        ...

    def offsets_for_times(self, streams: Sequence[StreamDescriptor], milliseconds: int) -> Mapping[Ssp, int]:
        """Return, per partition of these streams, an offset below which all records are older than a time.

        The times are those of records, in milliseconds since 1970. As a broker answers, the record there may be older,
        too: it counts the ends of transactions. Where there is none it is the end.
        """
        ...

    def record_limits(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, RecordLimits]:
        """Return the limits of these streams' records, by name; a stream that is absent has none, or does not exist."""
        ...

    def count_records(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Return about how many records these streams hold, by name, as their offsets tell."""
        ...

    def delete(self, streams: Sequence[StreamDescriptor]) -> None:
        """Delete these streams with all they hold, those that exist."""
        ...

    def delete_records(self, streams: Sequence[StreamDescriptor], below: Mapping[Ssp, int]) -> None:
        """Delete the records of these streams' partitions below these offsets; offsets stay. Safe to repeat."""
        ...

    def compact(self, stream: StreamDescriptor, *, tombstones_before: int) -> int:
        """Delete what later records of a keyed stream supersede, and deletions older than a time (milliseconds).

        Returns how many records are left; a system that compacts by itself does nothing and returns 0.
        """
        ...

    def publish_group_offsets(
        self, group: str, streams: Sequence[StreamDescriptor], positions: Mapping[Ssp, int]
    ) -> None:
        """Show how far these streams have been read as the offsets of a consumer group, for lag tools.

        Nothing reads them back. A system without consumer groups does nothing.
        """
        ...

    def delete_group(self, group: str) -> None:
        """Delete the consumer group that `publish_group_offsets` made, if there is one."""
        ...
