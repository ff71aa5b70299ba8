"""Time for a busy machine, where a deadline is not what a test is about: what it begins a program with."""

PATIENT = """
from memory_context.stores.sql import shared_engines
shared_engines.BUSY_MILLISECONDS = 60_000
shared_engines.CONNECT_SECONDS = 60
shared_engines._SQLITE_PRAGMAS += ("PRAGMA busy_timeout=60000",)
"""
