"""The StreamApp resource: its models, and how a document becomes one of them."""
