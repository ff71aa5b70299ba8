"""A state for agents whose messages a checkpointer writes once."""

from __future__ import annotations

from typing import Annotated, Any

from langchain.agents import AgentState
from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel

# The reducer that LangGraph has for this channel; its name begins so while the channel is in beta.
from langgraph.graph.message import _messages_delta_reducer


class LeanAgentState(AgentState[Any]):
    """An agent's state for ``create_agent(…, state_schema=LeanAgentState)``: each message is in one checkpoint, not in all.

    LangGraph writes the whole list of messages after each step. Its `DeltaChannel`, in beta and the one that deepagents
    uses, writes what is new, and the whole list at each hundredth change. Earlier threads can be continued with it.
    """

    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]  # pyright: ignore[reportArgumentType] # LangGraph's own pair
