"""The protocols of systems, whatever lies behind one: a folder of files, an embedded log, a Kafka cluster.

The runtime knows systems by these protocols only. An offset is that of the next record to read or to write; an end is
exclusive. Event times and timestamps are integer milliseconds since 1970 UTC.
"""

from streamapp_systems.protocols.admin import Admin, TransactionalAdmin
from streamapp_systems.protocols.consumer import Consumer, EndsAnswer, FetchedBatch, KnownEnds
from streamapp_systems.protocols.message_columns import MessageColumns
from streamapp_systems.protocols.producer import Producer, SentRecords, TransactionOwner
from streamapp_systems.protocols.record_limits import RecordLimits
from streamapp_systems.protocols.record_messages import Headers, Message, Messages, MessageTuple
from streamapp_systems.protocols.staged_output import OutputPlace, PartOwner, StagedOutput, StagedPart
from streamapp_systems.protocols.stream_descriptor import StreamDescriptor, WholeVersion
from streamapp_systems.protocols.system_errors import (
    BadRecord,
    CommitUnknown,
    Fenced,
    StreamSystemError,
    Unavailable,
    VersionGone,
)

__all__ = [
    "Admin",
    "BadRecord",
    "CommitUnknown",
    "Consumer",
    "EndsAnswer",
    "Fenced",
    "FetchedBatch",
    "Headers",
    "KnownEnds",
    "Message",
    "MessageColumns",
    "MessageTuple",
    "Messages",
    "OutputPlace",
    "PartOwner",
    "Producer",
    "RecordLimits",
    "SentRecords",
    "StagedOutput",
    "StagedPart",
    "StreamDescriptor",
    "StreamSystemError",
    "TransactionOwner",
    "TransactionalAdmin",
    "Unavailable",
    "VersionGone",
    "WholeVersion",
]
