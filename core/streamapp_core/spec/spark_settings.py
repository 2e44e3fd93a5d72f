"""Settings of Spark, which starts and watches the processors: rows never pass through it (docs/spark.md)."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from streamapp_core.spec.base import SpecModel, Text

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_SCHEMES = ("file", "hdfs", "viewfs", "s3a", "gs", "abfs", "abfss")
_LOGIN = re.compile(r"//[^/]*:[^/]*@")
DEFAULT_UI_PORT = 4040


def _check_folder(text: str) -> str:
    if not text.isprintable():
        raise ValueError("a folder is written in printable characters")
    found = _SCHEME.fullmatch(text)
    if found is None:
        return text
    scheme, rest = found.groups()
    if scheme not in _SCHEMES:
        raise ValueError(f"{scheme}: is no store of event logs; take a folder, or one of {', '.join(_SCHEMES)}")
    if scheme == "file" and not rest.startswith("/"):
        raise ValueError("a file: URI has an absolute path: file:/logs")
    if _LOGIN.match(rest):
        raise ValueError("no login belongs in a spec, which many people read; give it by the driver's environment")
    return text


class EventLog(SpecModel):
    """The log of Spark's events, which Spark's history server reads."""

    dir: Annotated[
        Text,
        AfterValidator(_check_folder),
        Field(description="A folder of the driver, or the URI of one: `s3a://logs/spark`. On Kubernetes a volume."),
    ]

    @property
    def path(self) -> str | None:
        """The folder, if it is one of the driver's file system; it may be relative."""
        found = _SCHEME.fullmatch(self.dir)
        if found is None:
            return self.dir
        return "/" + found[2].lstrip("/") if found[1] == "file" else None


class SparkUi(SpecModel):
    """Spark's web pages about the driver and its jobs, one for each processor."""

    port: Annotated[
        int, Field(ge=1_024, le=65_535, description="Its port, of the driver's loopback interface alone.")
    ] = DEFAULT_UI_PORT


class SparkSpec(SpecModel):
    """Settings of Spark, below those that the app needs."""

    conf: Annotated[
        dict[str, Annotated[str, Field(max_length=4_096)]],
        Field(
            max_length=100, description="Properties of Spark by name, with texts as values; docs/spark.md lists them."
        ),
    ] = {}
    packages: Annotated[
        tuple[
            Annotated[
                str,
                Field(
                    pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*:[A-Za-z0-9_][A-Za-z0-9._-]*:[A-Za-z]?[0-9][A-Za-z0-9._-]*$",
                    max_length=255,
                ),
            ],
            ...,
        ],
        Field(max_length=100, description="Jars for Spark, as in Maven: `group:artifact:version`. Not on Kubernetes."),
    ] = ()
    event_log: EventLog | None = None
    ui: SparkUi | None = None
