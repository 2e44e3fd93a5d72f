"""A system that only Spark reads and writes."""

from typing import Annotated

from pydantic import AfterValidator, Field

from streamapp_core.spec.base import ColumnName, Duration, FunctionName, Name, SpecModel, Text, between
from streamapp_core.spec.job import Delivery
from streamapp_core.spec.table_systems import JournalFolder, ObjectStore


class Incremental(SpecModel):
    """The column by which a job of Spark knows which rows are new."""

    column: Annotated[ColumnName, Field(description="A column whose values grow: rows with larger ones are new.")]
    every: Annotated[
        Annotated[Duration, between("10s", "7d")],
        Field(description="How often a job looks for new rows, after the end of the last one."),
    ] = "5m"  # type: ignore[assignment]
    delay: Annotated[
        Annotated[Duration, between("0s", "7d")] | None,
        Field(
            description="Of a timestamp: how old a row must be to be read, longer than any transaction that writes "
            "rows; default: 5m."
        ),
    ] = None


def _check_option(name: str) -> str:
    if name.lower() in _LOGIN_OPTIONS:
        raise ValueError(f"{name}: no login belongs in a spec, which many people read; name its secret (`secretName`)")
    return name


_LOGIN_OPTIONS = ("password", "user")
_OPTION = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_check_option)]


class SparkSystem(SpecModel):
    """A format that only Spark reads and writes: rows are staged as files, in generations, which jobs write or read."""

    format: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._$-]*$",
            max_length=255,
            description="Spark's name of the format, as in `spark.read.format`: `jdbc`, `orc`, or a class.",
        ),
    ]
    options: Annotated[
        dict[_OPTION, Annotated[str, Field(max_length=16_384)]],
        Field(max_length=100, description="The format's options, as in `spark.read.options`."),
    ] = {}
    secret_name: Annotated[
        Name | None,
        Field(description="A secret with `username` and `password`: the format's options `user` and `password`."),
    ] = None
    path: Annotated[
        Text,
        Field(
            description="The folder in which rows are staged, for as long as anyone may read them; on a laptop "
            "relative to the app's file; or `s3://bucket/folder`."
        ),
    ]
    store: ObjectStore | None = None
    journal: JournalFolder = None
    incremental: Annotated[
        Incremental | None, Field(description="How new rows are found; without it, rows are read once.")
    ] = None
    commit_every: Annotated[
        Annotated[Duration, between("10s", "7d")],
        Field(description="How often committed rows are written, as a generation of each processor."),
    ] = "1m"  # type: ignore[assignment]
    write: Annotated[
        FunctionName | None,
        Field(
            description="A function of yours that writes a generation, in place of Spark's writer of the format: "
            "`module:function`, called with a DataFrame, the text that names the output, and the generation's number."
        ),
    ] = None
    delivery: Annotated[
        Delivery,
        Field(
            description="What outputs promise. `atLeastOnce`: rows of a generation whose writing died in the middle "
            "come twice."
        ),
    ] = Delivery.EXACTLY_ONCE
