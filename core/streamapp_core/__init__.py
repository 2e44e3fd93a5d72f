"""The pure core of StreamApp: values, and functions from values to values."""
