"""The serialized settings of a `MemoryContext` (AutoGen's component configuration): dump policies, and load them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from autogen_core import ComponentModel
from autogen_core.models import LLMMessage
from pydantic import BaseModel

from memory_context.autogen.chat_client_judge import LLMJudge
from memory_context.autogen.llm_summarizer import LLMSummarizer
from memory_context.conversation.fold_recall_notes_policies import (
    FoldMoment,
    FoldPolicy,
    NotesPolicy,
    RecallPolicy,
)
from memory_context.conversation.recall.judge_within_limits import Judge, JudgeLimits, LexicalJudge
from memory_context.exceptions import NotSerializableError
from memory_context.memory.summarizer_within_limits import Summaries, Summarizer, SummaryLimits
from memory_context.model.tiers_and_limits import Lifetime, TierPolicy
from memory_context.model.tool_names import PAGE_TOKENS

C = TypeVar("C", bound=BaseModel)


def _config_of(config: type[C], policy: object, **dumped: Any) -> C:  # noqa: ANN401 - settings in another form
    """Return a *config* with the settings of *policy*; those in *dumped* replace settings that JSON cannot hold."""
    settings = {name: getattr(policy, name) for name in config.model_fields}
    return config(**{**settings, **dumped})


class ConnectionConfig(BaseModel):
    """The settings to reach the same memories from another process; see `MemoryManager.connection`."""

    user_id: str
    store: str
    agent_id: str | None = None
    password_variable: str
    audit: bool | str = False


class TierConfig(BaseModel):
    """The settings of a `TierPolicy` that has no callables."""

    name: str
    max_chars: int | None = None
    max_items: int | None = None
    lifetime: Lifetime
    auto_include: bool = False
    evict: float = 0.0


def dumped_tiers(tiers: Iterable[TierPolicy]) -> list[TierConfig]:
    """Return the configurations that *tiers* can be loaded from.

    Raises:
        NotSerializableError: One of the tiers has a callable (``confirm`` or ``validate``).
    """
    configs = list[TierConfig]()
    for tier in tiers:
        if tier.confirm is not None or tier.validate is not None:
            raise NotSerializableError(
                f"the tier {tier.name!r} cannot be dumped: its confirm or validate is a callable"
            )
        configs.append(TierConfig.model_validate(tier, from_attributes=True))
    return configs


def loaded_tiers(configs: Iterable[TierConfig]) -> list[TierPolicy]:
    """Return the tiers of these configurations."""
    return [TierPolicy(**config.model_dump()) for config in configs]


class FoldConfig(BaseModel):
    """The settings of a `FoldPolicy`, except the token counter."""

    threshold: int
    source_thresholds: dict[str, int]
    tool_thresholds: dict[str, int | None]
    preview_tokens: int
    fold: FoldMoment
    read_cap: int
    page_tokens: int = PAGE_TOKENS
    instructions: bool = True
    summarizer: ComponentModel | None = None

    @classmethod
    def of(cls, policy: FoldPolicy) -> Self:
        """Return the configuration that *policy* can be loaded from.

        Raises:
            NotSerializableError: The policy redacts, or has a summarizer other than an `LLMSummarizer` with its default
                limits.
        """
        if policy.redact:
            raise NotSerializableError("the callables in redact= of a FoldPolicy cannot be dumped")
        return _config_of(cls, policy, summarizer=_dumped_summarizer(policy.summarizer))

    def policy(self) -> FoldPolicy:
        """Return the policy with these settings."""
        settings = dict(self)
        if self.summarizer is not None:
            settings["summarizer"] = LLMSummarizer.load_component(self.summarizer)
        return FoldPolicy(**settings)


class RecallConfig(BaseModel):
    """The settings of a `RecallPolicy`."""

    expansion_budget: int
    results: bool
    user_layer_tokens: int
    judge: ComponentModel | None = None
    judge_limits: JudgeLimits

    @classmethod
    def of(cls, policy: RecallPolicy) -> Self:
        """Return the configuration that *policy* can be loaded from.

        Raises:
            NotSerializableError: The policy's judge is neither a `LexicalJudge` nor an `LLMJudge`.
        """
        return _config_of(cls, policy, judge=_dumped_judge(policy.judge))

    def policy(self) -> RecallPolicy:
        """Return the policy with these settings."""
        settings = dict(self)
        if self.judge is not None:
            settings["judge"] = LLMJudge.load_component(self.judge)
        return RecallPolicy(**settings)


class NotesConfig(BaseModel):
    """The settings of a `NotesPolicy`."""

    tiers: list[TierConfig]
    project: str
    ends_task: bool
    require_confirmed: bool = False

    @classmethod
    def of(cls, policy: NotesPolicy) -> Self:
        """Return the configuration that *policy* can be loaded from.

        Raises:
            NotSerializableError: One of the policy's tiers has a callable (``confirm`` or ``validate``).
        """
        return _config_of(cls, policy, tiers=dumped_tiers(policy.tiers))

    def policy(self) -> NotesPolicy:
        """Return the policy with these settings."""
        settings = dict(self)
        settings["tiers"] = loaded_tiers(self.tiers)
        return NotesPolicy(**settings)


class MemoryContextConfig(ConnectionConfig):
    """The settings of a `MemoryContext`. Only initial messages are part of it; the others belong to the state."""

    thread_id: str | None = None
    fold: FoldConfig
    recall: RecallConfig | bool = True
    notes: NotesConfig | bool = False
    max_tokens: int | None = None
    initial_messages: list[LLMMessage] | None = None


def _dumped_judge(judge: Judge | None) -> ComponentModel | None:
    if judge is None or isinstance(judge, LexicalJudge):
        return None
    if isinstance(judge, LLMJudge):
        return judge.dump_component()
    raise NotSerializableError(
        f"the judge {judge!r} cannot be dumped: only LexicalJudge and LLMJudge can"
    )


def _dumped_summarizer(summarizer: Summarizer | Summaries | None) -> ComponentModel | None:
    limits = SummaryLimits()
    if isinstance(summarizer, Summaries):
        limits = summarizer.limits
        summarizer = summarizer.summarizer
    if summarizer is None:
        return None
    if isinstance(summarizer, LLMSummarizer) and limits == SummaryLimits():
        return summarizer.dump_component()
    raise NotSerializableError(
        f"{summarizer!r} cannot be dumped: only LLMSummarizer with its default limits can"
    )
