"""The StreamApp resource: its models, and the parser of documents."""
