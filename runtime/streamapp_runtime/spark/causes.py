"""Why a Spark job failed, in a line."""

from py4j.protocol import Py4JError


def cause(error: Py4JError) -> str:
    """Pick the line that tells what happened: of a Python error its last one, else the first."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    python = text.partition("Traceback (most recent call last):")[2].partition(" SQLSTATE")[0]
    return (python or text.partition("\n")[0]).strip().splitlines()[-1]
