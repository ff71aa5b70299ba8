"""The settings of a conversation, grouped by subject: folding, recall, and the agent's notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from memory_context.conversation.answers_with_quotations import AskLimits
from memory_context.conversation.recall.limits_on_a_judge import Judge, JudgeLimits
from memory_context.exceptions import InvalidArgumentError, InvalidThresholdError
from memory_context.memory.descriptions_by_a_summarizer import Summaries, Summarizer
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.tiers_and_limits import TierPolicy, policies_with
from memory_context.model.tool_names import PAGE_TOKENS
from memory_context.text.tokens.counter import TokenCounter

P = TypeVar("P")
FoldMoment: TypeAlias = Literal["at_once", "after_reading"]

DEFAULT_THRESHOLD = 500
LEAST_THRESHOLD = 50
PERSON = "user"
PERSON_THRESHOLD = 8000
# A preview has at most a quarter of the text's tokens; otherwise a reference would save too little.
PREVIEW_PART = 4
# A task from another agent is whole up to so many times the threshold: a task ledger of MagenticOne has up to 2,500 tokens.
OF_TASK = 5
# Tools that read files, in coding agents, in deepagents, and in MCP's file servers.
FILE_READERS = frozenset(
    {
        "Glob",
        "Grep",
        "Read",
        "cat",
        "directory_tree",
        "get_file_contents",
        "glob",
        "grep",
        "list_directory",
        "ls",
        "open_file",
        "read_file",
        "read_multiple_files",
        "read_text_file",
        "search_files",
        "view",
        "view_file",
    }
)
# The same behind the name of a server, where a client puts that before the names of its tools. A single word, as in
# `page_view`, could belong to another tool.
_PREFIXED_READERS = tuple(f"_{name}" for name in FILE_READERS if "_" in name)


def is_file_reader(tool: str) -> bool:
    """Return whether *tool*, by its name, reads files."""
    return tool in FILE_READERS or tool.endswith(_PREFIXED_READERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldPolicy:
    """When a text is folded, and how much of it stays in the prompt; sizes are in tokens.

    The defaults are those that cost least on recorded agent runs: a tool's output is folded at once (see `docs/why.md`).
    Some texts must be shown in full at first: results of tools that read files and of `retrieve_memory`, a model's own
    long texts, and the arguments of its calls. They are folded later, in batches, once keeping them in the prompt has
    cost as much as rewriting the provider's cached prefix will.

    Attributes:
        threshold: Texts with more tokens are folded; 50 or more.
        source_thresholds: Other thresholds for messages by their source (in LangChain, by their ``name``). A person's
            own words (source ``user``) have 8,000 unless said otherwise, and another agent's message that a
            conversation begins with has five times `threshold`: it is the task.
        tool_thresholds: Other thresholds for the results of some tools; None: never folded. Tools that read files
            (``read_file``, ``grep``, ``ls`` and so on) show a page of `page_tokens` unless said otherwise.
        preview_tokens: The most that stays of a folded text beside its reference; never more than a quarter of the text.
        fold: ``at_once``; or ``after_reading``, for work that must read each output once: a text is shown in full to the
            first model call that sees it, and folded later, in batches, when that pays.
        read_cap: With ``after_reading``, texts with more tokens are folded at once all the same.
        page_tokens: The largest page of `retrieve_memory`; the last page of a text may be half as large again, and so may
            a whole answer of `query_memory`. Never more than a quarter of a context's `max_tokens`.
        summarizer: Describes folded texts in its own words, within its limits (`Summaries`, `LLMSummarizer`); without
            one, they are described by their kind.
        counter: Counts tokens; by default, the process's counter does. A provider is never asked.
        artifacts: What becomes of the artifacts of LangChain's tools: ``keep`` leaves them in the state; ``store`` stores
            large ones, and leaves ``{"memory_key": …}``. `MemoryContextMiddleware` only.
        redact: Filters for tools' results, other texts that may be folded, and recalled text, applied before a model
            sees them and before they are stored: callables from text to text; in `MemoryContextMiddleware` also
            LangChain's `PIIMiddleware`. A filter must leave its own output unchanged, because hosts pass some texts
            through it twice. To redact everything that is stored, give the store a `Redactor`.
        instructions: Whether a conversation's first placeholder explains references. If not, put
            `MEMORY_INSTRUCTIONS` into the system message.
        queries: Whether the agent gets `query_memory`, which queries stored texts in SQL. Its description costs some 100
            tokens per call; previews of tables then begin with their columns and a first row.
        record_prompts: Whether the store keeps, for 30 days, the exact messages of each model call and the words that
            decisions were made for, besides the numbers and keys that it keeps anyway (`MemoryManager.calls`). A thread
            of 100 calls is then stored some 50 times over.
        max_threshold: The upper limit of all thresholds; `max_tokens` sets it.

    Raises:
        InvalidThresholdError: A threshold below 50.
        InvalidArgumentError: A negative size, a word that is not listed here, or a setting of the wrong type.
    """

    threshold: int = DEFAULT_THRESHOLD
    source_thresholds: Mapping[str, int] = field(default_factory=dict[str, int])
    tool_thresholds: Mapping[str, int | None] = field(default_factory=dict[str, int | None])
    preview_tokens: int = 400
    fold: FoldMoment = "at_once"
    read_cap: int = 2500
    page_tokens: int = PAGE_TOKENS
    summarizer: Summarizer | Summaries | None = None
    counter: TokenCounter | Callable[[str], float] | None = None
    artifacts: Literal["keep", "store"] = "keep"
    redact: Sequence[Any] = ()
    instructions: bool = True
    queries: bool = False
    record_prompts: bool = False
    max_threshold: int | None = None

    def __post_init__(self) -> None:
        """Check every setting."""
        _check_threshold("threshold", self.threshold)
        _check_flags_and_sizes(self)
        check_arguments(
            source_thresholds=self.source_thresholds,
            tool_thresholds=self.tool_thresholds,
            redact=self.redact,
        )
        for source, threshold in self.source_thresholds.items():
            _check_threshold(f"the threshold for {source!r}", threshold)
        for tool, limit in self.tool_thresholds.items():
            if limit is not None:
                _check_threshold(f"the threshold for {tool!r}", limit)
        if self.fold not in ("at_once", "after_reading"):
            raise InvalidArgumentError(
                f'fold must be "at_once" or "after_reading", not {self.fold!r}'
            )
        if self.artifacts not in ("keep", "store"):
            raise InvalidArgumentError(
                f'artifacts must be "keep" or "store", not {self.artifacts!r}'
            )

    def redacted(self, text: str) -> str:
        """Return *text* as the `redact` filters leave it."""
        for redact in self.redact:
            text = redact(text)
        return text

    def threshold_for(self, source: str | None, *, is_task: bool = False) -> int:
        """Return the threshold for a message from *source*, perhaps the task; for None, the usual one."""
        threshold = self.threshold
        if source == PERSON:
            threshold = max(PERSON_THRESHOLD, self.threshold)
        elif is_task:
            threshold *= OF_TASK
        if source is not None:
            threshold = self.source_thresholds.get(source, threshold)
        return self._capped(threshold)

    def tool_threshold(self, tool: str) -> int | None:
        """Return the threshold for the results of *tool*; None if they are never folded."""
        threshold = self.tool_thresholds.get(tool, self.threshold)
        return None if threshold is None else self._capped(threshold)

    @property
    def least_threshold(self) -> int:
        """Return the lowest threshold of all sources and tools."""
        thresholds = [self.threshold, *self.source_thresholds.values()]
        thresholds += [limit for limit in self.tool_thresholds.values() if limit is not None]
        return self._capped(min(thresholds))

    def reads_files(self, tool: str) -> bool:
        """Return whether *tool* reads files and its results are shown in pages: not if it has a threshold of its own."""
        return is_file_reader(tool) and tool not in self.tool_thresholds

    @property
    def page_budget(self) -> int:
        """Return the most tokens of a page of `retrieve_memory`, within the context's limit.

        The last page of a text may be half as large again, and stays within the limit, too.
        """
        return self._capped(self.page_tokens * 3 // 2) * 2 // 3

    def preview_budget(self, source: str | None) -> int:
        """Return the most tokens of a preview; for a person's words, a quarter of their threshold."""
        if source == PERSON:
            return self.threshold_for(source) // PREVIEW_PART
        return self.preview_tokens

    def _capped(self, threshold: int) -> int:
        return threshold if self.max_threshold is None else min(threshold, self.max_threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPolicy:
    """What is brought back into a conversation without being asked for, and who decides it; sizes are in tokens.

    Attributes:
        expansion_budget: The most that is brought back at once; 0 for nothing.
        results: Whether texts are brought back for tools' results, too, and not only for messages of users and agents.
        user_layer_tokens: The most for the user layer, which a conversation begins with: the user's preferences, notes
            with the tag ``always``, recent threads and commands, and an overview of what is stored. 0 for none. Without
            a `thread_id`, a conversation has one only if its user has preferences or such notes.
        judge: Decides what is brought back; keyword matching (`LexicalJudge`) without one.
        judge_limits: What a judge with a model may cost in one conversation, and how long it may take.
        asks: Whether the agent gets `ask_memory` if there is a light model for it (`model_client=`, `model=`, or a judge
            that is a `LightModel`).
        ask_limits: What one question of `ask_memory` may cost.

    Raises:
        InvalidArgumentError: A negative size, something that is not a judge, or a setting of the wrong type.
    """

    expansion_budget: int = 2000
    results: bool = False
    user_layer_tokens: int = 300
    judge: Judge | None = None
    judge_limits: JudgeLimits = field(default_factory=JudgeLimits)
    asks: bool = True
    ask_limits: AskLimits = field(default_factory=AskLimits)

    def __post_init__(self) -> None:
        """Check every setting."""
        _check_flags_and_sizes(self)
        if self.judge is not None and not isinstance(self.judge, Judge):
            raise InvalidArgumentError(
                f"judge= takes an object with a name and decide(), not {self.judge!r:.80}"
            )
        for name, kind in (("judge_limits", JudgeLimits), ("ask_limits", AskLimits)):
            limits = getattr(self, name)
            if not isinstance(limits, kind):
                raise InvalidArgumentError(f"{name}= takes {kind.__name__}(…), not {limits!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesPolicy:
    """The notes that an agent keeps in tiers (`ScopedMemory`).

    Attributes:
        tiers: Further tiers, and built-in ones with other limits.
        project: The project of runs that do not name one.
        ends_task: Whether a task, and with it its notes, ends with the run that works on it.
        require_confirmed: Whether notes that a model has written, and what was imported, stay out of what a conversation
            begins with (the user layer, the notes of a run) until a person has confirmed them (`MemoryManager.confirm`).

    Raises:
        InvalidArgumentError: A tier that is not a `TierPolicy`, or a setting of the wrong type.
    """

    tiers: Sequence[TierPolicy] = ()
    project: str = "default"
    ends_task: bool = True
    require_confirmed: bool = False

    def __post_init__(self) -> None:
        """Check the tiers and the switches."""
        _check_flags_and_sizes(self)
        policies_with(self.tiers)


def preview_limit(most: int, tokens: int) -> int:
    """Return how many tokens the preview of a text of *tokens* may have: at most *most*, and a quarter of the text."""
    return min(most, tokens // PREVIEW_PART)


def fold_policy_of(fold: FoldMoment | FoldPolicy, threshold: int | None) -> FoldPolicy:
    """Return the policy that the parameters `fold` and `threshold` of a constructor describe.

    Raises:
        InvalidThresholdError: A threshold below 50.
        InvalidArgumentError: Both a policy and a threshold, or neither a policy nor one of the two words.
    """
    if not isinstance(fold, FoldPolicy):
        if fold not in get_args(FoldMoment):
            raise InvalidArgumentError(
                f'fold= takes "at_once", "after_reading" or a FoldPolicy, not {fold!r:.80}'
            )
        if threshold is None:
            threshold = DEFAULT_THRESHOLD
        return FoldPolicy(fold=fold, threshold=threshold)
    if threshold is not None:
        raise InvalidArgumentError(
            f"threshold= is short for FoldPolicy(threshold={threshold}); "
            "give threshold= or a FoldPolicy, not both"
        )
    return fold


def fold_at_once_policy(
    fold: FoldMoment | FoldPolicy, threshold: int | None, host: str
) -> FoldPolicy:
    """Return the policy as `fold_policy_of` does, for a *host* that cannot show texts in full first.

    Raises:
        InvalidThresholdError, InvalidArgumentError: As `fold_policy_of` and `refuse_middleware_settings`; also a policy
            that folds after reading.
    """
    policy = fold_policy_of(fold, threshold)
    if policy.fold != "at_once":
        raise InvalidArgumentError(
            'a chat history folds at once; fold="after_reading" is for an agent\'s conversation'
        )
    refuse_middleware_settings(policy, host)
    return policy


def refuse_middleware_settings(policy: FoldPolicy, host: str) -> None:
    """Check that *policy* has no setting that only `MemoryContextMiddleware` supports.

    Raises:
        InvalidArgumentError: It stores artifacts, or redacts with something other than callables.
    """
    if policy.artifacts != "keep":
        raise InvalidArgumentError(
            "artifacts= of a FoldPolicy works in MemoryContextMiddleware only"
        )
    if not all(map(callable, policy.redact)):
        raise InvalidArgumentError(
            f"redact= of {host} takes callables from text to text; a PIIMiddleware works in MemoryContextMiddleware"
        )


def recall_policy_of(
    recall: bool | RecallPolicy,  # noqa: FBT001 - True for the defaults
    model: Any = None,  # noqa: ANN401 - of the host's framework
    judge_of: Callable[[Any], Judge] | None = None,
    parameter: str = "",
) -> RecallPolicy | None:
    """Return the policy that the parameter `recall` of a constructor describes; None for no recall.

    Args:
        recall: The parameter.
        model: The model of another parameter, if it was given.
        judge_of: Makes the judge that asks this model.
        parameter: The name of that parameter, for messages.

    Raises:
        InvalidArgumentError: Both a model and a judge, or something that is neither a policy nor a bool.
    """
    policy = policy_of(recall, RecallPolicy, "recall")
    if judge_of and model is not None:
        if policy.judge is not None:
            raise InvalidArgumentError(
                f"{parameter}= is short for a RecallPolicy's judge= with that model; "
                f"give {parameter}= or judge=, not both"
            )
        policy = replace(policy, judge=judge_of(model))
    return None if recall is False else policy


def policy_of(setting: object, kind: type[P], parameter: str) -> P:
    """Return the policy that a constructor got as *parameter*; the default one for a bool.

    Raises:
        InvalidArgumentError: It is neither a policy of that *kind* nor a bool.
    """
    if isinstance(setting, bool):
        return kind()
    if isinstance(setting, kind):
        return setting
    raise InvalidArgumentError(
        f"{parameter}= takes True, False or a {kind.__name__}, not {setting!r:.80}"
    )


def _check_flags_and_sizes(policy: FoldPolicy | RecallPolicy | NotesPolicy) -> None:
    """Check that every setting of *policy* that is declared as a bool or as a number (of tokens) is one."""
    for setting in fields(policy):
        value = getattr(policy, setting.name)
        if setting.type == "bool" and not isinstance(value, bool):
            raise InvalidArgumentError(f"{setting.name}= takes True or False, not {value!r:.80}")
        is_optional = setting.type == "int | None"
        if setting.type == "int" or (is_optional and value is not None):
            _check_tokens(setting.name, value)


_check_tokens = partial(check_whole, unit=" of tokens")
_check_threshold = partial(_check_tokens, least=LEAST_THRESHOLD, error=InvalidThresholdError)
