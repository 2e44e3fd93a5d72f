"""Write the orders of some hours that follow those that are there, as files that land: `python orders.py 24`."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

FIRST_HOUR = datetime(2024, 5, 1, tzinfo=UTC)
SHOPS = ("bergen", "lima", "oslo", "rome")
ORDERS = 500
"""Orders in an hour."""


def land(folder: Path, hours: int) -> None:
    """Add a file for each hour to `landing/orders` in a folder, under its name once it is complete."""
    landing = folder / "landing" / "orders"
    number = len(list(landing.glob("day=*/*.parquet")))
    for hour in (FIRST_HOUR + timedelta(hours=n) for n in range(number, number + hours)):
        day = landing / f"day={hour:%Y-%m-%d}"
        day.mkdir(parents=True, exist_ok=True)
        pq.write_table(_orders(hour), day / f"{hour:%H}.parquet.tmp")
        (day / f"{hour:%H}.parquet.tmp").rename(day / f"{hour:%H}.parquet")


def _orders(hour: datetime) -> pa.Table:
    random = Random(hour.timestamp())  # noqa: S311 - the same orders each time
    times = sorted(hour + timedelta(seconds=random.randrange(3_600)) for _ in range(ORDERS))
    return pa.table(
        {
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "shop": [random.choice(SHOPS) for _ in times],
            "amount": pa.array([random.randrange(1, 100) for _ in times], pa.int32()),
        }
    )


if __name__ == "__main__":
    land(Path(__file__).parent, int(sys.argv[1]))
