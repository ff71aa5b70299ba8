"""The command ``memory-context``.

A verb is a function with typer's options in the module of its group, declared by ``@app.command()``; a new group is a
module that is imported here. These modules import nothing heavy: what a verb does is in a module that its function
imports, so that help and completion stay fast. A verb returns its exit code, or None for 0.
"""

from memory_context.cli import database_commands, memory_commands, run_commands, transfer_commands
from memory_context.cli.app import app, main, run

__all__ = ["GROUPS", "app", "main", "run"]

GROUPS = (memory_commands, database_commands, transfer_commands, run_commands)
