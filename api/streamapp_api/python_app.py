"""An app that is written in Python: systems, streams, tables and operators are calls, which make its resource."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from pydantic import BaseModel

from streamapp_api.app_functions import InPlaceFunction, NamedFunctions, importable, name_functions
from streamapp_api.declarations import Declarations
from streamapp_api.planned_app import PlannedApp, plan_text, with_places
from streamapp_api.spec_parts import (
    Avro,
    Csv,
    Debezium,
    Driver,
    EventTime,
    Job,
    Json,
    KafkaAuth,
    LocalSecret,
    Processors,
    Protobuf,
    RestartPolicy,
    SchemaRegistry,
    Spark,
    Upgrade,
)
from streamapp_api.stream_calls import Key, Stream, Table, derive_name
from streamapp_api.written_fields import Named
from streamapp_cli.app_files import embed_schemas
from streamapp_core.spec.app import API_VERSION, KIND, StreamAppSpec
from streamapp_core.spec.functions import FunctionSpec
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import DeltaSystem, FileSystem, FolderSystem, KafkaSystem, LogSystem, SystemKind
from streamapp_core.spec.tables import Extractor, TableSpec
from streamapp_core.spec.yaml_document import write_document
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

    def __init__(
        self,
        name: str,
        *,
        namespace: str | None = None,
        folder: Path | str = ".",
        image: str | None = None,
        image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None,
        image_pull_secrets: Sequence[LocalSecret] = (),
        service_account_name: str | None = None,
        py_files: Sequence[str] = (),
        default_system: str | None = None,
        name_prefix: str | None = None,
        job: Job | None = None,
        processors: Processors | None = None,
        driver: Driver | None = None,
        spark: Spark | None = None,
        restart_policy: RestartPolicy | None = None,
        upgrade: Upgrade | None = None,
        deletion_policy: Literal["Retain", "Delete"] = "Retain",
        run_id: str | None = None,
        suspend: bool = False,
    ) -> None:
        """Begin an app of this name; the other parameters are fields of its spec."""
        given = _arguments(locals(), "self", "name", "namespace", "folder")
        metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
        self._declared = Declarations({"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {}})
        self._declared.spec.update(self._declared.fields(StreamAppSpec, given))
        self._folder = Path(folder).absolute()
        self._name = name

    def kafka_system(
        self,
        name: str,
        *,
        bootstrap_servers: str,
        config: Mapping[str, str] | None = None,
        auth: KafkaAuth | None = None,
        schema_registry: SchemaRegistry | None = None,
    ) -> System:
        """Declare a Kafka cluster."""
        return self._system(SystemKind.KAFKA, KafkaSystem, locals())

    def log_system(self, name: str, *, path: str) -> System:
        """Declare an embedded log: one file on this machine."""
        return self._system(SystemKind.LOG, LogSystem, locals())

    def file_system(self, name: str, *, path: str) -> System:
        """Declare a folder with bounded inputs and outputs."""
        return self._system(SystemKind.FILE, FileSystem, locals())

    def folder_system(self, name: str, *, path: str, journal: str | None = None) -> System:
        """Declare a folder with inputs whose files become more while the app runs."""
        return self._system(SystemKind.FOLDER, FolderSystem, locals())

    def delta_system(self, name: str, *, path: str, journal: str | None = None, commit_every: str = "30s") -> System:
        """Declare a folder with tables of Delta Lake."""
        return self._system(SystemKind.DELTA, DeltaSystem, locals())

    def stream(
        self,
        declared: str,
        /,
        *,
        system: System | str,
        name: str | None = None,
        schema: str | None = None,
        format: Literal["json", "avro", "protobuf", "csv", "parquet", "text", "raw", "arrow"] = "json",
        key: Key | None = None,
        changes: Literal["append", "upsert", "debezium", "final", "log"] = "append",
        partitioned: bool = False,
        key_format: Literal["string", "int", "long"] = "string",
        partitioner: Literal["murmur2"] = "murmur2",
        event_time: EventTime | None = None,
        record_time: Literal["eventTime", "processingTime"] = "eventTime",
        start_from: Literal["earliest", "latest"] = "earliest",
        bounded: bool = False,
        broadcast: bool = False,
        control_messages: bool = False,
        partitions: int | None = None,
        folder_columns: Sequence[str] = (),
        starting_version: int | None = None,
        csv: Csv | None = None,
        json: Json | None = None,
        avro: Avro | None = None,
        protobuf: Protobuf | None = None,
        debezium: Debezium | None = None,
    ) -> Stream:
        """Declare a stream to read or to write; `name` is its topic or path: by default what it is declared by."""
        fields = self._declared.fields(StreamSpec, _arguments(locals(), "self", "declared"))
        self._declared.add("streams", declared, fields)
        return Stream(self._declared, declared)

    def table(
        self,
        name: str,
        *,
        key: Key | None = None,
        value: str | None = None,
        extractor: InPlaceFunction | None = None,
        schema: str | None = None,
        side_inputs: Sequence[Stream | str] = (),
        bootstrap: bool = True,
        persistent: bool = True,
        max_age: str | None = "24h",
        refresh: str | None = None,
    ) -> Table:
        """Declare a table, which side inputs or `send_to_table` fill. An `extractor` is a Python function."""
        given = _arguments(locals(), "self", "name")
        if extractor is not None:
            given["extractor"] = self._declared.fields(Extractor, {"function": extractor})
        self._declared.add("tables", name, self._declared.fields(TableSpec, given))
        return Table(self._declared, name)

    @overload
    def function(
        self,
        function: None = None,
        *,
        returns: str,
        parameters: str | None = None,
        rows: bool = False,
        name: str | None = None,
    ) -> Callable[[_Function], _Function]: ...

    @overload
    def function(
        self,
        function: _Function,
        *,
        returns: str,
        parameters: str | None = None,
        rows: bool = False,
        name: str | None = None,
    ) -> _Function: ...

    def function(
        self,
        function: _Function | None = None,
        *,
        returns: str,
        parameters: str | None = None,
        rows: bool = False,
        name: str | None = None,
    ) -> _Function | Callable[[_Function], _Function]:
        """Declare a scalar function, which expressions call by its name; as a call or a decorator."""
        given = _arguments(locals(), "self", "function", "name")

        def declare(declared: _Function) -> _Function:
            fields = self._declared.fields(FunctionSpec, {"function": declared, **given})
            self._declared.add("functions", str(name or getattr(declared, "__name__", "")), fields)
            return declared

        return declare if function is None else declare(function)

    def merge(self, streams: Sequence[Stream | str], *, name: str | None = None) -> Stream:
        """Add an operator that reads the rows of several streams, which have the same columns."""
        sources = self._declared.names(streams)
        made = name or derive_name(sources[0], OperatorKind.MERGE)
        self._declared.add_operator(OperatorKind.MERGE, made, {}, sources)
        return Stream(self._declared, made)

    def sql(self, query: str, *, name: str = "sql") -> Stream:
        """Add an operator that is a query over streams, operators and tables by their names."""
        self._declared.add_operator(OperatorKind.SQL, name, query, [])
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
            RuntimeFailure, StreamSystemError: it failed; what was committed stays.
            Drained: it was stopped by Ctrl-C, after a last commit.
        """
        from streamapp_api.app_run import RunSettings, run_text
        from streamapp_cli.command_options import Host

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

    def _system(self, kind: SystemKind, model: type[BaseModel], call: Mapping[str, Any]) -> System:
        fields = self._declared.fields(model, _arguments(call, "self", "name"))
        self._declared.add("systems", call["name"], {str(kind): fields})
        return System(self._declared, call["name"])

    def _named(self, module: str) -> NamedFunctions:
        return name_functions(self._declared.ordered(), module)

    def _text(self, named: NamedFunctions) -> str:
        return embed_schemas(write_document(named.document), self._folder)


def _arguments(call: Mapping[str, Any], *but: str) -> dict[str, Any]:
    """Return the arguments of a call, which are its `locals()`, but some."""
    return {name: value for name, value in call.items() if name not in but}
