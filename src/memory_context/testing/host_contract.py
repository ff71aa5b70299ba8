"""The contract of a host, as tests. Subclass it, and give it a method `host`.

With ``pytest -p memory_context.testing.host_contract --recordings DIR`` it compares recorded runs, too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Self

import pytest
from hypothesis import Phase, given, settings

from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.fold_and_recall_policies import FoldPolicy
from memory_context.conversation.message import Message
from memory_context.memory.manager import MemoryManager
from memory_context.model.reference import MemoryRef
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore, SQLAlchemyStore
from memory_context.testing.faulty_store import Fault, FaultyStore
from memory_context.testing.generated_turns import (
    GeneratedConversation,
    by_length,
    generated_conversations,
)
from memory_context.testing.recorded_turns import recorded_scripts
from memory_context.testing.reference_host import ReferenceHost
from memory_context.testing.scripted_turns import ConversationHost, HostStart, ScriptedTurn
from memory_context.testing.seeding import seeded_keys

OPTION = "--recordings"
WORD = re.compile(r"[a-zA-Z0-9_-]+")
PREFERENCE = "Answer in one sentence, and name the file."


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names a folder of recorded runs."""
    parser.addoption(
        OPTION, metavar="DIR", help="compare hosts on the recorded runs (*.jsonl, *.jsonl.gz) there"
    )


class ConversationHostContract:
    """What every host of a conversation does: its model gets the prompts that `ReferenceHost` makes.

    Attributes:
        examples: How many conversations are generated; None for what hypothesis is set to.
    """

    examples: int | None = None

    def host(self, start: HostStart) -> ConversationHost:
        """Return a new host; every subclass defines it."""
        raise NotImplementedError

    def test_generated_conversations(self) -> None:
        """Folds, recalls, compactions, notes, errors, failing stores and restarts: the same prompts, by the laws."""
        with HostPair(self) as pair:

            @given(generated_conversations())
            def compared(conversation: GeneratedConversation) -> None:
                asyncio.run(pair.compare(conversation))

            # Shrinking holds hundreds of conversations more, and takes minutes.
            phases = (Phase.explicit, Phase.reuse, Phase.generate)
            most = self.examples or settings().max_examples
            settings(max_examples=most, phases=phases)(compared)()

    def test_recorded_runs(self, request: pytest.FixtureRequest) -> None:
        """The recorded runs of the folder that ``--recordings`` names give the same prompts."""
        folder = request.config.getoption(OPTION, None)
        if folder is None:
            pytest.skip(f"{OPTION} names no folder")
        compared = 0
        fold = FoldPolicy(counter=by_length)
        with HostPair(self) as pair:
            for name, turns in recorded_scripts(Path(folder)):
                conversation = GeneratedConversation(ConversationSettings(fold), tuple(turns))
                try:
                    asyncio.run(pair.compare(conversation))
                except AssertionError as error:
                    error.add_note(name)
                    raise
                compared += 1
        assert compared, f"no run in {folder}"


class HostPair:
    """Two hosts side by side, each on a store of its own: the one of a contract, and the reference."""

    def __init__(self, contract: ConversationHostContract) -> None:
        self._contract = contract
        self._fails = False
        self._stores = [FaultyStore(SQLAlchemyStore("sqlite://"), self._faults()) for _ in range(2)]
        self._conversations = 0

    def __enter__(self) -> Self:
        """Return the pair."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the stores."""
        for store in self._stores:
            store.close()

    def _faults(self) -> Iterator[Fault | None]:
        while True:
            yield Fault.ERROR if self._fails else None

    async def compare(self, conversation: GeneratedConversation) -> None:
        """Hold one conversation in both hosts, and check that prompts are the same and follow the laws."""
        self._conversations += 1
        starts = list[HostStart]()
        for store in self._stores:
            user_id = f"person-{self._conversations}"
            if conversation.has_preference:
                MemoryManager(store, user_id=user_id, counter=by_length).store(
                    PREFERENCE, key="style", tags=["always"]
                )
            starts.append(
                HostStart(store, user_id, "thread", conversation.settings, conversation.keeps_notes)
            )
        reference = ReferenceHost(starts[0])
        with seeded_keys():
            expected = await self._prompts(reference, conversation.turns, starts[0])
        host = self._contract.host(starts[1])
        try:
            with seeded_keys():
                given = await self._prompts(host, conversation.turns, starts[1])
        finally:
            await host.close()
        check_stable(expected, reference.rewrites, notes_may_end=conversation.keeps_notes)
        check_same(expected, given)

    async def _prompts(
        self, host: ConversationHost, turns: Sequence[ScriptedTurn], start: HostStart
    ) -> list[list[Message]]:
        """Return the prompts of a host, comparable with those of another one."""
        names = KeyNames()
        prompts = list[list[Message]]()
        for turn in turns:
            if turn.after_restart:
                await host.restart()
            self._fails = turn.store_fails
            try:
                sent = await host.turn(turn.naming(list(names.numbers)))
            finally:
                self._fails = False
            stored = {item.memory_key for item in start.store.list_all(Scope(start.user_id))}
            for prompt in sent:
                check_calls(prompt)
                assert not prompt[-1].is_ours, "the newest message is not the last one"
                names.learn(prompt, stored)
                prompts.append([names.comparable(message) for message in prompt])
        check_redeemable(names.numbers, start.store, start.user_id)
        return prompts


class KeyNames:
    """The keys of one host in the order in which its prompts showed them: other hosts generate others.

    Attributes:
        numbers: The number of each key.
    """

    def __init__(self) -> None:
        self.numbers = dict[str, int]()

    def learn(self, prompt: Sequence[Message], stored: Collection[str]) -> None:
        """Number the keys that are new in *prompt*: those of references, and of what is *stored*."""
        for message in prompt:
            references = {ref.key for ref in MemoryRef.find_all(message.text)}
            for word in WORD.findall(message.text):
                if word in references or word in stored:
                    self.numbers.setdefault(word, len(self.numbers))

    def comparable(self, message: Message) -> Message:
        """Return *message* without what only its host knows of it, its keys as numbers."""
        # Some frameworks give a message that only calls tools an empty text.
        texts = [self._numbered(text) for text in message.texts.values() if text]
        calls = [replace(call, arguments=self._numbered(call.arguments)) for call in message.calls]
        return Message(
            "",
            message.role,
            message.source,
            dict(enumerate(texts)),
            tuple(calls),
            message.answers,
            message.is_error,
        )

    def _numbered(self, text: str) -> str:
        return re.sub(
            WORD,
            lambda word: f"«{self.numbers[word[0]]}»" if word[0] in self.numbers else word[0],
            text,
        )


def check_same(expected: Sequence[list[Message]], given: Sequence[list[Message]]) -> None:
    """Check that a host's model was sent the prompts of the reference host."""
    for number, (prompt, other) in enumerate(zip(expected, given, strict=True)):
        for index, (message, given_message) in enumerate(zip_longest(prompt, other)):
            assert message == given_message, (
                f"message {index} of prompt {number} is\n{given_message}\n"
                f"and not, as of the reference host,\n{message}"
            )


def check_stable(
    prompts: Sequence[list[Message]], rewrites: Sequence[int], *, notes_may_end: bool
) -> None:
    """Check that each prompt begins with the one before it, but where that was counted as a rewrite.

    Args:
        prompts: The prompts of one conversation.
        rewrites: How often what was seen had been changed until each of them.
        notes_may_end: Whether notes of a run leave the prompts with the run.
    """
    for number, (earlier, later) in enumerate(pairwise(prompts)):
        is_new_turn = later[-1].role != "tool"
        if rewrites[number] == rewrites[number + 1] and not (notes_may_end and is_new_turn):
            assert earlier == later[: len(earlier)], f"prompt {number + 1} changes what was seen"


def check_calls(prompt: Sequence[Message]) -> None:
    """Check what providers enforce: results stand right behind the calls that they answer, one for each."""
    waiting = set[str]()
    for message in prompt:
        if message.answers is not None:
            assert message.answers in waiting, f"{message.answers} answers no call before it"
            waiting.remove(message.answers)
        else:
            assert not waiting, f"no results of {waiting}"
            waiting = {call.id for call in message.calls}
    assert not waiting, f"no results of {waiting}"


def check_redeemable(keys: Iterable[str], store: MemoryStore, user_id: str) -> None:
    """Check that there is a memory behind every reference that a prompt has shown."""
    scope = Scope(user_id)
    missing = [key for key in keys if store.get(scope, key) is None]
    assert not missing, f"nothing is stored under {missing}"
