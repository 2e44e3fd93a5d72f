"""The Spark jobs of incarnations: the groups by which they are cancelled, their descriptions, causes of failures."""

from py4j.protocol import Py4JError
from pyspark import SparkContext

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.tasks.natural_order import natural_key
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig

_SHOWN = 20
"""Tasks that the description of a job names."""


def job_group(incarnation: Incarnation) -> str:
    """Return the name of the group of an incarnation's job, by which it is cancelled."""
    return f"incarnation-{incarnation.number}"


def name_job(spark: SparkContext, config: ProcessorConfig) -> None:
    """Set the group of this thread's next job, by its incarnation, and its description in Spark's UI."""
    spark.setJobGroup(job_group(config.incarnation), describe_job(config), interruptOnCancel=True)


def describe_job(config: ProcessorConfig) -> str:
    """Return the description of a job: its incarnation, and the first of its tasks by name."""
    model = JobModel.model_validate_json(config.job_model)
    processor = config.incarnation.processor
    tasks = sorted((name for name, task in model.tasks.items() if task.processor == processor), key=natural_key)
    more = [f"{len(tasks) - _SHOWN} more"] if len(tasks) > _SHOWN else []
    return f"{config.incarnation}: {', '.join([*tasks[:_SHOWN], *more]) or 'no tasks'}"


def failure_cause(error: Py4JError) -> str:
    """Return the line of an error that says what happened: of a Python error its last one, else the first."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    python = text.partition("Traceback (most recent call last):")[2].partition(" SQLSTATE")[0]
    return (python or text.partition("\n")[0]).strip().splitlines()[-1]
