"""When a text is folded, and what stays of it in the prompt."""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import Any, get_type_hints

import pytest
from autogen_core.models import LLMMessage, UserMessage
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from langchain_memory_context import MemoryContextMiddleware
from memory_context import (
    FoldPolicy,
    MemoryContext,
    MemoryManager,
    NotesPolicy,
    PassingPolicy,
    RecallPolicy,
)
from memory_context.conversation.answers_with_quotations import AskLimits
from memory_context.conversation.fold_recall_notes_policies import LEAST_THRESHOLD, PERSON_THRESHOLD
from memory_context.conversation.folding.fold_text import fold
from memory_context.exceptions import InvalidArgumentError, InvalidThresholdError
from memory_context.model.item import MemoryItem
from memory_context.model.reference import MemoryRef
from memory_context.model.tiers_and_limits import TierPolicy
from memory_context.text.terminal_output import as_on_terminal
from memory_context.text.tokens.counter import CallableCounter, TokenCounter, default_counter

LETTERS = CallableCounter(len)
LOG = "\n".join(f"line {number}" for number in range(1, 501))


class Shelf:
    """A store of one user that remembers what was put into it."""

    def __init__(
        self, counter: TokenCounter = LETTERS, key: str = "log_12345678", summary: str = "a log"
    ) -> None:
        """Count by `counter`; give every text the same key."""
        self.counter, self.key, self.summary = counter, key, summary
        self.texts: list[str] = []

    def put(self, text: str) -> MemoryItem:
        """Keep `text`."""
        self.texts.append(text)
        tokens = self.counter.count(text)
        return MemoryItem(
            user_id="ann",
            memory_key=self.key,
            content=text,
            summary=self.summary,
            token_count=tokens,
        )


@for_each("length, folded", [(99, False), (100, False), (101, True), (5000, True)])
def test_only_what_is_above_the_threshold_is_folded(length: int, *, folded: bool) -> None:
    """A text of exactly the threshold's tokens stays, and is not stored."""
    shelf = Shelf()
    result = fold("x" * length, shelf.put, LETTERS, threshold=100, preview_tokens=0)
    assert folded == (result is not None)
    assert ["x" * length] * folded == shelf.texts


def test_a_folded_text_is_its_reference_and_a_preview() -> None:
    """The reference stands on the first line, what matters of the text below it."""
    shelf = Shelf()
    result = fold(LOG, shelf.put, LETTERS, threshold=500, preview_tokens=200)
    assert result
    first, *preview = result.text.split("\n")
    assert MemoryRef("log_12345678", "a log", len(LOG)) == MemoryRef.parse(first)
    assert 0 < len("\n".join(preview)) <= 200
    assert [LOG] == shelf.texts == [result.item.content]


COLOURED = "\n".join(f"\x1b[32m✓\x1b[39m \x1b[2mtest_{n}\x1b[22m ({n} ms)" for n in range(400))


def test_a_preview_shows_no_colours() -> None:
    """A terminal's colours and titles cost as many tokens as the words; the stored text keeps them.

    Lines that are shown without them are in sight. A link stays, because it holds an address.
    """
    title = "\x1b]0;the tests of the shop\x07\x1b[1mall tests\x1b(B\x1b[m"
    link = "\x1b]8;;https://example.org/7\x1b\\the report\x1b]8;;\x1b\\"
    text = f"{title}\n{link}\n{COLOURED}"
    result = fold(text, Shelf().put, LETTERS, threshold=500, preview_tokens=200)
    assert result
    assert text == result.item.content
    preview = result.text.partition("\n")[2]
    assert preview.startswith(f"all tests\n{link}\n✓ test_0 (0 ms)\n")
    assert "\x1b[" not in preview
    assert 1 == result.ranges[0][0]


def test_a_preview_shows_progress_bars_as_a_terminal_does() -> None:
    """Only the last state of a line that is written again and again.

    The stored text stays whole, and what was overwritten is not in sight.
    """
    states = "".join(f"\rfetched {number}%" for number in range(101))
    text = f"Collecting numpy\r\n{states}, done\r\nname,note\n1,one\rtwo\n" + LOG
    result = fold(text, Shelf().put, LETTERS, threshold=500, preview_tokens=2000)
    assert result
    assert text == result.item.content
    assert result.text.partition("\n")[2].startswith(
        "Collecting numpy\r\nfetched 100%, done\nname,note\n1,one\rtwo"
    )
    assert () == result.ranges


@for_each(
    "state",
    [
        "{0:3}%|####  | {1}/900 [00:03<00:09, 17.9it/s]",
        "Receiving objects: {0:3}% ({1}/900)",
        "  {1} kB of 900 kB, {0} %",
        "Step {1}/900, loss 0.31",
    ],
)
@for_each("end", ["\n", "\r\n", ""])
def test_a_progress_bar_alone_is_its_last_state(state: str, end: str) -> None:
    """Also where no line is above it, and whatever ends it."""
    states = "".join("\r" + state.format(number, number * 9) for number in range(101))
    assert state.format(100, 900) == as_on_terminal(states + end).rstrip()


@for_each("line", ["On 11/{0}/2026 ship-{0} met 3 crews.", "ship-{0},4.5,and/or"])
def test_lines_of_old_macs_without_progress_stay(line: str) -> None:
    """A date or a number is no sign of progress."""
    text = "\r".join(line.format(day) for day in range(1, 30)) + "\n"
    assert text == as_on_terminal(text)


def test_a_preview_shows_lines_of_old_macs() -> None:
    """Where only carriage returns end lines, nothing was overwritten; a program may have printed a line feed after it."""
    lines = [f"On day {day} the crew of ship-{day} met nobody." for day in range(40)]
    for end in "", "\n":
        text = "\r".join([*lines, "ERROR: engine-44 failed", "Goodbye"]) + end
        result = fold(text, Shelf().put, LETTERS, threshold=500, preview_tokens=400)
        assert result
        assert "ship-39 met nobody.\rERROR: engine-44 failed\rGoodbye" in result.text


def test_without_a_preview_the_reference_stands_alone() -> None:
    """A preview of no tokens adds nothing to the reference, not even a note on what is missing."""
    result = fold(LOG, Shelf().put, LETTERS, threshold=500, preview_tokens=0)
    assert result
    assert f"[MemoryRef: log_12345678 - a log - {len(LOG)} tokens]" == result.text


def test_a_text_that_is_shorter_than_its_reference_stays() -> None:
    """A reference that would not be shorter takes no text's place."""
    shelf = Shelf(key="k" * 200)
    assert fold("x" * 150, shelf.put, LETTERS, threshold=100, preview_tokens=50) is None


def test_a_store_that_fails_leaves_no_reference() -> None:
    """The text is committed first: when that fails, the store's own error comes out and nothing else."""

    def failing(text: str) -> MemoryItem:
        raise OSError(text[:6])

    with pytest.raises(OSError, match="line 1"):
        fold(LOG, failing, LETTERS, threshold=100, preview_tokens=50)


@examples(60)
@given(
    st.lists(st.text(st.characters(exclude_categories=()), max_size=60), max_size=30).map(
        "\n".join
    ),
    st.integers(50, 300),
    st.integers(0, 200),
)
def test_a_fold_saves_tokens_and_says_how_many_are_left(
    text: str, threshold: int, preview_tokens: int
) -> None:
    """What is shown has the tokens that it says, fewer than the text, and redeems by its first reference."""
    counter = default_counter()
    result = fold(
        text, Shelf(counter).put, counter, threshold=threshold, preview_tokens=preview_tokens
    )
    if result is None:
        return
    assert counter.count(result.text) == result.tokens < counter.count(text)
    assert result.item.ref == MemoryRef.find_all(result.text)[0]
    assert counter.count(text) > threshold


def test_a_policy_without_arguments() -> None:
    """Fold above 500 tokens, a person's words above 8,000; keep 400 in sight, bring back 2,000."""
    policy = FoldPolicy()
    assert (500, 400, 2000) == (
        policy.threshold,
        policy.preview_tokens,
        RecallPolicy().expansion_budget,
    )
    assert [500, 500, 8000] == [
        policy.threshold_for(source) for source in (None, "planner", "user")
    ]


@for_each("threshold", [49, 0, -1, 500.0, "500", None, True])
def test_a_threshold_is_fifty_tokens_or_more(threshold: Any) -> None:
    """Below, a reference would be longer than what it replaces; the rule holds for each source too, and names it."""
    with pytest.raises(InvalidThresholdError) as error:
        FoldPolicy(threshold=threshold)
    assert f"threshold must be a whole number of tokens, 50 or more, not {threshold!r}" == str(
        error.value
    )
    with pytest.raises(InvalidThresholdError, match="'planner'"):
        FoldPolicy(source_thresholds={"planner": threshold})
    if threshold is not None:
        with pytest.raises(InvalidThresholdError, match="'read_log'"):
            FoldPolicy(tool_thresholds={"read_log": threshold})


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (FoldPolicy, "preview_tokens"),
        (FoldPolicy, "read_cap"),
        (RecallPolicy, "expansion_budget"),
        (RecallPolicy, "user_layer_tokens"),
    ],
)
def test_a_budget_is_not_negative(record: Any, name: str) -> None:
    """Nothing is a budget, less is none."""
    with pytest.raises(InvalidArgumentError, match=name):
        record(**{name: -1})
    assert getattr(record(**{name: 0}), name) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 800, "fold": FoldPolicy()}, "threshold= or a FoldPolicy, not both"),
        ({"fold": "later"}, "after_reading"),
        ({"fold": FoldPolicy}, '"at_once", "after_reading" or a FoldPolicy'),
        ({"fold": FoldPolicy(redact=["x"])}, "callables from text to text"),
        ({"fold": FoldPolicy(artifacts="store")}, "MemoryContextMiddleware only"),
        ({"recall": None}, "RecallPolicy"),
        ({"notes": [TierPolicy("team")]}, "NotesPolicy"),
        ({"initial_messages": "hello"}, "list of AutoGen's LLM messages, not 'hello'"),
        ({"initial_messages": UserMessage(content="hello", source="user")}, "list of AutoGen's"),
    ],
)
def test_settings_that_a_context_refuses(settings: dict[str, Any], message: str) -> None:
    """Two ways to say one thing at once, and a setting of the wrong kind; the message says what would be right."""
    with pytest.raises(InvalidArgumentError, match=message):
        MemoryContext("ann", store="sqlite://", **settings)


@pytest.mark.parametrize("kind", [FoldPolicy, RecallPolicy, NotesPolicy, TierPolicy])
def test_a_switch_is_a_bool(kind: Any) -> None:
    """Every setting that is annotated as a bool refuses anything else: "no" would count as yes."""
    policy: Any = partial(kind, "team") if kind is TierPolicy else kind
    switches = [name for name, annotated in get_type_hints(kind).items() if annotated is bool]
    assert switches
    for name in switches:
        for value in ("no", 1, None):
            with pytest.raises(InvalidArgumentError, match=f"{name}.* True or False"):
                policy(**{name: value})
        assert [True, False] == [getattr(policy(**{name: on}), name) for on in (True, False)]


@for_each(
    "policy, settings, message",
    [
        (FoldPolicy, {"preview_tokens": None}, "preview_tokens must be a whole number of tok"),
        (RecallPolicy, {"expansion_budget": None}, "expansion_budget must be a whole number"),
        (FoldPolicy, {"redact": str.upper}, "a list of callables from text to text"),
        (FoldPolicy, {"redact": "x"}, "a list of callables from text to text, not str"),
        (FoldPolicy, {"tool_thresholds": ["x"]}, "tool_thresholds must be a mapping"),
        (FoldPolicy, {"source_thresholds": 500}, "source_thresholds must be a mapping"),
        (FoldPolicy, {"max_threshold": "x"}, "max_threshold must be a whole number"),
        (RecallPolicy, {"judge_limits": 3}, "judge_limits= takes JudgeLimits"),
        (RecallPolicy, {"ask_limits": {"calls": 3}}, "ask_limits= takes AskLimits"),
        (AskLimits, {"calls": "3"}, "calls must be an int or a float, 0 or more, not '3'"),
        (NotesPolicy, {"tiers": ["team"]}, "a list of policies, .* not .'team'."),
        (NotesPolicy, {"tiers": TierPolicy("team")}, "a list of policies"),
        (PassingPolicy, {"directories": ["run"]}, "directories must be a mapping"),
    ],
)
def test_a_setting_of_the_wrong_type(policy: Any, settings: dict[str, Any], message: str) -> None:
    """The policy itself refuses it, and says what it takes."""
    with pytest.raises(InvalidArgumentError, match=message):
        policy(**settings)


def test_a_constructor_has_at_most_a_dozen_parameters() -> None:
    """What belongs together is one record, and all of these can be imported from `memory_context`."""
    for constructor in (MemoryContext, MemoryContextMiddleware):
        assert len(inspect.signature(constructor.__init__).parameters) <= 1 + 12


async def test_a_tool_with_a_threshold_of_its_own() -> None:
    """Its results are folded above it, or never."""
    policy = FoldPolicy(threshold=500, tool_thresholds={"small": 60, "never": None})
    context = MemoryContext("ann", store="sqlite://", fold=policy)
    text = "\n".join(f"line {number}" for number in range(60))

    shown = [
        await context.fold_output(text, tool="small"),
        await context.fold_output(text, tool="other"),
        await context.fold_output(text * 20, tool="never"),
    ]

    assert [True, False, False] == [part.startswith("[MemoryRef: ") for part in shown]


def test_no_recall_brings_nothing_at_all() -> None:
    """``recall=False`` leaves out what is known about the user, too."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        manager.store("Ann wants short answers.", tags=["always"])
        prompts = [
            asyncio.run(_first_prompt(manager, setting))
            for setting in (True, False, RecallPolicy(user_layer_tokens=0))
        ]

    assert [2, 1, 1] == [len(prompt) for prompt in prompts]


async def _first_prompt(manager: MemoryManager, recall: bool | RecallPolicy) -> list[LLMMessage]:
    context = MemoryContext("ann", store=manager.memory_store, recall=recall)
    await context.add_message(UserMessage(content="hello", source="user"))
    return await context.get_messages()


def test_the_least_threshold_is_allowed() -> None:
    """Fifty tokens, for everything or for one source."""
    policy = FoldPolicy(threshold=LEAST_THRESHOLD, source_thresholds={"user": LEAST_THRESHOLD})
    assert LEAST_THRESHOLD == policy.threshold_for(None) == policy.threshold_for("user")


def test_sources_have_thresholds_of_their_own() -> None:
    """A source that is named gets its threshold, every other source and every tool the common one."""
    policy = FoldPolicy(threshold=600, source_thresholds={"planner": 100, "user": 9000})
    assert [600, 600, 100, 9000] == [
        policy.threshold_for(source) for source in (None, "coder", "planner", "user")
    ]


@for_each("threshold, persons", [(50, PERSON_THRESHOLD), (8000, 8000), (20_000, 20_000)])
def test_a_persons_words_stay_at_least_as_long_as_anything_else(
    threshold: int, persons: int
) -> None:
    """A common threshold above 8,000 is a person's too."""
    assert persons == FoldPolicy(threshold=threshold).threshold_for("user")


@for_each(
    "policy, source, budget",
    [
        (FoldPolicy(), None, 400),
        (FoldPolicy(), "coder", 400),
        (FoldPolicy(), "user", 2000),
        (FoldPolicy(threshold=10_000), None, 400),
        (FoldPolicy(threshold=10_000), "user", 2500),
        (FoldPolicy(preview_tokens=0), None, 0),
        (FoldPolicy(preview_tokens=5000), None, 5000),
        (FoldPolicy(source_thresholds={"user": 400}), "user", 100),
    ],
)
def test_what_a_preview_may_have(policy: FoldPolicy, source: str | None, budget: int) -> None:
    """`preview_tokens`; of a person's words a quarter of their threshold."""
    assert budget == policy.preview_budget(source)
