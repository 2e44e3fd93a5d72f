"""Spark as the host of processors. Nothing else imports pyspark."""
