"""Markers of transactions in the files of a broker that is dead."""

MARKER_BYTES = 78
"""A record batch with one control record."""


def cut_last_marker(log):
    """Take the last marker from a log, and what was derived from it."""
    content = log.read_bytes()
    control = int.from_bytes(content[-MARKER_BYTES:][21:23]) & 0x20
    assert control, log
    log.write_bytes(content[:-MARKER_BYTES])
    for derived in (*log.parent.glob("*.snapshot"), *log.parent.glob("*index")):
        derived.unlink()
