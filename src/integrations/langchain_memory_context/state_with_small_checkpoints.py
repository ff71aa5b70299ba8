"""`LeanAgentState`: an agent's state for which a checkpointer writes each message only once."""

from __future__ import annotations

from typing import Annotated, Any

from langchain.agents import AgentState
from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel

# LangGraph's reducer for this channel; its name is private while the channel is in beta.
from langgraph.graph.message import _messages_delta_reducer


class LeanAgentState(AgentState[Any]):
    """An agent's state for ``create_agent(…, state_schema=LeanAgentState)`` that makes checkpoints small.

    By default, LangGraph writes the whole list of messages after each step. Its `DeltaChannel` (in beta, and used by
    deepagents) writes only new messages, and the whole list at every hundredth change. Threads that were begun without
    it can be continued with it.
    """

    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]  # pyright: ignore[reportArgumentType] # LangGraph's own pair
