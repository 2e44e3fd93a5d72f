"""Schemas of Protobuf: what `.proto` files say, the columns that messages fit, and the messages that columns make."""
