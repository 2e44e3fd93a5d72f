"""The Spark jobs of incarnations: the group by which each is cancelled, and the cause of a failure."""

from py4j.protocol import Py4JError

from streamapp_runtime.processor.processor_report import Incarnation


def job_group(incarnation: Incarnation) -> str:
    """Return the name of the group of an incarnation's job, by which it is cancelled."""
    return f"incarnation-{incarnation.number}"


def failure_cause(error: Py4JError) -> str:
    """Return the line of an error that says what happened: of a Python error its last one, else the first."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    python = text.partition("Traceback (most recent call last):")[2].partition(" SQLSTATE")[0]
    return (python or text.partition("\n")[0]).strip().splitlines()[-1]
