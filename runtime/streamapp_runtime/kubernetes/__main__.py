"""The program of a driver: `python -m streamapp_runtime.kubernetes`, in the pod that the operator created."""

import gc
import os
import sys

from streamapp_runtime.spark.driver_jvm import start_archived


def main() -> int:
    """Run one epoch of an app, and return the exit code of its end.

    The JVM starts beside the imports of all else, which need as long; they make no garbage to collect.
    """
    jvm = start_archived(os.environ)
    gc.disable()
    from streamapp_runtime.kubernetes.driver_program import run_driver

    gc.enable()
    gc.freeze()
    return run_driver(jvm)


if __name__ == "__main__":
    sys.exit(main())
