"""A team at work under a limit, for many turns."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import ExternalTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import LLMMessage

from memory_context.autogen import ContextStats, MemoryContext
from memory_context.conversation.judge import Decision
from memory_context.demo.library import library_tools
from memory_context.demo.meter import Call, MeteredClient, ShadowedContext
from memory_context.demo.worker import ASKED, CALLS_PER_TURN, NAMES, Worker
from memory_context.runtime import prompts
from memory_context.stores import MemoryStore
from memory_context.testing import ScriptedChatClient

LIMIT = 8_000


@dataclass
class TeamRun:
    """What a team has done so far.

    Attributes:
        contexts: The memory of each of its agents.
        calls: The calls of its models, in order.
        turns: How many turns it has taken.
        seconds: How long that took.
        stopped: Whether it was interrupted.
    """

    contexts: list[MemoryContext]
    calls: list[Call] = field(default_factory=list[Call])
    turns: int = 0
    seconds: float = 0.0
    stopped: bool = False

    def prompted(
        self,
        call: Call,
        news: Sequence[LLMMessage],  # noqa: ARG002
        originals: Mapping[str, str],  # noqa: ARG002 - a Watcher's
    ) -> None:
        """Keep the call."""
        self.calls.append(call)

    def replied(self, reply: str | list[FunctionCall]) -> None:
        """Nothing."""

    def stats(self) -> ContextStats:
        """What the contexts have done, together."""
        each = [context.stats() for context in self.contexts]
        return ContextStats(
            **{
                one.name: sum(getattr(stats, one.name) for stats in each)
                for one in fields(ContextStats)
            }
        )

    def answered(self) -> list[Decision]:
        """The decisions that brought something back for a question."""
        decisions = (decision for context in self.contexts for decision in context.decisions())
        return [
            decision
            for decision in decisions
            if decision.opened and ASKED.fullmatch(decision.asked)
        ]


def new_run(store: MemoryStore, user_id: str) -> TeamRun:
    """A team that has done nothing yet: a context for each agent, on one store."""
    return TeamRun(
        [MemoryContext(user_id, store=store, agent_id=name, max_tokens=LIMIT) for name in NAMES]
    )


async def work(run: TeamRun, turns: int, on_turn: Callable[[], object]) -> None:
    """Let the team take `turns` turns, or fewer if it is interrupted (SIGINT)."""
    stop, started = ExternalTermination(), time.perf_counter()
    agents = [_agent(number, run, turns) for number in range(len(NAMES))]
    team = RoundRobinGroupChat(list(agents), termination_condition=stop, max_turns=turns)

    def interrupt() -> None:
        run.stopped = True
        stop.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt)  # a cancelled team would go on to its end
    try:
        async for event in team.run_stream(task=prompts.DEMO_TEAM_FIRST):
            if isinstance(event, TextMessage) and event.source in NAMES:
                run.turns, run.seconds = run.turns + 1, time.perf_counter() - started
                on_turn()
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _agent(number: int, run: TeamRun, turns: int) -> AssistantAgent:
    task = prompts.DEMO_TEAM_TASK.format(name=NAMES[number], names=", ".join(NAMES))
    shadowed = ShadowedContext(run.contexts[number])
    client = ScriptedChatClient([Worker(number).step] * (CALLS_PER_TURN * turns))
    return AssistantAgent(
        NAMES[number],
        MeteredClient(client, shadowed, run, task),
        model_context=shadowed,
        tools=[*library_tools(), *run.contexts[number].tools()],
        system_message=f"{task}\n\n{prompts.READING_INSTRUCTIONS}",
        max_tool_iterations=CALLS_PER_TURN,
    )
