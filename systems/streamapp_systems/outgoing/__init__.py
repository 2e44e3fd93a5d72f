"""Outputs that jobs of Spark write: rows are staged with the app's commits, as generations, until they are written."""

from streamapp_systems.outgoing.outgoing_generations import (
    OutgoingGeneration,
    OutgoingGenerations,
    outgoing_addresses,
    outgoing_folder,
)

__all__ = ["OutgoingGeneration", "OutgoingGenerations", "outgoing_addresses", "outgoing_folder"]
