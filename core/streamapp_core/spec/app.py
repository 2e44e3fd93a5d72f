"""The StreamApp resource itself."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from streamapp_core import naming
from streamapp_core.spec.base import Name, SpecModel, Text
from streamapp_core.spec.functions import FunctionSpec
from streamapp_core.spec.job import JobSpec
from streamapp_core.spec.operators import OperatorSpec
from streamapp_core.spec.processors import (
    DeletionPolicy,
    DriverSpec,
    ImagePullPolicy,
    LocalSecret,
    ProcessorsSpec,
    RestartPolicy,
    UpgradeSpec,
)
from streamapp_core.spec.spark_settings import SparkSpec
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.spec.tables import TableSpec

API_VERSION = "streamapp.dev/v1alpha1"
KIND = "StreamApp"


class Metadata(BaseModel):
    """The part of a Kubernetes object's metadata that StreamApp reads; the rest is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    name: Annotated[Name, Field(description="The name of the app, and of all that it makes.")]
    namespace: Annotated[Name | None, Field(description="The namespace; on a laptop a part of names alone.")] = None
    uid: Annotated[Text | None, Field(description="Set by Kubernetes.")] = None
    generation: Annotated[int | None, Field(description="Set by Kubernetes: how often the spec has changed.")] = None


class StreamAppSpec(SpecModel):
    """The app as the user wants it: streams, tables, a graph of operators, and how to run them."""

    image: Annotated[Text | None, Field(description="The image of driver and processors; not read locally.")] = None
    image_pull_policy: ImagePullPolicy | None = None
    image_pull_secrets: Annotated[
        tuple[LocalSecret, ...],
        Field(max_length=100, description="Secrets of the app's namespace with logins of image registries."),
    ] = ()
    service_account_name: Annotated[
        Name | None, Field(description="The account of driver and processors; default: one that the operator makes.")
    ] = None
    py_files: Annotated[
        tuple[Text, ...], Field(max_length=100, description="Python code: paths in the image, or ConfigMaps by name.")
    ] = ()
    systems: Annotated[
        dict[Name, SystemSpec],
        Field(min_length=1, max_length=100, description="Where streams are kept, by names that streams refer to."),
    ]
    default_system: Annotated[
        Name | None, Field(description="The system of intermediate streams and the changelog: kafka or log.")
    ] = None
    name_prefix: Annotated[
        str | None,
        Field(
            pattern=r"^[a-zA-Z0-9]([-._a-zA-Z0-9]*[a-zA-Z0-9])?$",
            max_length=63,
            description="How the names of all that the app makes in its systems begin, before a dot and its own name: "
            "topics, consumer group, transactional ids, client id. Default: its namespace.",
        ),
    ] = None
    streams: Annotated[
        dict[Name, StreamSpec],
        Field(max_length=1_000, description="What is read and written, by names that operators and tables refer to."),
    ]
    tables: Annotated[
        dict[Name, TableSpec], Field(max_length=1_000, description="What joinTable looks up, by names.")
    ] = {}
    functions: Annotated[
        dict[Annotated[str, Field(min_length=1, max_length=63)], FunctionSpec],
        Field(max_length=100, description="Scalar functions in Python, which expressions call by these names."),
    ] = {}
    operators: Annotated[
        tuple[OperatorSpec, ...],
        Field(
            min_length=1, max_length=1_000, description="The steps of the app: each reads streams or other operators."
        ),
    ]
    job: JobSpec = JobSpec()
    processors: ProcessorsSpec = ProcessorsSpec()
    driver: DriverSpec = DriverSpec()
    spark: SparkSpec | None = None
    restart_policy: RestartPolicy = RestartPolicy()
    upgrade: UpgradeSpec = UpgradeSpec()
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN
    run_id: Annotated[
        Name | None, Field(description="The continuity of state; made once if absent. A new value starts from nothing.")
    ] = None
    suspend: Annotated[bool, Field(description="Whether the app is stopped, its state kept.")] = False


class StreamApp(SpecModel):
    """One StreamApp resource; its status is the Kubernetes operator's and not read here."""

    api_version: Annotated[Literal["streamapp.dev/v1alpha1"], Field(description="The version of this form.")]
    kind: Annotated[Literal["StreamApp"], Field(description="What the resource is.")]
    metadata: Metadata
    spec: StreamAppSpec
    status: Annotated[object, Field(description="Written by the operator.")] = None

    @property
    def name_prefix(self) -> str:
        """The beginning of all names that the app has in its systems (`naming.name_prefix`)."""
        return naming.name_prefix(self.metadata, self.spec.name_prefix)

    def system(self, name: str) -> SystemSpec:
        """Return one of the app's systems as its clients are opened: in Kafka they have the app's prefix for a name.

        Raises:
            KeyError: the app has no such system.
        """
        return self.spec.systems[name].with_client_name(self.name_prefix)
