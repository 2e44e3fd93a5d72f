"""The document of an app as its calls declare it, and where in the code each part was declared."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from streamapp_api.written_fields import Named, write_fields
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.base import parameter_name
from streamapp_core.spec.operators import OperatorKind, OperatorSpec

_PACKAGE = Path(__file__).parent
_CELLS = "ipykernel_"
"""How the folder is named in which a notebook's kernel says that the code of cells is."""


class Declarations:
    """A StreamApp's document, whose functions may be objects; `places` has lines of code by paths of the document."""

    def __init__(self, document: dict[str, Any]) -> None:
        """Take the document to begin with."""
        self.document = document
        self.places = {"spec": caller()}

    @property
    def spec(self) -> dict[str, Any]:
        """The spec as it is so far."""
        spec: dict[str, Any] = self.document["spec"]
        return spec

    def ordered(self) -> dict[str, Any]:
        """Return the document, the parts of its spec in the order of the model."""
        order = [field.alias for field in StreamAppSpec.model_fields.values()]
        return {**self.document, "spec": {name: self.spec[name] for name in order if name in self.spec}}

    def add(self, section: str, name: str, value: Mapping[str, Any]) -> None:
        """Add a system, stream, table or function.

        Raises:
            ValueError: its section has this name already.
        """
        path, entries = f"spec.{section}.{name}", self.spec.setdefault(section, {})
        if name in entries:
            raise ValueError(self._twice(name, path))
        entries[name] = dict(value)
        self.places[path] = caller()

    def add_operator(
        self, kind: OperatorKind, name: str, value: str | Named | Mapping[str, Any], sources: Sequence[Named | str]
    ) -> None:
        """Add an operator that reads `sources`; none: its query names them.

        Raises:
            TypeError: it has no field of a name in `value`.
            ValueError: an operator has this name already, or what it reads was declared in another app.
        """
        operators = self.spec.setdefault("operators", [])
        for index, operator in enumerate(operators):
            if operator["name"] == name:
                raise ValueError(self._twice(name, f"spec.operators[{index}]"))
        reads = {"from_": sources if len(sources) > 1 else sources[0]} if sources else {}
        written = write_fields(OperatorSpec, {"name": name, **reads, parameter_name(kind): value}, self)
        self.places[f"spec.operators[{len(operators)}]"] = caller()
        operators.append(written)

    def fields(self, model: type[BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call as an object of the document (`write_fields`)."""
        return write_fields(model, arguments, self)

    def place(self, path: str) -> str | None:
        """Return the line of code that declared what is at a path; None if no call did."""
        parts = [path[:at] for at in range(len(path), 0, -1) if at == len(path) or path[at] in ".["]
        return next((self.places[part] for part in parts if part in self.places), None)

    def _twice(self, name: str, path: str) -> str:
        before = self.place(path)
        return (
            f"`{name}` is declared already{f' at {before}' if before else ''}: give this one another name. If the code "
            "was run again, as a cell of a notebook, run what makes the App again, too"
        )


def caller() -> str:
    """Return file and line of the innermost code that is none of this package's; of a cell in a notebook, the line."""
    frame = inspect.currentframe()
    while frame is not None and Path(frame.f_code.co_filename).parent == _PACKAGE:
        frame = frame.f_back
    if frame is None:
        return ""
    file = Path(frame.f_code.co_filename)
    return f"line {frame.f_lineno} of a cell" if _CELLS in file.parent.name else f"{file.name}:{frame.f_lineno}"
