"""A stream as its system sees it."""

from dataclasses import dataclass, field

from streamapp_core.schema import Schema
from streamapp_core.spec.streams import CsvOptions, JsonOptions, StreamFormat


@dataclass(frozen=True, slots=True)
class WholeVersion:
    """A version of a table or folder that is read as a whole, in so many partitions; an empty one is the latest."""

    partitions: int
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDescriptor:
    """The properties of a stream that its system needs: `name` as in the spec, `address` as in the system.

    The address is a path or a topic. Of a `keyed` stream only the last record of each key counts: a system that
    creates it may compact it. Rows of a table replace each other by the columns of `change_key`; without any they stay.
    """

    name: str
    system: str
    address: str
    format: StreamFormat
    schema: Schema | None = None
    csv: CsvOptions = field(default_factory=CsvOptions)
    json: JsonOptions = field(default_factory=JsonOptions, hash=False)
    keyed: bool = False
    key: tuple[str, ...] = ()
    """The columns of a table by whose values rows replace each other; none where rows are events."""
    folder_columns: tuple[str, ...] = ()
    starting_version: int | None = None
    change_key: tuple[str, ...] = ()
    whole: WholeVersion | None = None
    """What is read of a table or folder that is bounded; None: it is followed as it grows, or is another stream."""
    time_zone: str = "UTC"
    """The time zone of texts of timestamps that name none."""
