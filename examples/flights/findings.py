"""Reads the results of the flights example and tells what is in them."""

from pathlib import Path

import duckdb
from rich import box
from rich.console import Console
from rich.table import Column, Table

HERE = Path(__file__).parent

CARRIERS = """
WITH parts AS (SELECT * FROM read_csv('{here}/out/totals/part-*.csv', union_by_name = true)),
latest AS (SELECT carrier, max(flights) AS flights FROM parts GROUP BY carrier)
SELECT airlines.name, parts.flights, parts.known_planes / parts.flights, parts.miles, parts.mean_delay
FROM latest JOIN parts USING (carrier, flights) JOIN read_csv('{here}/data/airlines.csv') AS airlines USING (carrier)
ORDER BY parts.mean_delay DESC
"""

HOURS = """
SELECT strftime(window_start::TIMESTAMP, '%a %d %b %Y, %H:00 UTC'), airlines.name, flights, mean_delay
FROM read_csv('{here}/out/hourly/part-*.csv') JOIN read_csv('{here}/data/airlines.csv') AS airlines USING (carrier)
WHERE flights >= 10 ORDER BY mean_delay DESC LIMIT 5
"""


def main() -> None:
    """Print the carriers by mean delay and the worst hours of the year."""
    console = Console()
    with duckdb.connect() as database:
        carriers = Table(
            Column("carrier", no_wrap=True),
            title="Departures from New York, 2013",
            box=box.SIMPLE,
            title_justify="left",
        )
        for title in ("flights", "planes known", "million miles", "mean delay"):
            carriers.add_column(title, justify="right")
        for name, flights, known, miles, delay in database.execute(CARRIERS.format(here=HERE)).fetchall():
            carriers.add_row(name, f"{flights:,}", f"{known:.0%}", f"{miles / 1e6:.1f}", f"{delay:.1f} min")
        console.print(carriers)

        hours = Table(
            "hour", "carrier", title="The worst hours (10 flights or more)", box=box.SIMPLE, title_justify="left"
        )
        for title in ("flights", "mean delay"):
            hours.add_column(title, justify="right")
        for hour, name, flights, delay in database.execute(HOURS.format(here=HERE)).fetchall():
            hours.add_row(hour, name, f"{flights:,}", f"{delay:.0f} min")
        console.print(hours)
    console.print(f"Results: {HERE}/out/hourly and {HERE}/out/totals", soft_wrap=True)
    console.print(f"The plan's picture (Mermaid): {HERE}/out/plan.mmd", soft_wrap=True)


if __name__ == "__main__":
    main()
