"""The settings of Kafka clients that name files.

On Kubernetes they are refused: the operator, too, is a client of an app's brokers, and a path there names a file of the
operator's pod, a device among them (`/proc/self/fd/1` is read for ever).
"""

from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.kafka_client_settings import FILE_SETTINGS
from streamapp_core.spec.systems import KafkaSystem


def find_file_settings(app: StreamApp) -> tuple[Problem, ...]:
    """Return a problem for each setting that names a file."""
    return tuple(
        problem
        for name, system in sorted(app.spec.systems.items())
        if system.kafka is not None
        for problem in list_file_settings(name, system.kafka)
    )


def list_file_settings(name: str, system: KafkaSystem) -> tuple[Problem, ...]:
    """Return a problem for each setting of one system that names a file."""
    return tuple(
        Problem(
            path=f"spec.systems.{name}.kafka.config.{setting}",
            code=ProblemCode.NOT_SUPPORTED,
            message=(
                "on Kubernetes no setting names a file: the operator asks the brokers, too, and has other files than "
                f"the app's pods. Write the text as {FILE_SETTINGS[setting]}"
            ),
        )
        for setting in sorted(FILE_SETTINGS.keys() & system.config.keys())
    )
