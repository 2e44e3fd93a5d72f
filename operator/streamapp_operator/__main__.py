"""The Kubernetes operator as a program: `python -m streamapp_operator`."""

import os
import sys
import threading

from streamapp_operator.process.bootstrap import KubernetesOperator
from streamapp_operator.process.logs import log_as_json
from streamapp_operator.process.settings import read_settings

_RECURSIONS = 100_000
_STACK_BYTES = 64 * 1024 * 1024
"""The API server takes objects of 10,000 levels. One that can't be read ends the watch of all objects, so it must be
readable; the app is refused when its spec is read."""

if __name__ == "__main__":
    sys.setrecursionlimit(_RECURSIONS)
    threading.stack_size(_STACK_BYTES)
    settings = read_settings(sys.argv[1:], os.environ)
    log_as_json(settings.log_level)
    KubernetesOperator(settings).run()
