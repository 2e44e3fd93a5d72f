"""Systems hold streams: the only code that talks to files, embedded logs and brokers."""
