"""Avro: its schemas, the columns that they fit, and the schemas that columns are written with. Values alone."""
