"""The Kubernetes operator as a program: `python -m streamapp_operator`."""

import os
import sys

from streamapp_operator.process.bootstrap import KubernetesOperator
from streamapp_operator.process.logs import log_as_json
from streamapp_operator.process.settings import read_settings

if __name__ == "__main__":
    settings = read_settings(sys.argv[1:], os.environ)
    log_as_json(settings.log_level)
    KubernetesOperator(settings).run()
