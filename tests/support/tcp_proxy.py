"""A TCP proxy between one client and a server, which can be cut as a network is."""

import socket
import threading
from contextlib import suppress


class TcpProxy:
    """Passes bytes on in both directions. While cut, what is sent is kept from both sides, and nobody is told."""

    def __init__(self, server):
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._passing = threading.Event()
        self._passing.set()
        self._sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._passing.set()
        for one in (self._listener, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    @property
    def port(self):
        return self._listener.getsockname()[1]

    def cut(self):
        """Let nothing through from now on."""
        self._passing.clear()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source, target):
        with suppress(OSError):
            while data := source.recv(65_536):
                self._passing.wait()
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
