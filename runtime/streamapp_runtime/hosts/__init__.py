"""Hosts: where processors run."""
