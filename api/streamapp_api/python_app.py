"""An app that is written in Python: systems, streams, tables and operators are calls, which make its resource."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from streamapp_api import call_types
from streamapp_api.app_functions import InPlaceFunction, NamedFunctions, importable, name_functions
from streamapp_api.declarations import Declarations
from streamapp_api.planned_app import PlannedApp, with_places
from streamapp_api.shown_parameters import show_parameters
from streamapp_api.stream_calls import Stream, Table, derive_name
from streamapp_api.written_fields import Named
from streamapp_cli.app_files import embed_schemas
from streamapp_cli.command_options import Host
from streamapp_cli.plan_text import plan_text
from streamapp_cli.runtime_imports import what_to_install
from streamapp_core.spec.app import API_VERSION, KIND, StreamAppSpec
from streamapp_core.spec.functions import FunctionSpec
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemKind, SystemSpec
from streamapp_core.spec.tables import TableSpec
from streamapp_core.spec.write_yaml import write_document
from streamapp_runtime.errors import PlanRefused

if TYPE_CHECKING:
    from streamapp_api.app_result import AppResult

_Function = TypeVar("_Function", bound=Callable[..., Any])


class System(Named):
    """A declared system, where streams live."""


class App:
    """A StreamApp. Nothing is checked before `plan`, `yaml` or `run`: then all problems are told at once.

    Paths of systems and `py_files` resolve from `folder`.
    """

    @show_parameters
    def __init__(
        self,
        name: str,
        *,
        namespace: str | None = None,
        folder: Path | str = ".",
        **fields: Unpack[call_types.StreamAppSpec],
    ) -> None:
        """Begin an app of this name; the other parameters are fields of its spec."""
        metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
        self._declared = Declarations({"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {}})
        self._declared.spec.update(self._declared.fields(StreamAppSpec, fields))
        self._folder = Path(folder).absolute()
        self._name = name

    @show_parameters
    def kafka_system(self, name: str, **fields: Unpack[call_types.KafkaSystem]) -> System:
        """Declare a Kafka cluster."""
        return self._system(SystemKind.KAFKA, name, fields)

    @show_parameters
    def log_system(self, name: str, **fields: Unpack[call_types.LogSystem]) -> System:
        """Declare an embedded log: one file on this machine."""
        return self._system(SystemKind.LOG, name, fields)

    @show_parameters
    def file_system(self, name: str, **fields: Unpack[call_types.FileSystem]) -> System:
        """Declare a folder with bounded inputs and outputs."""
        return self._system(SystemKind.FILE, name, fields)

    @show_parameters
    def folder_system(self, name: str, **fields: Unpack[call_types.FolderSystem]) -> System:
        """Declare a folder with inputs whose files become more while the app runs."""
        return self._system(SystemKind.FOLDER, name, fields)

    @show_parameters
    def delta_system(self, name: str, **fields: Unpack[call_types.DeltaSystem]) -> System:
        """Declare a folder with tables of Delta Lake."""
        return self._system(SystemKind.DELTA, name, fields)

    @show_parameters
    def iceberg_system(self, name: str, **fields: Unpack[call_types.IcebergSystem]) -> System:
        """Declare a catalog with tables of Iceberg."""
        return self._system(SystemKind.ICEBERG, name, fields)

    @show_parameters
    def postgresql_system(self, name: str, **fields: Unpack[call_types.PostgresqlSystem]) -> System:
        """Declare a database of PostgreSQL with tables that are written."""
        return self._system(SystemKind.POSTGRESQL, name, fields)

    @show_parameters
    def spark_system(self, name: str, **fields: Unpack[call_types.SparkSystem]) -> System:
        """Declare what jobs of Spark read or write, as rows that are staged."""
        return self._system(SystemKind.SPARK, name, fields)

    @show_parameters
    def stream(self, declared: str, /, *, system: System | str, **fields: Unpack[call_types.StreamSpec]) -> Stream:
        """Declare a stream to read or to write; `name` is its topic or path: by default what it is declared by."""
        self._declared.add("streams", declared, self._declared.fields(StreamSpec, {"system": system, **fields}))
        return Stream(self._declared, declared)

    @show_parameters
    def table(
        self,
        name: str,
        *,
        extractor: InPlaceFunction | None = None,
        side_inputs: Sequence[Stream | str] = (),
        **fields: Unpack[call_types.TableSpec],
    ) -> Table:
        """Declare a table, which side inputs or `send_to_table` fill. An `extractor` is a Python function."""
        own: dict[str, Any] = {"extractor": None if extractor is None else {"function": extractor}}
        own["side_inputs"] = side_inputs
        given = {parameter: value for parameter, value in own.items() if value}
        self._declared.add("tables", name, self._declared.fields(TableSpec, {**given, **fields}))
        return Table(self._declared, name)

    @overload
    def function(
        self, function: None = None, *, name: str | None = None, **fields: Unpack[call_types.FunctionSpec]
    ) -> Callable[[_Function], _Function]: ...

    @overload
    def function(
        self, function: _Function, *, name: str | None = None, **fields: Unpack[call_types.FunctionSpec]
    ) -> _Function: ...

    @show_parameters
    def function(
        self, function: _Function | None = None, *, name: str | None = None, **fields: Unpack[call_types.FunctionSpec]
    ) -> _Function | Callable[[_Function], _Function]:
        """Declare a scalar function, which expressions call by its name; as a call or a decorator."""

        def declare(declared: _Function) -> _Function:
            written = self._declared.fields(FunctionSpec, {"function": declared, **fields})
            self._declared.add("functions", str(name or getattr(declared, "__name__", "")), written)
            return declared

        return declare if function is None else declare(function)

    def merge(self, streams: Sequence[Stream | str], *, name: str | None = None) -> Stream:
        """Add an operator that reads the rows of several streams, which have the same columns."""
        made = name or derive_name(str(getattr(streams[0], "name", streams[0])), OperatorKind.MERGE)
        self._declared.add_operator(OperatorKind.MERGE, made, {}, streams)
        return Stream(self._declared, made)

    def sql(self, query: str, *, name: str = "sql") -> Stream:
        """Add an operator that is a query over streams, operators and tables by their names."""
        self._declared.add_operator(OperatorKind.SQL, name, query, ())
        return Stream(self._declared, name)

    def yaml(self) -> str:
        """Return the resource, for `streamapp plan`, `streamapp run` and `kubectl apply`.

        Raises:
            PlanRefused: functions can't be imported from a module, as workers elsewhere have to.
        """
        named = self._named("")
        if named.problems:
            raise PlanRefused(with_places(named.problems, self._declared.place))
        return write_document(named.document)

    def plan(self, *, partitions: Mapping[str, int] | None = None) -> PlannedApp:
        """Plan the app as `streamapp plan` does: return the plan, or all problems.

        The systems are asked for the `partitions` of streams and for registered schemas, unless they are given.

        Raises:
            DocumentError: a schema file can't be what it says.
            StreamSystemError: a system can't be asked.
        """
        module = f"streamapp_planned_{id(self):x}"
        named = self._named(module)
        with importable(named.in_place, module):
            result = plan_text(self._text(named), self._folder, partitions)
        problems = with_places(result.problems, self._declared.place)
        return PlannedApp(name=self._name, plan=result.plan, problems=problems)

    def run(
        self,
        *,
        host: Literal["in-process", "processes", "spark"] = "in-process",
        master: str | None = None,
        fresh: bool = False,
        delete_outputs: bool = False,
        quiet: bool = False,
    ) -> "AppResult":
        """Run the app on this machine to its end, as `streamapp run` does, and return what it has written.

        In this process, functions run as the objects they are; other hosts import them, and `master` is Spark's. A run
        that was interrupted continues; one that has completed is not run again, unless it is to be `fresh`.

        Raises:
            PlanRefused: the app has problems: all of them.
            ValueError: there is no such `host`, or settings don't go together.
            RuntimeFailure, StreamSystemError: it failed; what was committed stays.
            ModuleNotFoundError: this installation plans apps only.
            Drained: it was stopped by Ctrl-C, after a last commit.
        """
        try:
            from streamapp_api.app_run import RunSettings, run_text
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError(what_to_install(missing), name=missing.name) from None
        if host not in list(Host):
            raise ValueError(f"there is no host {host!r}: it is one of {', '.join(Host)}")
        module = f"streamapp_functions_of_{self._name}".replace("-", "_")
        named = self._named(module)
        if named.problems and host != "in-process":
            raise PlanRefused(with_places(named.problems, self._declared.place))
        settings = RunSettings(host=Host(host), master=master, fresh=fresh, delete_outputs=delete_outputs, quiet=quiet)
        with importable(named.in_place, module):
            try:
                return run_text(self._text(named), self._name, self._folder, settings)
            except PlanRefused as refused:
                raise PlanRefused(with_places(refused.problems, self._declared.place)) from None

    def _system(self, kind: SystemKind, name: str, fields: Mapping[str, Any]) -> System:
        self._declared.add("systems", name, self._declared.fields(SystemSpec, {kind: fields}))
        return System(self._declared, name)

    def _named(self, module: str) -> NamedFunctions:
        return name_functions(self._declared.ordered(), module)

    def _text(self, named: NamedFunctions) -> str:
        return embed_schemas(write_document(named.document), self._folder)
