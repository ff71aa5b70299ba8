"""The command ``memory-context``.

Each command is a function with typer's options, in a module named after the commands in it.
These modules import nothing heavy at the top, so that help and completion stay fast: a command imports what it needs when
it runs. They also omit ``from __future__ import annotations``, since typer would have to compile each annotation again. A
command returns its exit code, or None for 0.
"""

import sys

try:
    # The help lists the commands in the order of these imports.
    # isort: off
    from memory_context.cli import list_search_show as list_search_show
    from memory_context.cli import query as query
    from memory_context.cli import threads_stats_calls_audit as threads_stats_calls_audit
    from memory_context.cli import (
        forget_gc_redact_consolidate_confirm as forget_gc_redact_consolidate_confirm,
    )
    from memory_context.cli import reindex_doctor_migrate as reindex_doctor_migrate
    from memory_context.cli import export_import_backup as export_import_backup
    from memory_context.cli import mcp_ui_demo_replay as mcp_ui_demo_replay
    from memory_context.cli import wrap as wrap
    # isort: on

    from memory_context.cli.app_and_exit_codes import app, main, run
except KeyboardInterrupt:
    # The code of an interrupted command; `app_and_exit_codes.INTERRUPTED` cannot be imported yet.
    sys.exit(130)
except ModuleNotFoundError as error:
    if error.name != "typer":
        raise

    def main() -> None:
        """Report that the extra ``cli`` is not installed, and exit with code 2."""
        sys.stderr.write(
            "memory-context: the command line needs typer and rich: pip install 'memory-context[cli]'\n"
        )
        sys.exit(2)


__all__ = ["app", "main", "run"]
