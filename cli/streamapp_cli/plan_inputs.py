"""The inputs of planning: the app, the counts of its streams, a job model, processors; read or asked for."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from streamapp_cli.app_files import exit_with_error, read_app_text, read_json, read_text
from streamapp_core.deployment.spec_defaults import merge_defaults, parse_defaults
from streamapp_core.job_model.job_model import JobModel, ProcessorModel
from streamapp_core.job_model.job_model_errors import JobModelTooNewError
from streamapp_core.job_model.job_model_shards import parse_job_model
from streamapp_core.plan.plan import Plan
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp, parse_document, parse_text
from streamapp_core.spec.yaml_document import DocumentError, read_document

WITHOUT_ASKING = "To plan without asking, give the partition counts: --streams STREAMS.json"

_Value = TypeVar("_Value")


class _Given(BaseModel):
    """A stream in a file of partition counts."""

    model_config = ConfigDict(extra="ignore")

    partitions: Annotated[int, Field(ge=1)]


_STREAMS = TypeAdapter(Mapping[str, _Given])
_NO_COUNTS = 'no partition counts, as in {"orders": {"partitions": 4}}'
_PROCESSORS = TypeAdapter(Mapping[str, ProcessorModel])


def read_app(path: Path) -> ParsedApp:
    """Read a StreamApp, or end the program if the file has none; one with problems is read as far as possible."""
    return parse_app(path, read_app_text(path))


def parse_app(path: Path, text: str) -> ParsedApp:
    """Return the StreamApp in the text of a file, as `read_app` does."""
    try:
        return parse_text(text)
    except DocumentError as error:
        exit_with_error(f"{path}: {error}")


def read_completed_app(path: Path, defaults: Path) -> tuple[ParsedApp, Mapping[str, Any]]:
    """Read a StreamApp with a cluster's defaults below its spec, and those that it leaves open, or end the program."""
    try:
        below = parse_defaults(read_document(read_text(defaults))[0])
    except (DocumentError, ValueError) as error:
        exit_with_error(f"{defaults}: {error}")
    try:
        document, duplicates = read_document(read_app_text(path))
        taken: Mapping[str, Any] = {}
        if isinstance(document, dict) and isinstance(document.get("spec"), dict):
            spec, taken = merge_defaults(below, document["spec"])
            document = {**document, "spec": spec}
        parsed = parse_document(document)
        return replace(parsed, problems=sorted_problems((*duplicates, *parsed.problems))), taken
    except DocumentError as error:
        exit_with_error(f"{path}: {error}")


def ask_counts(app: StreamApp | None, path: Path) -> Mapping[str, int]:
    """Ask the systems of an app (None: too little of it could be read) for its partition counts, or end the program."""
    from streamapp_systems.protocols import StreamSystemError

    try:
        return find_counts(app, path)
    except StreamSystemError as error:
        exit_with_error(f"{error}\n{WITHOUT_ASKING}")


def find_counts(app: StreamApp | None, path: Path) -> Mapping[str, int]:
    """Ask the systems of an app (None: too little of it could be read) for its partition counts.

    Raises:
        StreamSystemError: a system can't be asked.
    """
    from streamapp_runtime.app_streams import count_partitions
    from streamapp_systems.registry import local_systems

    return {} if app is None else count_partitions(app, local_systems(path.absolute().parent))


def ask_schema_problems(plan: Plan, path: Path) -> tuple[Problem, ...]:
    """Ask the schema registries and the tables of an app what its columns don't fit, or end the program."""
    from streamapp_runtime.system_problems import find_system_problems
    from streamapp_systems.protocols import StreamSystemError
    from streamapp_systems.registry import local_systems

    try:
        return find_system_problems(plan, local_systems(path.absolute().parent))
    except StreamSystemError as error:
        exit_with_error(f"{error}\n{WITHOUT_ASKING}")


def read_counts(path: Path) -> Mapping[str, int]:
    """Read the partition counts of streams, or end the program."""
    return {name: stream.partitions for name, stream in _read(_STREAMS, path, _NO_COUNTS).items()}


def read_job_model(path: Path) -> JobModel:
    """Read a job model, or end the program."""
    try:
        return parse_job_model(read_json(path))
    except JobModelTooNewError as error:
        exit_with_error(f"{path}: {error}")
    except ValidationError as error:
        _refuse(path, "no job model", error)


def read_processors(path: Path) -> Mapping[str, str]:
    """Read the locations of the live processors, or end the program."""
    return {name: processor.location for name, processor in _read(_PROCESSORS, path, "no processors").items()}


def _read(form: TypeAdapter[_Value], path: Path, otherwise: str) -> _Value:
    try:
        return form.validate_python(read_json(path))
    except ValidationError as error:
        _refuse(path, otherwise, error)


def _refuse(path: Path, otherwise: str, error: ValidationError) -> NoReturn:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "document"
    wrong = "it is no object" if first["type"] in ("model_type", "dict_type") else first["msg"]
    exit_with_error(f"{path}: {otherwise}: {where}: {wrong}")
