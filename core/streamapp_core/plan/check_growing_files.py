"""Streams whose files become more while the app runs: what such a stream can't be."""

import re
from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.message_schemas import superfluous_option
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.streams import StartFrom, StreamChanges, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind

_NAME_IN_CATALOG = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+")
_FORMATS = (StreamFormat.JSON, StreamFormat.PARQUET)
"""The default, which says nothing of a table, and what its files are."""


def check_growing_files(graph: Graph, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find what a stream over files that become more can't do: be written, have an end, or each key in one file."""
    path = f"spec.streams.{name}"
    if name in graph.senders and graph.spec.systems[stream.system].kind is SystemKind.FOLDER:
        yield Problem(
            path=f"{path}.system",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{name}` is written, and what is in `{stream.system}` is only read: outputs are "
            "part files of a system `file`, or tables of a system `delta`, `iceberg`, `postgresql` or `spark`",
        )
    if stream.bounded:
        yield from _check_whole(graph, name, stream)
    if stream.partitioned:
        yield superfluous_option(
            name,
            ("partitioned",),
            f"`{name}` gets new files, so rows of a key are in several: put a `partitionBy` behind",
        )


def _check_whole(graph: Graph, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find what can't be read as it is at one version."""
    versions = graph.spec.systems[stream.system].kind.has_versions
    if not versions or name in graph.readers or name not in graph.side_inputs:
        yield superfluous_option(
            name,
            ("bounded",),
            f"`{name}` has no end, since new files may come: only side inputs that are tables or folders are read as "
            "they are at one version; a system `file` reads the files that there are at the start",
        )
        return
    if stream.changes is not StreamChanges.APPEND:
        yield superfluous_option(
            name, ("changes",), f"`{name}` is bounded: of each version all rows are read, and changes follow versions"
        )
    if stream.starting_version is not None:
        yield superfluous_option(
            name, ("startingVersion",), f"`{name}` is bounded: the version that is read is the latest one"
        )


def check_tables(graph: Graph, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find what the declaration of a table says and the table says by itself, and names that no table has."""
    address = stream.name or name
    if graph.spec.systems[stream.system].kind is SystemKind.ICEBERG and not _NAME_IN_CATALOG.fullmatch(address):
        yield Problem(
            path=f"spec.streams.{name}.name",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{address}` is no name in a catalog: write the table's namespace before it, as in `name: "
            "sales.orders`, of letters, digits, `_` and `-`",
        )
    if name in graph.senders:
        if stream.starting_version is not None:
            yield superfluous_option(
                name, ("startingVersion",), f"`{name}` is written, and a version is where reading begins"
            )
        return
    if stream.format not in _FORMATS:
        yield superfluous_option(name, ("format",), f"the files of table `{name}` are parquet, not {stream.format}")
    if stream.folder_columns:
        yield superfluous_option(
            name, ("folderColumns",), f"table `{name}` says by itself which of its columns are folders"
        )
    if stream.starting_version is not None and stream.start_from is StartFrom.LATEST:
        yield superfluous_option(
            name,
            ("startingVersion",),
            f"`{name}` begins at its end (`startFrom: latest`), or at a version, but not at both",
        )


def no_versions(name: str) -> Problem:
    """Return the problem of a version that is no table's."""
    return superfluous_option(name, ("startingVersion",), f"`{name}` is no table, and only tables have versions")
