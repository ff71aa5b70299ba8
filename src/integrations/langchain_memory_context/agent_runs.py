"""Runs of an agent: when one ends, however it ends, and which one a tool is called in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config

from memory_context.conversation.run_notes import AgentRun
from memory_context.runtime.after_fork import Lock
from memory_context.runtime.threads import off_loop

KEPT = 10_000


_calling: ContextVar[tuple[object, AgentRun]] = ContextVar(
    "memory_context_calling", default=(None, AgentRun())
)


@contextmanager
def calling(middleware: object, run: AgentRun) -> Generator[None]:
    """Note that inside, a memory tool of *middleware* is called in *run*."""
    token = _calling.set((middleware, run))
    try:
        yield
    finally:
        _calling.reset(token)


def called_in(middleware: object) -> AgentRun:
    """Return the run in which a tool of *middleware* is called."""
    caller, run = _calling.get()
    return run if caller is middleware else AgentRun()


class Endings(BaseCallbackHandler):
    """Notices when a graph's run fails, is cancelled, or is left by whoever streams it.

    A middleware's hook after the agent is skipped then. LangChain tells callbacks of it in any case.
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = Lock()
        self._graphs = OrderedDict[UUID, UUID | None]()
        self._waiting = OrderedDict[UUID, Callable[[], object]]()

    def when_failed(self, work: Callable[[], object]) -> None:
        """Do `work` if the graph whose node runs here fails from now on; in place of what was to be done before."""
        node: UUID | None = getattr(get_config().get("callbacks"), "parent_run_id", None)
        with self._lock:
            graph = self._graphs.get(node) if node else None
            if graph is not None:
                self._waiting[graph] = work
                _forget_oldest(self._waiting)

    def on_chain_start(
        self,
        *_: Any,  # noqa: ANN401
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **__: Any,  # noqa: ANN401 - LangChain's signature
    ) -> None:
        """Note which run is inside which."""
        with self._lock:
            self._graphs[run_id] = parent_run_id
            _forget_oldest(self._graphs)

    def on_chain_end(self, *_: Any, run_id: UUID, **__: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Forget a run that went well, or waits for a person."""
        self._take(run_id)

    async def on_chain_error(self, *_: Any, run_id: UUID, **__: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Do what is to be done for a run that failed."""
        work = self._take(run_id)
        if work is not None:
            await off_loop(work)

    def _take(self, run_id: UUID) -> Callable[[], object] | None:
        with self._lock:
            self._graphs.pop(run_id, None)
            return self._waiting.pop(run_id, None)


def _forget_oldest(runs: OrderedDict[UUID, Any]) -> None:
    while len(runs) > KEPT:
        runs.popitem(last=False)


@lru_cache(maxsize=1)
def endings() -> Endings:
    """Return the one that listens to the runs of this process, from the first call on."""
    handler = Endings()
    register_configure_hook(ContextVar("memory_context_endings", default=handler), inheritable=True)
    return handler
