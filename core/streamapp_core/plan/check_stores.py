"""Systems in stores of objects: which paths are URLs, and what such a system needs and can't be."""

from collections.abc import Iterator, Mapping

from streamapp_core.deployment.memory_quantities import count_bytes
from streamapp_core.graph.graph import Graph
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import FileSystem, GrowingSystem, SystemSpec
from streamapp_core.storage_urls import StorageUrl, parse_storage_url, plain_key

_LARGEST_FILE = 4 << 30
"""Bytes of a file that is published by a copy: stores copy 5 GiB in a request."""


def check_stores(graph: Graph) -> Iterator[Problem]:
    """Find paths that are URLs and can't be, and systems that lack what their store needs."""
    for index, code in enumerate(graph.spec.py_files):
        if parse_storage_url(code) is not None:
            yield _problem(
                f"spec.pyFiles[{index}]",
                f"`{code}` is a URL, and code is not fetched: put it beside the app's file, into a ConfigMap, or into "
                "the image",
            )
    for name, system in graph.spec.systems.items():
        url, grows = system.url, system.growing
        place = f"spec.systems.{name}.{system.kind}"
        if grows is not None and grows.journal is not None and parse_storage_url(grows.journal) is not None:
            yield _problem(f"{place}.journal", "a journal is a file that is locked: name a folder of a disk or volume")
        if url is None:
            yield from _check_folder(name, system, place)
        elif grows is None and system.file is None:
            yield _problem(
                f"{place}.path",
                f"`{system.path}` is in a store of objects, where tables are read and written (systems `delta` and "
                f"`iceberg`), folders are read (`folder`), files are written (`file`) and rows are staged (`spark`), "
                f"and no system `{system.kind}`: name a folder of a disk or volume",
            )
        else:
            yield from _check_url(graph, name, url, place)
            if grows is not None:
                yield from _check_journal(graph, name, grows, place)
            if system.file is not None:
                yield from _check_files(graph, name, system.file, place)


def _check_folder(name: str, system: SystemSpec, place: str) -> Iterator[Problem]:
    if system.store is not None:
        pointer = f"/spec/systems/{name}/{system.kind}/store"
        yield _problem(
            f"{place}.store",
            f"`{system.path}` is a folder, and `store` says how a path `s3://bucket/folder` is reached",
            Repair(text=f"remove `{place}.store`", edits=(Edit(op="remove", pointer=pointer),)),
        )


def _check_url(graph: Graph, name: str, url: StorageUrl, place: str) -> Iterator[Problem]:
    if url.problem is not None:
        yield _problem(f"{place}.path", url.problem)
    for stream, spec in _streams(graph, name).items():
        address = spec.name or stream
        if graph.spec.systems[name].spark is None and not plain_key(address):
            yield _problem(
                f"spec.streams.{stream}.name",
                f"`{address}` is below `{graph.spec.systems[name].path}`, where paths have no `.`, `..` or empty parts",
            )


def _check_journal(graph: Graph, name: str, grows: GrowingSystem, place: str) -> Iterator[Problem]:
    streams = _streams(graph, name)
    read = next((stream for stream, spec in streams.items() if stream not in graph.senders and not spec.bounded), None)
    if grows.journal is None and read is not None:
        yield _problem(
            f"{place}.journal",
            f"`{read}` is read from a store of objects, where a journal can't be locked: name a folder of a disk, or "
            "on Kubernetes of a volume that driver and processors share",
        )


def _check_files(graph: Graph, name: str, system: FileSystem, place: str) -> Iterator[Problem]:
    for stream in _streams(graph, name):
        if stream not in graph.senders:
            yield _problem(
                f"spec.streams.{stream}.system",
                f"`{stream}` is read, and files of a system `file` are only written to a store of objects: read them "
                f"with a system `folder: {{path: {system.path}}}`, as a side input with `bounded: true`",
            )
    size = system.target_file_size
    if size is not None and count_bytes(size) > _LARGEST_FILE:
        yield _problem(
            f"{place}.targetFileSize",
            f"a file is published by one request to the store, which takes less than 5 GiB, and {size} is more: set "
            "4Gi at most",
        )


def _streams(graph: Graph, system: str) -> Mapping[str, StreamSpec]:
    return {stream: spec for stream, spec in graph.spec.streams.items() if spec.system == system}


def _problem(path: str, message: str, repair: Repair | None = None) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message, repair=repair)
