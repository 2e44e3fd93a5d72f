"""Messages of Protobuf as rows, and rows as messages."""
