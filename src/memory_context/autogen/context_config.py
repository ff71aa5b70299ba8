"""The serialized settings of a `MemoryContext` (AutoGen's component configuration): dump policies, and load them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeAlias, TypeVar

from autogen_core import ComponentModel
from autogen_core.models import LLMMessage
from pydantic import BaseModel, ConfigDict

from memory_context.autogen.chat_client_judge import LLMJudge
from memory_context.autogen.llm_summarizer import LLMSummarizer
from memory_context.conversation.answers_with_quotations import AskLimits
from memory_context.conversation.fold_recall_notes_policies import (
    FoldPolicy,
    NotesPolicy,
    RecallPolicy,
)
from memory_context.conversation.recall.limits_on_a_judge import JudgeLimits, LexicalJudge
from memory_context.exceptions import InvalidArgumentError, NotSerializableError
from memory_context.model.json_object import JsonObject
from memory_context.model.tiers_and_limits import TierPolicy

Settings: TypeAlias = JsonObject
"""The settings of a policy by their names, as JSON can hold them."""

Policy = TypeVar("Policy")

_LIMITS = {"judge_limits": JudgeLimits, "ask_limits": AskLimits}


def _settings_of(policy: Any, *left_out: str, **dumped: Any) -> Settings:  # noqa: ANN401 - a dataclass, and what JSON can hold
    """Return all settings of *policy* except those *left_out*; *dumped* replaces the values that JSON cannot hold."""
    names = [setting.name for setting in fields(policy) if setting.name not in left_out]
    return {name: getattr(policy, name) for name in names} | dumped


def _component_of(part: object, kind: type[LLMJudge | LLMSummarizer]) -> ComponentModel | None:
    """Return the component that *part* can be loaded from; None for None.

    Raises:
        NotSerializableError: It is not a *kind*.
    """
    if part is None:
        return None
    if not isinstance(part, kind):
        raise NotSerializableError(f"{part!r} cannot be dumped: only {kind.__name__} can")
    return part.dump_component()


def _loaded(make: Callable[..., Policy], settings: Any) -> Policy:  # noqa: ANN401 - whatever a configuration holds
    """Return an instance of the dataclass *make* with these settings, as they were dumped.

    Raises:
        InvalidArgumentError: They are not a mapping, or one of them is not a setting of *make*.
    """
    try:
        return make(**settings)
    except TypeError as error:
        raise InvalidArgumentError(
            f"not settings of this version of memory-context: {error}"
        ) from error


class ConnectionConfig(BaseModel):
    """The settings to reach the same memories from another process; see `MemoryManager.connection`."""

    # A URL that was written by hand may hold a password.
    model_config = ConfigDict(hide_input_in_errors=True)

    user_id: str
    store: str
    agent_id: str | None = None
    password_variable: str
    audit: bool | str = False


class MemoryContextConfig(ConnectionConfig):
    """The settings of a `MemoryContext`. Of its messages, only the initial ones are settings; all are part of the state."""

    thread_id: str | None = None
    fold: Settings
    recall: Settings | bool = True
    notes: Settings | bool = False
    max_tokens: int | None = None
    initial_messages: list[LLMMessage] | None = None


def dumped_tiers(tiers: Sequence[TierPolicy]) -> list[Settings]:
    """Return the settings that *tiers* can be loaded from.

    Raises:
        NotSerializableError: One of the tiers has a callable (``confirm`` or ``validate``).
    """
    for tier in tiers:
        if tier.confirm is not None or tier.validate is not None:
            raise NotSerializableError(
                f"the tier {tier.name!r} cannot be dumped: its confirm or validate is a callable"
            )
    return list(map(asdict, tiers))


def loaded_tiers(dumped: Iterable[Settings]) -> list[TierPolicy]:
    """Return the tiers with these settings."""
    return [_loaded(TierPolicy, settings) for settings in dumped]


def dumped_fold(policy: FoldPolicy) -> Settings:
    """Return the settings that *policy* can be loaded from, without its token counter.

    Raises:
        NotSerializableError: The policy redacts, or has a summarizer other than an `LLMSummarizer`.
    """
    if policy.redact:
        raise NotSerializableError("the callables in redact= of a FoldPolicy cannot be dumped")
    # A policy takes any mapping; JSON has only dicts.
    thresholds = {
        name: dict(getattr(policy, name)) for name in ("source_thresholds", "tool_thresholds")
    }
    summarizer = _component_of(policy.summarizer, LLMSummarizer)
    return _settings_of(policy, "counter", "redact", summarizer=summarizer, **thresholds)


def loaded_fold(dumped: Settings) -> FoldPolicy:
    """Return the policy with these settings."""
    settings = {**dumped}
    if settings.get("summarizer"):
        settings["summarizer"] = LLMSummarizer.load_component(settings["summarizer"])
    return _loaded(FoldPolicy, settings)


def dumped_recall(policy: RecallPolicy | None) -> Settings | bool:
    """Return the settings that *policy* can be loaded from; False for no recall.

    Raises:
        NotSerializableError: The policy's judge is neither a `LexicalJudge` nor an `LLMJudge`.
    """
    if not policy:
        return False
    judge = None if type(policy.judge) is LexicalJudge else policy.judge
    limits = {name: asdict(getattr(policy, name)) for name in _LIMITS}
    return _settings_of(policy, judge=_component_of(judge, LLMJudge), **limits)


def loaded_recall(dumped: Settings | bool) -> RecallPolicy | bool:  # noqa: FBT001 - as the constructor takes it
    """Return the policy with these settings, or the bool that stands for one."""
    if isinstance(dumped, bool):
        return dumped
    settings = {**dumped}
    for name, kind in _LIMITS.items():
        settings[name] = _loaded(kind, settings.get(name, {}))
    if settings.get("judge"):
        settings["judge"] = LLMJudge.load_component(settings["judge"])
    return _loaded(RecallPolicy, settings)


def dumped_notes(policy: NotesPolicy) -> Settings:
    """Return the settings that *policy* can be loaded from.

    Raises:
        NotSerializableError: One of the policy's tiers has a callable (``confirm`` or ``validate``).
    """
    return _settings_of(policy, tiers=dumped_tiers(policy.tiers))


def loaded_notes(dumped: Settings | bool) -> NotesPolicy | bool:  # noqa: FBT001 - as the constructor takes it
    """Return the policy with these settings, or the bool that stands for one."""
    if isinstance(dumped, bool):
        return dumped
    tiers = loaded_tiers(dumped.get("tiers", ()))
    return _loaded(NotesPolicy, {**dumped, "tiers": tiers})
