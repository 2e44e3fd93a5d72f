"""Free ports of the loopback interface."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at now; who starts there must be ready to lose the race for one."""
    with ExitStack() as held:
        listeners = [held.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in listeners]
