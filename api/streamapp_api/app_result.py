"""The outcome of a run: its summary, and the rows of its outputs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.plan_run import plan_new_run
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.output_rows import read_output
from streamapp_systems.registry import local_systems


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRows:
    """The rows that an output holds, in one of the libraries that are installed."""

    table: pa.Table

    def arrow(self) -> pa.Table:
        """Return them as a table of Arrow."""
        return self.table

    def pandas(self) -> Any:  # noqa: ANN401 - pandas may be absent
        """Return them as a data frame of pandas."""
        return self.table.to_pandas()

    def polars(self) -> Any:  # noqa: ANN401 - polars may be absent
        """Return them as a data frame of polars."""
        import polars

        return polars.from_arrow(self.table)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AppResult:
    """The end of a run: its `summary`, and by name the rows of its outputs, `result["totals"].arrow()`."""

    summary: Summary
    text: str
    folder: Path

    def __getitem__(self, output: str) -> OutputRows:
        """Read the rows that an output holds now.

        Raises:
            RuntimeFailure: there is no such output, or its rows change: the message says what to do.
            StreamSystemError: its system can't be read.
        """
        systems = local_systems(self.folder)
        plan = plan_new_run(parse_text(self.text), systems, "read", "").plan
        return OutputRows(table=read_output(output, plan, systems))

    def __repr__(self) -> str:
        written = ", ".join(f"{name}: {rows:,} rows" for name, rows in sorted(self.summary.written.items()))
        return f"<completed in {self.summary.seconds:.1f} s; written {written or 'nothing'}>"
