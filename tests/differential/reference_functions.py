"""What the functions of random apps mean, as queries over all rows at once.

Timers fire in the order of event times, after the rows of their time; what they emit has their time.
"""

from datetime import UTC, datetime
from typing import Any

HOUR = 3_600_000
FIXED = int(datetime(2024, 3, 1, 22, tzinfo=UTC).timestamp() * 1000)


def called(process: dict[str, Any], rows: str, until: int) -> str:
    """Return what a function makes of rows; of those after `until`, one that goes by event time is given none."""
    name = process["function"].partition(":")[2]
    if name == "twice":
        return f"SELECT id, k, g, v, t FROM ({rows}) UNION ALL SELECT id + 100, k, g, v, t FROM ({rows})"
    if name == "later":
        return f"SELECT id, k, g, v, t + {HOUR // 2} AS t FROM ({rows})"
    by = process["state"]["key"]
    key = by if isinstance(by, str) else ", ".join(by)
    return _STATEFUL[name.partition("By")[0]](f"SELECT * FROM ({rows}) WHERE t <= {until}", key)


def _totals(rows: str, key: str) -> str:
    """Count what came before a fixed time, which is when it is emitted."""
    return f"""SELECT count(*)::INT AS id, {_both(key)}, sum(v)::INT AS v, {FIXED} AS t
               FROM ({rows}) WHERE t < {FIXED} GROUP BY {key}"""


def _silence(rows: str, key: str) -> str:
    """Count the rows of a key between two pauses of more than an hour."""
    return f"""
        SELECT count(*)::INT AS id, {_both(key)}, sum(v)::INT AS v, max(t) + {HOUR} AS t
        FROM (SELECT *, sum(far) OVER (PARTITION BY {key} ORDER BY t) AS n
              FROM (SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY {key} ORDER BY t) > {HOUR} THEN 1 ELSE 0 END
                           AS far FROM ({rows}))) GROUP BY {key}, n"""


def _hourly(rows: str, key: str) -> str:
    """Count the rows of a key in each hour, a full hour being the end of its own."""
    return f"""SELECT count(*)::INT AS id, {_both(key)}, sum(v)::INT AS v, full_hour AS t
               FROM (SELECT *, (t + {HOUR - 1}) // {HOUR} * {HOUR} AS full_hour FROM ({rows}))
               GROUP BY {key}, full_hour"""


def _before(rows: str, key: str) -> str:
    """Sum the earlier rows of the key."""
    return f"""SELECT id, k, g, coalesce(sum(v) OVER (
                   PARTITION BY {key} ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
               ), 0)::INT AS v, t FROM ({rows})"""


def _both(key: str) -> str:
    return f"{key} AS k, {key} AS g" if "," not in key else "k, g"


_STATEFUL = {"Totals": _totals, "Silence": _silence, "Hourly": _hourly, "Before": _before}
