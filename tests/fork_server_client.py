"""Client of the fork server: hands over its streams, waits, and ends as the program ended."""

import json
import os
import signal
import socket
import sys


def receive(connection):
    """A whole number that the server sent; None at its end."""
    data = connection.recv(4, socket.MSG_WAITALL)
    return int.from_bytes(data, "big", signed=True) if data else None


def main(path, *words):
    request = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
    data = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [len(data).to_bytes(4, "big")], [0, 1, 2])
        connection.sendall(data)
        pid = receive(connection)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        code = receive(connection)
    if code is None:
        sys.exit("the fork server has ended")
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main(*sys.argv[1:])
