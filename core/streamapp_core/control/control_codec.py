"""The bytes of messages: a type byte, then user data as it is or a control message as compact UTF-8 JSON.

Decoding takes any order of keys and ignores unknown ones, so that later versions may add some.
"""

from typing import Annotated, Self, assert_never

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from streamapp_core.control.messages import (
    END_OF_TIME,
    MANY_TASKS,
    ONE_TASK,
    EndOfStream,
    MalformedMessage,
    Message,
    UnknownMessageType,
    UnsupportedVersion,
    UserMessage,
    Watermark,
)
from streamapp_core.ssp import Ssp

_USER, _WATERMARK, _END_OF_STREAM = range(3)

_Name = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=1)]
_Time = Annotated[int, Field(ge=-END_OF_TIME - 1, le=END_OF_TIME)]


class _Json(BaseModel):
    """Keys are written in the order of the fields."""

    model_config = ConfigDict(strict=True, frozen=True, alias_generator=to_camel, validate_by_name=True)

    @classmethod
    def read(cls, data: bytes) -> Self:
        return cls.model_validate_json(data, by_alias=True, by_name=False)

    def write(self) -> bytes:
        return self.model_dump_json(by_alias=True, exclude_defaults=True).encode()


class _Header(_Json):
    version: int


class _TaskWatermark(_Header):
    task_name: _Name
    task_count: _Count
    timestamp: _Time
    idle: bool = False

    def message(self) -> Watermark:
        entry = (self.task_name, self.timestamp)
        return Watermark(timestamps=(entry,), task_count=self.task_count, idle=self.idle, version=ONE_TASK)


class _TaskEnd(_Header):
    task_name: _Name
    task_count: _Count
    idle: bool = False

    def message(self) -> EndOfStream:
        return EndOfStream(tasks=(self.task_name,), task_count=self.task_count, idle=self.idle, version=ONE_TASK)


class _EndEntry(_Json):
    task_name: _Name


class _WatermarkEntry(_EndEntry):
    timestamp: _Time


class _TasksWatermark(_Header):
    task_count: _Count
    entries: Annotated[list[_WatermarkEntry], Field(min_length=1)]
    idle: bool = False

    def message(self) -> Watermark:
        entries = tuple((entry.task_name, entry.timestamp) for entry in self.entries)
        return Watermark(timestamps=entries, task_count=self.task_count, idle=self.idle, version=MANY_TASKS)


class _TasksEnd(_Header):
    task_count: _Count
    entries: Annotated[list[_EndEntry], Field(min_length=1)]
    idle: bool = False

    def message(self) -> EndOfStream:
        tasks = tuple(entry.task_name for entry in self.entries)
        return EndOfStream(tasks=tasks, task_count=self.task_count, idle=self.idle, version=MANY_TASKS)


_JSON_OF: dict[tuple[int, int], type[_TaskWatermark | _TaskEnd | _TasksWatermark | _TasksEnd]] = {
    (_WATERMARK, ONE_TASK): _TaskWatermark,
    (_WATERMARK, MANY_TASKS): _TasksWatermark,
    (_END_OF_STREAM, ONE_TASK): _TaskEnd,
    (_END_OF_STREAM, MANY_TASKS): _TasksEnd,
}


def encode(message: Message) -> bytes:
    """Return the bytes of a message.

    Raises:
        ValueError: the version of the message can't express it: several tasks in version 1, no task at all, no name.
    """
    match message:
        case UserMessage(data=data):
            return bytes([_USER]) + data
        case Watermark():
            return bytes([_WATERMARK]) + _watermark_json(message).write()
        case EndOfStream():
            return bytes([_END_OF_STREAM]) + _end_json(message).write()
        case _:
            assert_never(message)


def decode(record: bytes, *, ssp: Ssp, offset: int) -> Message:
    """Return the message in a record that was read from `ssp` at `offset`.

    Raises:
        UnknownMessageType: the first byte is above 2.
        UnsupportedVersion: a control message of another version than 1 or 2.
        MalformedMessage: the record is empty or no JSON object, or a field is missing or of the wrong type.
    """
    if not record:
        raise MalformedMessage(ssp, offset, "the record is empty; the first byte is the type of the message")
    kind, data = record[0], record[1:]
    if kind == _USER:
        return UserMessage(data=data)
    if kind > _END_OF_STREAM:
        raise UnknownMessageType(
            ssp, offset, f"no message has the type {kind}; does something else write to this stream?"
        )
    try:
        version = _Header.read(data).version
        if (kind, version) in _JSON_OF:
            return _JSON_OF[kind, version].read(data).message()
    except ValidationError as invalid:
        raise MalformedMessage(ssp, offset, f"not a control message: {_first_error(invalid)}") from invalid
    raise UnsupportedVersion(
        ssp, offset, f"a control message of version {version}; versions 1 and 2 are read here: upgrade this app"
    )


def _watermark_json(message: Watermark) -> _TaskWatermark | _TasksWatermark:
    version, count, idle = message.version, message.task_count, message.idle
    if version == ONE_TASK:
        ((name, time),) = message.timestamps
        return _TaskWatermark(version=version, task_name=name, task_count=count, timestamp=time, idle=idle)
    entries = [_WatermarkEntry(task_name=name, timestamp=time) for name, time in message.timestamps]
    return _TasksWatermark(version=version, task_count=count, entries=entries, idle=idle)


def _end_json(message: EndOfStream) -> _TaskEnd | _TasksEnd:
    version, count, idle = message.version, message.task_count, message.idle
    if version == ONE_TASK:
        (name,) = message.tasks
        return _TaskEnd(version=version, task_name=name, task_count=count, idle=idle)
    entries = [_EndEntry(task_name=name) for name in message.tasks]
    return _TasksEnd(version=version, task_count=count, entries=entries, idle=idle)


def _first_error(invalid: ValidationError) -> str:
    error = invalid.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in error["loc"])
    return f"{place}: {error['msg']}" if place else error["msg"]
