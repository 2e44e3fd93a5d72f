"""Spark's daemon that forks Python workers, with all imported that a processor needs: a worker starts at once.

Spark itself leaves imports to the workers, since libraries may start threads, which a fork does not copy. Those that
start any here, numpy and pyarrow, do without after a fork.
"""

import gc


def main() -> None:
    """Import all, without looking for garbage, of which imports make none; then fork workers until Spark ends this."""
    gc.disable()
    from pyspark.daemon import manager

    import streamapp_runtime.spark.executor_binding
    import streamapp_runtime.spark.spark_host  # noqa: F401 - what it calls

    gc.freeze()
    gc.enable()
    manager()


if __name__ == "__main__":
    main()
