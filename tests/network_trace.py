"""Network system calls of commands, traced by strace."""

import re
import shutil
import subprocess

import pytest

CALLS = re.compile(r"\b(connect|bind|listen|sendto|sendmsg|sendmmsg)\((.*)")
ADDRESS = re.compile(r'inet_addr\("([^"]*)"\)|inet_pton\(AF_INET6, "([^"]*)"')
SOCKET = re.compile(r"\d+<(TCP|UDP)[^:]*:\[(.*?)\]>")
LOOPBACK = ("127.", "::1", "[::1]", "::ffff:127.")


def strace(log):
    """The strace command line that logs every network call of a command."""
    if shutil.which("strace") is None:
        pytest.fail("this test needs strace: sudo apt-get install strace")
    return ["strace", "-f", "-qq", "-yy", "--seccomp-bpf", "-e", "trace=network", "-o", str(log)]


def traced(words, log, **more):
    """Run a command to its end under strace."""
    return subprocess.run([*strace(log), *map(str, words)], capture_output=True, **more)


def offences(log):
    """Every call that connects to or listens for other machines."""
    violations = []
    for line in log.read_text(errors="replace").splitlines():
        if call := CALLS.search(line):
            violations += [line] if beyond(call[1], call[2]) else []
    return violations


def beyond(name, arguments):
    if name == "listen":
        bound = SOCKET.match(arguments)
        return bound is not None and not bound[2].startswith(LOOPBACK)
    reached = [a or b for a, b in ADDRESS.findall(arguments)]
    return any(not address.startswith(LOOPBACK) for address in reached)


def listeners(log):
    """The addresses on which something listened."""
    calls = re.findall(r"\blisten\((\d+<.*?>), ", log.read_text(errors="replace"))
    return [bound[2] for call in calls if (bound := SOCKET.match(call))]
