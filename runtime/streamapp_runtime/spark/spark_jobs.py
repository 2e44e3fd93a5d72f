"""The Spark job of one incarnation: what it is called, and why it failed."""

from py4j.protocol import Py4JError

from streamapp_runtime.processor.processor_report import Incarnation


def group(incarnation: Incarnation) -> str:
    """Name the group of an incarnation's job, by which it is cancelled."""
    return f"incarnation-{incarnation.number}"


def cause(error: Py4JError) -> str:
    """Pick the line that tells what happened: of a Python error its last one, else the first."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    python = text.partition("Traceback (most recent call last):")[2].partition(" SQLSTATE")[0]
    return (python or text.partition("\n")[0]).strip().splitlines()[-1]
