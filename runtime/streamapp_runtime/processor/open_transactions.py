"""Transactions that are open where a processor is going to write.

All of its predecessor's have ended: it has taken over the transactional id. Those of others end within seconds. One
that stays open is hanging: the brokers have never written its end to that partition (docs/kafka.md, When a broker
forgets how a transaction ended). It ends as the next transaction of its producer there does, so a processor that wrote
could make rows visible that were aborted.
"""

from collections.abc import Callable, Mapping

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import Unavailable

_WAIT_SECONDS = 20.0
"""A transaction of another processor takes 15 s at most."""
_PAUSE_SECONDS = 0.05


def wait_until_ended(
    written: Mapping[Ssp, int],
    read_ends: Callable[[], Mapping[Ssp, int]],
    addresses: Mapping[str, str],
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Wait until all records that were written to some partitions are committed or aborted.

    Args:
        written: the end of each partition, with records that are neither; nothing has been written by the caller since.
        read_ends: returns the offset of each partition before which all records are committed or aborted.
        addresses: by stream, the name that the system knows it by.
        clock: monotonic seconds.
        sleep: waits so many seconds.

    Raises:
        Unavailable: a transaction stays open.
    """
    deadline = clock() + _WAIT_SECONDS
    while open_at := {ssp: end for ssp, end in read_ends().items() if end < written.get(ssp, 0)}:
        if clock() >= deadline:
            raise Unavailable(_explain(*min(open_at.items()), addresses))
        sleep(_PAUSE_SECONDS)


def _explain(ssp: Ssp, offset: int, addresses: Mapping[str, str]) -> str:
    topic = addresses[ssp.stream]
    return (
        f"{ssp}: a transaction that was open before this processor started is open still, from offset {offset} on. "
        "If no other program writes to this topic in transactions that take so long, the brokers have lost its end: "
        f"have it aborted by kafka-transactions.sh abort --topic {topic} --partition {ssp.partition} "
        f"--start-offset {offset} (docs/kafka.md, When a broker forgets how a transaction ended)"
    )
