"""The names by which Spark and StreamApp find the daemon of Python workers."""

WORKER_DAEMON = "streamapp_runtime.spark.worker_daemon"
"""The module from which Spark forks Python workers."""

SOCKET_VARIABLE = "STREAMAPP_WORKER_DAEMON"
"""Environment variable: the socket of a daemon that listens."""
