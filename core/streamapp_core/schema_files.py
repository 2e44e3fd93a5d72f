"""Files of schemas beside an app's file: a document that names them becomes one that holds their texts.

So a plan, a run and a resource of Kubernetes have one text, which says all that they need.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from streamapp_core.protobuf.proto_files import ProtoError, imported_files
from streamapp_core.spec.yaml_document import DocumentError, read_document

ReadFile = Callable[[str], str | None]
"""Returns the text of a file relative to the app's; None if there is none that can be read."""


def embed_schema_files(text: str, read_file: ReadFile) -> str:
    """Return the text of an app with the schemas that its streams name files of; as it is, if they name none.

    A file that can't be read is left to the planner, which says so.

    Raises:
        DocumentError: the text is no document, or has a schema that is not that of its file.
    """
    if "schemaFile" not in text:
        return text
    document, duplicates = read_document(text)
    named = [] if duplicates else list(_options_with_files(document))
    for place, form, options in named:
        found = read_file(options["schemaFile"])
        if found is None:
            continue
        if options.get("schema") not in (None, found):
            raise DocumentError(
                f"{place}.schema is not the text of its schemaFile, {options['schemaFile']}: leave one of them out"
            )
        options["schema"] = found
        if form == "protobuf":
            given = options.get("imports") or {}
            options["imports"] = {**_imports(options["schemaFile"], found, read_file), **given}
    return json.dumps(document, ensure_ascii=False) if named else text


def _options_with_files(document: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:  # noqa: ANN401 - YAML
    """Yield the places, formats and options of streams that name a file; what is none of these is left alone."""
    for part in ("spec", "streams"):
        document = document.get(part) if isinstance(document, dict) else None
    for name, stream in document.items() if isinstance(document, dict) else ():
        for form in ("avro", "protobuf"):
            options = stream.get(form) if isinstance(stream, dict) else None
            if isinstance(options, dict) and isinstance(options.get("schemaFile"), str):
                yield f"spec.streams.{name}.{form}", form, options


def _imports(name: str, text: str, read_file: ReadFile) -> dict[str, str]:
    """Return the texts of all files that one imports, by the names that import them, as far as they are found.

    They are looked for in the folder of the first one, then in those above it, as its root may be any of them.
    """
    folders = [name[:at] for at in range(len(name), 0, -1) if name[at - 1] == "/"] + [""]
    found: dict[str, str] = {}
    texts = [text]
    while texts:
        for wanted in _imported(texts.pop()):
            content = None if wanted in found else _first(read_file, [f"{folder}{wanted}" for folder in folders])
            if content is not None:
                found[wanted] = content
                texts.append(content)
    return found


def _imported(text: str) -> tuple[str, ...]:
    try:
        return imported_files(text)
    except ProtoError:
        return ()


def _first(read_file: ReadFile, names: list[str]) -> str | None:
    return next((text for text in map(read_file, names) if text is not None), None)
