"""Ports for servers of others, which cannot be told to take any."""

from __future__ import annotations

import socket
from contextlib import suppress
from random import SystemRandom

import pytest


def free_port() -> int:
    """Return a port below those that other programs are given: a server takes it seconds later."""
    # Tests that run beside this one begin with the same random numbers.
    for port in SystemRandom().sample(range(20_000, 32_000), 50):
        with socket.socket() as free, suppress(OSError):
            free.bind(("", port))
            return port
    pytest.fail("fifty ports are taken")
