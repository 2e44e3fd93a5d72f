"""A job of Spark that writes generations of committed rows."""

from collections.abc import Callable

import msgspec

from streamapp_runtime.driver.spark_process import SparkProgram
from streamapp_runtime.threads import Event

PROGRAM = "streamapp_runtime.spark.write_outputs"
"""The program that writes: it stays, as to start Spark takes more than to write what has come in a minute."""


class PendingGeneration(msgspec.Struct, frozen=True, kw_only=True):
    """A generation that is to be written: its number, and its Parquet files."""

    number: int
    files: tuple[str, ...]


class WriteTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A place that is written to, and the generations for it, in their order.

    `system` is the system of the spec as JSON, `chain` names the sequence of generations, of which those up to
    `written` are there. `schema` are the columns that the app writes now; None if it does no more.
    """

    system: str
    address: str
    chain: str
    written: int
    schema: str | None
    generations: tuple[PendingGeneration, ...]


class WriteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to write to some places.

    `properties` are those of Spark, the same in all requests to a program; functions are found by the `python_path`.
    """

    targets: tuple[WriteTarget, ...]
    properties: dict[str, str]
    python_path: tuple[str, ...]


class WriteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome so far, by target: the number of the last generation that is written, and what has failed.

    `ended`: the job has come to its end.
    """

    written: dict[int, int]
    failures: dict[int, str]
    ended: bool = False


_OUTCOMES = msgspec.json.Decoder(WriteOutcome)


def run_write(
    program: SparkProgram, request: WriteRequest, stopping: Event, look: Callable[[WriteOutcome], object]
) -> WriteOutcome:
    """Have a program write, and return the outcome; `look` gets it while there comes more.

    Raises:
        Stopped: `stopping` was set before.
    """
    outcome = WriteOutcome(written={}, failures={})

    def found(content: bytes) -> bool:
        nonlocal outcome
        outcome = _OUTCOMES.decode(content)
        look(outcome)
        return outcome.ended

    death = program.run(msgspec.json.encode(request), stopping, found)
    if death is None:
        return outcome
    unfinished = (number for number in range(len(request.targets)) if number not in outcome.failures)
    return msgspec.structs.replace(outcome, failures={**dict.fromkeys(unfinished, death), **outcome.failures})
