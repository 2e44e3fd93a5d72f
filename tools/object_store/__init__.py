"""A server that speaks S3, as a process of this machine."""
