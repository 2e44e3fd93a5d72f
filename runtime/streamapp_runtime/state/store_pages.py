"""Reading a whole store, however large it is."""

from collections.abc import Iterator

from streamapp_runtime.state.store import Store

_ENTRIES = 20_000


def scan_pages(store: Store, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
    """Iterate over the entries with start <= key < end as `Store.scan`, with some thousand of them in memory at once.

    The caller changes nothing meanwhile.
    """
    while page := list(store.scan(start, end, _ENTRIES)):
        yield from page
        start = page[-1][0] + b"\0"
