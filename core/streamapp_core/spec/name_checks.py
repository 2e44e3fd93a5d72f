"""The names of an app: DNS labels, one thing each."""

import re
from collections.abc import Iterator

from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.base import DNS_LABEL

_DNS_LABEL = re.compile(DNS_LABEL)


def check_names(app: StreamApp) -> Iterator[Problem]:
    """Find names that are no DNS labels, and names that two of operators, tables and streams have."""
    spec = app.spec
    named = [("metadata.name", app.metadata.name)]
    named += [(f"spec.systems.{name}", name) for name in spec.systems]
    named += [(f"spec.streams.{name}", name) for name in spec.streams]
    named += [(f"spec.tables.{name}", name) for name in spec.tables]
    named += [(f"spec.operators[{index}].name", operator.name) for index, operator in enumerate(spec.operators)]
    if spec.run_id is not None:
        named.append(("spec.runId", spec.run_id))
    for path, name in named:
        if not _DNS_LABEL.fullmatch(name):
            yield _invalid(path, name)
    yield from _duplicates(app)


def _invalid(path: str, name: str) -> Problem:
    suggestion = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    hint = f", for example `{suggestion}`" if suggestion else ""
    return Problem(
        path=path,
        code=ProblemCode.INVALID_NAME,
        message=f"`{name}` is no DNS label; use lower-case letters, digits and `-`, beginning and ending with a letter "
        f"or digit{hint}",
    )


def _duplicates(app: StreamApp) -> Iterator[Problem]:
    owners = dict.fromkeys(app.spec.streams, "stream")
    for name in app.spec.tables:
        if name in owners:
            yield _duplicate(f"spec.tables.{name}", name, "a stream")
        owners.setdefault(name, "table")
    for index, operator in enumerate(app.spec.operators):
        if operator.name in owners:
            article = "another operator" if owners[operator.name] == "operator" else f"a {owners[operator.name]}"
            yield _duplicate(f"spec.operators[{index}].name", operator.name, article)
        owners.setdefault(operator.name, "operator")


def _duplicate(path: str, name: str, other: str) -> Problem:
    return Problem(
        path=path,
        code=ProblemCode.DUPLICATE_NAME,
        message=f"`{name}` is the name of {other} too; streams, tables and operators share one set of names",
    )
