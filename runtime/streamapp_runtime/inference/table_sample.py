"""Samples of tables of Delta: the rows of their newest files."""

from pathlib import Path

from streamapp_core.data_types import Column
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.spec.table_systems import DeltaSystem
from streamapp_runtime.inference.source_sample import (
    SAMPLED_FILES,
    ReadRows,
    SourceSample,
    fit_columns,
    folder_in_spec,
    read_chunks,
)
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.folder.delta_log import LOG, DeltaLog
from streamapp_systems.folder.delta_rows import DeltaRows, table_columns

_SYSTEM = "lake"


def is_table(source: str) -> bool:
    """Return whether a folder is a table of Delta."""
    return (Path(source) / LOG).is_dir()


def sample_table(source: str, app_folder: Path, rows: int) -> SourceSample:
    """Read the first rows of the newest files of a table.

    Raises:
        StreamSystemError: the table can't be read, or has what is not supported.
    """
    table = Path(source).resolve()
    log = DeltaLog(table)
    snapshot = log.snapshot()
    log.check_whole(snapshot.files)
    types = dict(table_columns(snapshot.metadata))
    files = snapshot.files[-SAMPLED_FILES:]

    def read(schema: Schema) -> ReadRows:
        chunks = (DeltaRows(file.values).read(table / file.path, arrow_schema(schema), 0) for file in files)
        return read_chunks(chunks, schema, rows)

    columns = [Column(name, kind) for name, kind in types.items() if kind is not None]
    fitted = fit_columns(columns, read, lambda _: ())
    count = sum(map(len, fitted.found.rows))
    return SourceSample(
        label=table.name,
        system=SystemSpec(delta=DeltaSystem(path=folder_in_spec(table.parent, source, app_folder))),
        stream=StreamSpec.model_validate({"system": _SYSTEM, "name": table.name, "schema": str(fitted.schema)}),
        schema=fitted.schema,
        rows=fitted.found.rows,
        partitions=1,
        unreadable=fitted.found.unreadable,
        left_out=(*(name for name, kind in types.items() if kind is None), *fitted.left_out),
        bounded=False,
        remarks={
            "": [
                f"Columns are those of the table's version {snapshot.version}; the rest is guessed from {count:,} rows "
                f"of {len(files):,} of its {len(snapshot.files):,} files."
            ]
        },
    )
