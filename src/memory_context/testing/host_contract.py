"""The contract of a host, as tests. Subclass it, and define the method `host`.

With ``pytest -p memory_context.testing.host_contract --recordings DIR`` it also compares hosts on recorded runs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import pairwise, repeat, zip_longest

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.fold_recall_notes_policies import FoldPolicy
from memory_context.conversation.message import Message
from memory_context.memory.manager import MemoryManager
from memory_context.model.reference import referenced_keys
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore
from memory_context.testing.calls_paired_with_results import call_errors
from memory_context.testing.faulty_store import Fault, FaultyStore
from memory_context.testing.generated_turns import (
    GeneratedConversation,
    by_length,
    generated_conversations,
)
from memory_context.testing.recorded_turns import recorded_scripts
from memory_context.testing.reference_host import ReferenceHost
from memory_context.testing.reproducible_keys import seeded_keys
from memory_context.testing.scripted_turns import ConversationHost, HostStart, ScriptedTurn

OPTION = "--recordings"
WORD = re.compile(r"[a-zA-Z0-9_-]+")
USER = "person"
PREFERENCE = "Answer in one sentence, and name the file."


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names a folder of recorded runs."""
    parser.addoption(
        OPTION, metavar="DIR", help="compare hosts on the recorded runs (*.jsonl, *.jsonl.gz) there"
    )


class ConversationHostContract:
    """Tests that a host sends its model the same prompts as `ReferenceHost`.

    Attributes:
        examples: How many conversations are generated; None for hypothesis' own setting.
    """

    examples: int | None = None

    def host(self, start: HostStart) -> ConversationHost:
        """Return a new host; every subclass defines it."""
        raise NotImplementedError

    def test_generated_conversations(self) -> None:
        """With folds, recalls, compactions, notes, errors, failing stores and restarts, the prompts are the same."""

        @given(generated_conversations())
        def compared(conversation: GeneratedConversation) -> None:
            asyncio.run(compare(self, conversation))

        chosen = settings(
            max_examples=self.examples or settings().max_examples,
            # Without shrinking, which would run hundreds of further conversations and take minutes.
            phases=(Phase.explicit, Phase.reuse, Phase.generate),
            # A conversation takes longer than hypothesis allows by default, which says nothing about the host.
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
        chosen(compared)()

    def test_recorded_runs(self, request: pytest.FixtureRequest) -> None:
        """The prompts are the same for the recorded runs in the folder that ``--recordings`` names."""
        folder = request.config.getoption(OPTION, None)
        if folder is None:
            pytest.skip(f"{OPTION} names no folder")
        # Relative to where pytest was started: a suite's fixtures may have changed the working directory.
        folder = request.config.invocation_params.dir / folder
        compared = 0
        fold = FoldPolicy(counter=by_length)
        for name, turns in recorded_scripts(folder):
            conversation = GeneratedConversation(ConversationSettings(fold), tuple(turns))
            try:
                asyncio.run(compare(self, conversation))
            except AssertionError as error:
                error.add_note(name)
                raise
            compared += 1
        assert compared, f"no run in {folder}"


async def compare(contract: ConversationHostContract, conversation: GeneratedConversation) -> None:
    """Check that the contract's host makes the prompts of the reference host, and that these are stable."""
    with FaultyStore("sqlite://") as store, FaultyStore("sqlite://") as other_store:
        reference = ReferenceHost(_start(store, conversation))
        expected = await _prompts(reference, store, conversation.turns)
        host = contract.host(_start(other_store, conversation))
        try:
            given = await _prompts(host, other_store, conversation.turns)
        finally:
            await host.close()
    check_stable(expected, reference.rewrites, notes_may_end=conversation.keeps_notes)
    check_same(expected, given)


def _start(store: MemoryStore, conversation: GeneratedConversation) -> HostStart:
    if conversation.has_preference:
        manager = MemoryManager(store, user_id=USER, counter=by_length)
        manager.store(PREFERENCE, key="style", tags=["always"])
    return HostStart(store, USER, "thread", conversation.settings, conversation.keeps_notes)


async def _prompts(
    host: ConversationHost, store: FaultyStore, turns: Sequence[ScriptedTurn]
) -> list[list[Message]]:
    """Return the prompts of a host in a form that can be compared with those of another one."""
    numbers = dict[str, str]()
    prompts = list[list[Message]]()
    with seeded_keys():
        for turn in turns:
            if turn.after_restart:
                await host.restart()
            if turn.store_fails:
                store.inject(repeat(Fault.ERROR))
            sent = await host.turn(turn.naming(list(numbers)))
            store.inject(())
            # Compacted messages name keys outside of references, so words that are stored keys count too.
            stored = {item.memory_key for item in store.list_all(Scope(USER))}
            for prompt in sent:
                assert [] == list(call_errors(prompt))
                assert not prompt[-1].is_ours, "the newest message is not the last one"
                for message in prompt:
                    _number_keys(message.text, stored, numbers)
                prompts.append([_comparable(message, numbers) for message in prompt])
    check_redeemable(numbers, store)
    return prompts


def _number_keys(text: str, stored: AbstractSet[str], numbers: dict[str, str]) -> None:
    """Give each key in *text* that has no number yet the next one."""
    keys = stored | set(referenced_keys(text))
    for word in WORD.findall(text):
        if word in keys:
            numbers.setdefault(word, f"«{len(numbers)}»")


def _comparable(message: Message, numbers: Mapping[str, str]) -> Message:
    """Return *message* without what differs between hosts: ids and facts; keys are replaced by their *numbers*."""
    # Some frameworks give an empty text to a message that only calls tools.
    texts = [_numbered(text, numbers) for text in message.texts.values() if text]
    calls = [replace(call, arguments=_numbered(call.arguments, numbers)) for call in message.calls]
    return replace(message, id="", texts=dict(enumerate(texts)), calls=tuple(calls), facts=None)


def _numbered(text: str, numbers: Mapping[str, str]) -> str:
    for key, number in numbers.items():
        text = text.replace(key, number)
    return text


def check_same(expected: Sequence[list[Message]], given: Sequence[list[Message]]) -> None:
    """Check that a host's model was sent the prompts of the reference host."""
    for number, (prompt, other) in enumerate(zip(expected, given, strict=True)):
        for index, (message, given_message) in enumerate(zip_longest(prompt, other)):
            assert message == given_message, (
                f"message {index} of prompt {number} is\n{given_message}\n"
                f"but the reference host has\n{message}"
            )


def check_stable(
    prompts: Sequence[list[Message]], rewrites: Sequence[int], *, notes_may_end: bool
) -> None:
    """Check that each prompt begins with the whole previous one, unless a rewrite was counted in between.

    Args:
        prompts: The prompts of one conversation.
        rewrites: For each prompt, how many rewrites of messages that a model had seen were counted until then.
        notes_may_end: Whether the notes of a run leave the prompts when the run ends.
    """
    for number, (earlier, later) in enumerate(pairwise(prompts), 1):
        is_new_turn = not later[-1].is_result
        is_rewritten = rewrites[number] != rewrites[number - 1]
        if is_rewritten or (notes_may_end and is_new_turn):
            continue
        assert earlier == later[: len(earlier)], f"prompt {number} changes what was seen"


def check_redeemable(keys: Iterable[str], store: MemoryStore) -> None:
    """Check that the store has a memory under every key that a prompt showed."""
    missing = [key for key in keys if not store.get(Scope(USER), key)]
    assert not missing, f"nothing is stored under {missing}"
