"""The embedded log: append-only and keyed streams in one SQLite file, for apps on one machine."""

from streamapp_systems.log.admin import LogAdmin
from streamapp_systems.log.consumer import LogConsumer
from streamapp_systems.log.producer import LogProducer

__all__ = ["LogAdmin", "LogConsumer", "LogProducer"]
