"""The runs of agents: notice when one fails or is abandoned, and find the run in which a memory tool is called."""

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

from memory_context.conversation.notes_in_prompts import AgentRun
from memory_context.runtime.after_fork import Lock
from memory_context.runtime.threads import off_loop

KEPT = 10_000


_calling: ContextVar[tuple[object, AgentRun]] = ContextVar(
    "memory_context_calling", default=(None, AgentRun())
)


@contextmanager
def running_tool(middleware: object, run: AgentRun) -> Generator[None]:
    """Note that, inside the block, a memory tool of *middleware* is called in *run*."""
    token = _calling.set((middleware, run))
    try:
        yield
    finally:
        _calling.reset(token)


def run_of_call(middleware: object) -> AgentRun:
    """Return the run in which a tool of *middleware* is being called; an empty one if none is."""
    caller, run = _calling.get()
    return run if caller is middleware else AgentRun()


class Endings(BaseCallbackHandler):
    """Notices when a graph's run fails, is cancelled, or is abandoned by the consumer of its stream.

    The `after_agent` hooks of middleware are skipped then, but LangChain always notifies callbacks.
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = Lock()
        self._graphs = OrderedDict[UUID, UUID | None]()
        self._waiting = OrderedDict[UUID, Callable[[], object]]()

    def when_failed(self, work: Callable[[], object]) -> None:
        """Do `work` if the graph whose node is running fails from now on. It replaces the graph's earlier `work`."""
        node: UUID | None = getattr(get_config().get("callbacks"), "parent_run_id", None)
        with self._lock:
            graph = self._graphs.get(node) if node else None
            if graph:
                self._waiting[graph] = work
                _forget_oldest(self._waiting)

    def on_chain_start(
        self,
        *_: Any,  # noqa: ANN401
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **__: Any,  # noqa: ANN401 - LangChain's signature
    ) -> None:
        """Note the parent of a run."""
        with self._lock:
            self._graphs[run_id] = parent_run_id
            _forget_oldest(self._graphs)

    def on_chain_end(self, *_: Any, run_id: UUID, **__: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Forget a run that succeeded, or that waits for a person."""
        self._take(run_id)

    async def on_chain_error(self, *_: Any, run_id: UUID, **__: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Do the work that was registered for a run that failed."""
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
    """Return the handler for all runs of this process, which listens from the first call on."""
    handler = Endings()
    register_configure_hook(ContextVar("memory_context_endings", default=handler), inheritable=True)
    return handler
