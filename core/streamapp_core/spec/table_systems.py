"""Systems of tables, Delta's and Iceberg's, and the stores of objects that these and folders may be in."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from streamapp_core.spec.base import Duration, Name, SpecModel, Text, between


class ObjectStore(SpecModel):
    """The way to the store of objects that a path `s3://bucket/folder` names."""

    endpoint: Annotated[
        str | None,
        Field(
            pattern=r"^https?://[^\s?#@/]+/?$",
            max_length=1_024,
            description="The address of a store that is not Amazon's: `https://minio:9000`.",
        ),
    ] = None
    region: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9-]+$",
            max_length=64,
            description="The region of the bucket; default: that of the environment, else `us-east-1`.",
        ),
    ] = None
    path_style: Annotated[
        bool | None,
        Field(description="Whether the bucket is in the path and not in the host name; default: with an `endpoint`."),
    ] = None
    secret_name: Annotated[
        Name | None,
        Field(
            description="A secret with `access-key-id`, `secret-access-key` and perhaps `session-token`; without one, "
            "the environment and the identity of the pod count."
        ),
    ] = None


JournalFolder = Annotated[
    Text | None,
    Field(description="The folder that keeps which files were seen, in their order; default: `_streamapp` in `path`."),
]


CompactEvery = Annotated[
    Annotated[Duration, between("1s", "365d")] | None,
    Field(
        description="How often small files of the tables that are written are joined into larger ones, which changes "
        "no row; without it, that is for others to do."
    ),
]


class DeltaSystem(SpecModel):
    """A folder with tables of Delta Lake."""

    path: Annotated[
        Text,
        Field(
            description="The folder below which the streams' names are tables, on a laptop relative to the app's file; "
            "or `s3://bucket/folder`."
        ),
    ]
    store: ObjectStore | None = None
    journal: JournalFolder = None
    commit_every: Annotated[
        Duration,
        Field(description="How often committed rows are added to the tables that are written, each time as a version."),
    ] = "30s"  # type: ignore[assignment]
    compact_every: CompactEvery = None
    vacuum_every: Annotated[
        Annotated[Duration, between("1s", "365d")] | None,
        Field(
            description="How often files that no version of the tables that are written has needed for a week, or for "
            "their `delta.deletedFileRetentionDuration`, are removed; without it, that is for others to do."
        ),
    ] = None


class IcebergCatalog(SpecModel):
    """The catalog that says which metadata is a table's newest: a database, or a service with Iceberg's REST API."""

    uri: Annotated[
        str,
        Field(
            pattern=r"^(sqlite:///[^\s?#]+|postgresql://[^\s?#@/]+/[^\s?#@/]+|https?://[^\s?#@]+)$",
            max_length=1_024,
            description="The database that keeps it: `postgresql://host:5432/database`, or `sqlite:///catalog.db`, a "
            "file that on a laptop is relative to the app's; or the service: `https://catalog:8181`.",
        ),
    ]
    name: Annotated[Text, Field(description="The name of the catalog in the database.")] = "default"
    warehouse: Annotated[Text | None, Field(description="The warehouse that a service is asked for.")] = None
    oauth2_server_uri: Annotated[
        Annotated[str, Field(pattern=r"^https?://[^\s?#@]+$", max_length=1_024)] | None,
        Field(description="Where a service's client gets its tokens; default: the service itself."),
    ] = None
    scope: Annotated[Text | None, Field(description="The scope of the tokens; default: `catalog`.")] = None
    secret_name: Annotated[
        Name | None,
        Field(
            description="A secret: for a database with `username` and `password`, for a service with `token`, or with "
            "`client-id` and `client-secret`."
        ),
    ] = None

    @model_validator(mode="after")
    def _of_a_service(self) -> Self:
        given = {"warehouse": self.warehouse, "oauth2ServerUri": self.oauth2_server_uri, "scope": self.scope}
        wrong = [] if self.is_service else [name for name, value in given.items() if value is not None]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: databases have none; leave it out, or name a service as `uri`")
        if self.is_service and self.name != "default":
            raise ValueError("name: a service has no name; leave it out, or set `warehouse`")
        return self

    @property
    def is_service(self) -> bool:
        """Whether it is a service with Iceberg's REST API, and no database."""
        return self.uri.startswith("http")


class IcebergSystem(SpecModel):
    """A catalog with tables of Iceberg."""

    catalog: IcebergCatalog
    path: Annotated[
        Text,
        Field(
            pattern=r"^[^?#]*$",
            description="The warehouse: the folder of the tables that the app creates, on a laptop relative to the "
            "app's file; or `s3://bucket/folder`.",
        ),
    ]
    store: ObjectStore | None = None
    journal: JournalFolder = None
    commit_every: Annotated[
        Duration,
        Field(description="How often committed rows are added to the tables that are written, as a snapshot of each."),
    ] = "30s"  # type: ignore[assignment]
    compact_every: CompactEvery = None
    keep_snapshots: Annotated[
        Annotated[Duration, between("1h", "3650d")] | None,
        Field(
            description="How long snapshots of the tables that are written are kept once others have followed them; "
            "without it, until somebody expires them."
        ),
    ] = None
