"""The one error of the cluster tools."""


class ClusterError(Exception):
    """A cluster can't be made or used here; the message says what to do."""
