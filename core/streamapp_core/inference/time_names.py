"""The names that columns of times have, and which of them say when something happened."""

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TIMES = {"time", "timestamp", "ts", "at", "datetime", "date", "when", "epoch", "millis", "ms", "day"}
_HAPPENED = {"event", "occurred", "happened", "observed", "measured", "ordered", "paid", "clicked", "sent"}
_BEGAN = {"created", "start", "started", "begin", "began", "pickup", "scheduled", "departure", "dep", "issued"}
_LATER = {
    *(
        "updated",
        "modified",
        "changed",
        "processed",
        "ingested",
        "ingest",
        "ingestion",
        "inserted",
        "loaded",
        "received",
    ),
    *(
        "end",
        "ended",
        "finished",
        "expires",
        "expiry",
        "expired",
        "deleted",
        "arrival",
        "dropoff",
        "due",
        "birth",
        "until",
    ),
}


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name, however it joins them: `eventTime`, `event_time`."""
    return frozenset(word.lower() for word in _WORD.findall(name))


def names_a_time(name: str) -> bool:
    """Return whether a name is one of times."""
    return not words_of(name).isdisjoint(_TIMES | _HAPPENED | _BEGAN | _LATER)


def event_time_rank(name: str) -> int:
    """Return how much a name says that its times are those when something happened; more is better."""
    words = words_of(name)
    rank = 2 * bool(words & _TIMES) + 3 * bool(words & _HAPPENED) + bool(words & _BEGAN)
    return rank - 6 * bool(words & _LATER)
