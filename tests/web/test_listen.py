"""Listening addresses: loopback, allowed hosts and origins, and ports that are taken."""

import socket

import pytest

from dhyan.errors import UserError
from dhyan.web.listen import ListenAddress, bind, check_origin


def test_allowed_hosts_are_the_own_names_with_the_port():
    hosts = ListenAddress("10.0.0.5", 80, ("Example.org",)).allowed_hosts(81)
    assert hosts == {
        "127.0.0.1:81", "localhost:81", "[::1]:81", "10.0.0.5:81", "example.org",
    }  # fmt: skip
    assert ListenAddress("0.0.0.0").allowed_hosts(1) == {
        "127.0.0.1:1", "localhost:1", "[::1]:1",
    }  # fmt: skip


def test_loopback_is_told_from_other_addresses():
    assert not ListenAddress("0.0.0.0").is_loopback
    assert ListenAddress("::1").is_loopback
    with pytest.raises(UserError, match="not an IP address"):
        assert ListenAddress("example.org").is_loopback


def test_a_taken_port_is_named():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=f"127.0.0.1 port {port}: .*another with --port"):
            bind(ListenAddress(port=port))


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "", "example.org", "https://*.example.org", "https://example.org/x",
     "https://user@example.org", "https://Example.org", "http://a:80", "https://a b"],
)  # fmt: skip
def test_only_exact_origins_are_allowed(origin):
    with pytest.raises(UserError, match="--cors-origin"):
        check_origin(origin)


@pytest.mark.parametrize(
    "origin", ["https://example.org", "http://localhost:3000", "http://[::1]:8080"]
)
def test_an_origin_has_scheme_host_and_port(origin):
    assert check_origin(origin) == origin
