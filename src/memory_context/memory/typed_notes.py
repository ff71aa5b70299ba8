"""Notes whose type says their tier and importance: reasoning, decisions, failures and more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from memory_context.model.item import Content, MemoryList
from memory_context.model.reference import one_line


class TypedNotes(ABC):
    """The verbs of `ScopedMemory` for notes of certain types. Each raises what `save` raises."""

    @abstractmethod
    def _keep(
        self,
        content: Content | dict[str, Any] | list[Any],
        tier: str,
        type: str,  # noqa: A002 - the word that the record uses
        importance: float,
        **details: Any,  # noqa: ANN401 - those of `MemoryManager.remember`
    ) -> str:
        """Keep a note, and return its key."""

    @abstractmethod
    def _of_type(self, tier: str, *types: str, tags: str | Iterable[str] = ()) -> MemoryList:
        """Return the notes of these types, newest first, counted as read."""

    @abstractmethod
    def _as_stored(self, text: str) -> str:
        """Return `text` as the store keeps it, redacted."""

    def add_reasoning(self, text: str, stage_id: str) -> str:
        """Keep the reasoning of a stage of the task (importance 0.5), and return its key."""
        facts = {"stage_id": stage_id}
        return self._keep(text, "task", "reasoning", 0.5, tags=[_stage(stage_id)], metadata=facts)

    def add_tool_output(
        self, tool_id: str, output: Content | dict[str, Any] | list[Any], stage_id: str = ""
    ) -> str:
        """Keep a tool's output in the task or a stage of it (importance 0.7); return its key."""
        tags = [f"tool:{tool_id}"]
        facts = {"tool_id": tool_id}
        if stage_id:
            tags.append(_stage(stage_id))
            facts["stage_id"] = stage_id
        return self._keep(output, "task", "tool_output", 0.7, tags=tags, metadata=facts)

    def get_stage_outputs(self, stage_id: str) -> MemoryList:
        """Return the reasoning and the tools' outputs of a stage of the task, oldest first."""
        newest_first = self._of_type("task", "reasoning", "tool_output", tags=_stage(stage_id))
        return newest_first[::-1]

    def add_decision(self, decision: str, tags: Iterable[str] = ()) -> str:
        """Keep a decision of the project (importance 0.9), and return its key."""
        return self._keep(decision, "project", "decision", 0.9, tags=tags)

    def query_decisions(self, tags: str | Iterable[str] = ()) -> MemoryList:
        """Return the decisions of the project, newest first; with one of `tags` if some are given."""
        return self._of_type("project", "decision", tags=tags)

    def add_convention(self, convention: str, scope: str) -> str:
        """Keep a convention of the project (importance 0.8), tagged with `scope`; return its key."""
        tags = [scope] if scope else []
        facts = {"scope": scope}
        return self._keep(convention, "project", "convention", 0.8, tags=tags, metadata=facts)

    def add_failure(self, code: str, lesson: str) -> str:
        """Keep code that failed in the project, and its lesson (importance 0.85); return its key."""
        summary = one_line(self._as_stored(lesson))
        return self._keep(f"{lesson}\n\n{code}", "project", "failure", 0.85, description=summary)

    def add_pattern(self, pattern: str, domain: str) -> str:
        """Keep a pattern beyond projects (importance 0.7), tagged with `domain`; return its key."""
        tags = [domain] if domain else []
        return self._keep(pattern, "global", "pattern", 0.7, tags=tags, metadata={"domain": domain})


def _stage(stage_id: str) -> str:
    return f"stage:{stage_id}"
