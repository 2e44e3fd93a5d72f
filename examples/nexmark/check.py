"""Runs the Nexmark queries and compares their results with those of an oracle: DuckDB, over all events at once.

generate.py && check.py                 all queries
check.py q08 q11 --host in-process      some of them, without Spark
check.py q08 --sql                      its app with operators in SQL
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

HERE = Path(__file__).parent
QUERIES = tuple(sorted(path.stem for path in (HERE / "queries").glob("q??.yaml")))
SQL_QUERIES = tuple(sorted(path.stem for path in (HERE / "sql").glob("q??.yaml")))
"""The queries whose app there is in SQL, too."""
KEYS = {
    "q04": ("id",),
    "q06": ("id",),
    "q09": ("id",),
    "q15": ("day",),
    "q16": ("channel", "day"),
    "q17": ("auction", "day"),
    "q18": ("bidder", "auction"),
    "q19": ("auction", "rank_number"),
}
"""The queries whose results are corrected: of the rows with one key the last one counts."""
FOLDERS = {"q10": ["dt", "hm"]}
"""The columns of results that are folders in the paths of their files."""
TIMES_OF_DAY = {"q12": ["starttime", "endtime"]}
"""The columns of results that depend on the time of day; the rows that differ in nothing else are added up."""
CHANGE = "__op"
"""The column that says of a row whether it deletes its key (`d`); it is there where keys may be deleted."""
SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The number of rows that an app should have found, and examples of those that it lacks or has beyond them."""

    rows: int
    missing: tuple[tuple[Any, ...], ...]
    surplus: tuple[tuple[Any, ...], ...]

    @property
    def equal(self) -> bool:
        """Whether the app has found what the oracle has."""
        return not self.missing and not self.surplus

    def __str__(self) -> str:
        if self.equal:
            return f"{self.rows:,} rows, equal to the oracle's"
        lines = [f"{self.rows:,} rows are expected"]
        for name, rows in (("missing", self.missing), ("surplus", self.surplus)):
            lines += [f"  {name}: {row}" for row in rows]
        return "\n".join(lines)


class Oracle:
    """The results that queries should have over the events in a folder."""

    def __init__(self, data: Path) -> None:
        """Read the events, `events/*.jsonl`, and the side input, `side.jsonl`."""
        self._database = duckdb.connect(config={"threads": 1})
        self._database.execute("SET TimeZone = 'UTC'")
        views = (HERE / "oracle" / "events.sql").read_text(encoding="utf-8")
        self._database.execute(views.format(events=data / "events" / "*.jsonl", side=data / "side.jsonl"))

    def compare(self, query: str, results: Path) -> Comparison:
        """Compare the part files that an app has written with what the query should find.

        Raises:
            ValueError: the rows have other columns.
        """
        columns = self.columns(query)
        self._database.execute(f"CREATE OR REPLACE TEMP TABLE found AS {self._found(query, results, columns)}")
        (rows,) = self._database.execute("SELECT count(*) FROM expected").fetchall()[0]
        return Comparison(rows=rows, missing=self._less("expected", "found"), surplus=self._less("found", "expected"))

    def columns(self, query: str) -> dict[str, str]:
        """Run a query into the table `expected`; return the types of its columns by their names."""
        text = (HERE / "oracle" / f"{query}.sql").read_text(encoding="utf-8")
        self._database.execute(f"CREATE OR REPLACE TEMP TABLE expected AS {text}")
        return {str(name): str(kind) for name, kind, *_ in self._database.execute("DESCRIBE expected").fetchall()}

    def _found(self, query: str, results: Path, columns: dict[str, str]) -> str:
        """Write the query that reads the results; of those with one key the last, unless it deletes the key."""
        key, folders, times_of_day = KEYS.get(query, ()), FOLDERS.get(query, []), TIMES_OF_DAY.get(query, [])
        names = ", ".join(f'"{name}"' for name in columns)
        parts = [str(part) for part in sorted(results.rglob("part-*"), key=_in_order)]
        if not parts:
            return "FROM expected LIMIT 0"
        stored = {name: kind for name, kind in columns.items() if name not in folders}
        allowed = [[*stored], [*stored, CHANGE]] if key else [[*stored, *times_of_day]]
        keys = f"SELECT DISTINCT json_keys(json) FROM read_ndjson_objects({parts})"
        for (written,) in self._database.execute(keys).fetchall():
            if written not in allowed:
                raise ValueError(f"the columns are {', '.join(written)}; expected are {', '.join(stored)}")
        options = "format = 'newline_delimited', hive_partitioning = true, hive_types_autocast = false"
        read = f"read_json({parts}, {options}, columns = {stored | {CHANGE: 'VARCHAR'}})"
        if times_of_day:
            *groups, count = columns
            return f"SELECT {', '.join(groups)}, sum({count})::BIGINT AS {count} FROM {read} GROUP BY ALL"
        if not key:
            return f"SELECT {names} FROM {read}"
        numbered = f"SELECT *, row_number() OVER () AS place FROM {read}"
        last = f"SELECT * FROM ({numbered}) QUALIFY place = max(place) OVER (PARTITION BY {', '.join(key)})"
        return f"SELECT {names} FROM ({last}) WHERE {CHANGE} IS DISTINCT FROM 'd'"

    def _less(self, some: str, others: str) -> tuple[tuple[Any, ...], ...]:
        query = f"FROM {some} EXCEPT ALL FROM {others} ORDER BY ALL LIMIT {SHOWN}"
        return tuple(self._database.execute(query).fetchall())

    def close(self) -> None:
        """Release the events."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _in_order(part: Path) -> list[int]:
    """Order part files as they were written: by run, processor and number."""
    return [int(number) for number in re.findall(r"\d+", part.name)]


def main() -> None:
    """Run the queries and compare their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", nargs="*", metavar="query", help=f"default: all; {', '.join(QUERIES)}")
    parser.add_argument("--host", default="spark", help="where the apps run: spark (default), in-process")
    parser.add_argument("--sql", action="store_true", help="run the apps with operators in SQL")
    given = parser.parse_args()
    queries = SQL_QUERIES if given.sql else QUERIES
    if unknown := set(given.queries) - set(queries):
        parser.error(f"there is no query {', '.join(sorted(unknown))}; there are {', '.join(queries)}")
    if not (HERE / "data" / "events").is_dir():
        sys.exit(f"there are no events in {HERE / 'data'}: generate.py makes them")
    failed = []
    with Oracle(HERE / "data") as oracle:
        for query in given.queries or queries:
            run(HERE / ("sql" if given.sql else "queries") / f"{query}.yaml", given.host)
            comparison = oracle.compare(query, HERE / "out" / query)
            print(f"{query}: {comparison}", flush=True)
            failed += [] if comparison.equal else [query]
    if failed:
        sys.exit(f"not equal: {', '.join(failed)}")


def run(app: Path, host: str) -> None:
    """Run an app from the beginning; a failure ends the program."""
    command = [str(Path(sys.executable).with_name("streamapp")), "run", str(app)]
    done = subprocess.run([*command, "--fresh", "--quiet", "--host", host], check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{app} has failed")


if __name__ == "__main__":
    main()
