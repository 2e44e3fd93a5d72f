"""Build the S3 server, if it is not in the cache: `python -m tools.object_store`."""

from tools.cluster.cached import default_cache
from tools.object_store.server import server_program

if __name__ == "__main__":
    server_program(default_cache())
