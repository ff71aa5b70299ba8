"""Time for a busy machine, where a deadline is not what a test is about: what it begins a program with."""

PATIENT = """
from memory_context.stores.sql import engine_setup
engine_setup.BUSY_MILLISECONDS = 60_000
engine_setup.CONNECT_SECONDS = 60
engine_setup._SQLITE_PRAGMAS += ("PRAGMA busy_timeout=60000",)
"""
