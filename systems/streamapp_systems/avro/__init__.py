"""Values of Avro as columns, a column at a time for many values, and back."""
