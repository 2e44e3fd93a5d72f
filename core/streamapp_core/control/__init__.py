"""Control messages: watermarks and end-of-stream that flow within the streams (docs/control-messages.md)."""

from streamapp_core.control.control_codec import decode, encode
from streamapp_core.control.control_snapshot import ControlSnapshot
from streamapp_core.control.messages import (
    END_OF_TIME,
    ControlMessage,
    EndOfStream,
    MalformedMessage,
    Message,
    UndecodableMessageError,
    UnknownMessageType,
    UnsupportedVersion,
    UserMessage,
    Watermark,
)
from streamapp_core.control.producers import expected_producers
from streamapp_core.control.source_partition_watermark import SourceTiming
from streamapp_core.control.stream_watermark import WatermarkHolder
from streamapp_core.control.task_watermarks import TaskWatermarks

__all__ = [
    "END_OF_TIME",
    "ControlMessage",
    "ControlSnapshot",
    "EndOfStream",
    "MalformedMessage",
    "Message",
    "SourceTiming",
    "TaskWatermarks",
    "UndecodableMessageError",
    "UnknownMessageType",
    "UnsupportedVersion",
    "UserMessage",
    "Watermark",
    "WatermarkHolder",
    "decode",
    "encode",
    "expected_producers",
]
