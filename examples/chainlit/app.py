"""A web front end: people sign in, and each conversation has an AutoGen agent with a memory.

    pip install '.[autogen]' chainlit aiosqlite 'sqlalchemy[asyncio]'
    export CHAINLIT_AUTH_SECRET=$(python -c "import secrets; print(secrets.token_hex(32))")
    chainlit run app.py

Sign in as ann (password ann's) or bob (bob's). Conversations and memories are in one database: the
one that CHAT_DATABASE names, else chat.db.
"""

from __future__ import annotations

import os
from pathlib import Path

import chainlit as cl
from autogen_agentchat.agents import AssistantAgent
from chainlit.data import get_data_layer
from chainlit.data.sql_alchemy import SQLAlchemyDataLayer
from chainlit.types import ThreadDict
from clerk import sales_report, scripted_model

from memory_context import MemoryContext, build_model_context

DATABASE = os.environ.get("CHAT_DATABASE", "sqlite+aiosqlite:///chat.db")
PASSWORDS = {"ann": "ann's", "bob": "bob's"}  # your own check in their place


class UIAgentBuilder:
    """Builds the agent of one conversation of one signed-in user."""

    def __init__(self, user_id: str, thread_id: str, data_layer: SQLAlchemyDataLayer) -> None:
        self.user_id = user_id
        self.thread_id = thread_id
        self.data_layer = data_layer

    def build_model_context(self) -> MemoryContext:
        """Make a memory on the front end's own database."""
        return build_model_context(
            self.user_id, self.data_layer, thread_id=self.thread_id, max_tokens=20_000
        )

    def build_agent(self) -> AssistantAgent:
        """Make the agent; a real model goes where the scripted one is."""
        context = self.build_model_context()
        return AssistantAgent(
            "assistant",
            scripted_model(),
            model_context=context,
            workbench=context.workbench([sales_report]),
            max_tool_iterations=10,
        )


@cl.data_layer
def make_data_layer() -> SQLAlchemyDataLayer:
    """Tell Chainlit where conversations are kept."""
    return SQLAlchemyDataLayer(DATABASE)


@cl.on_app_startup
async def create_tables() -> None:
    """Create Chainlit's tables where there are none."""
    for statement in Path(__file__).with_name("tables.sql").read_text("utf-8").split(";\n"):
        await get_data_layer().execute_sql(statement, {})


@cl.password_auth_callback
def sign_in(name: str, password: str) -> cl.User | None:
    """Let those in who know their password."""
    return cl.User(identifier=name) if PASSWORDS.get(name) == password else None


@cl.on_chat_start
async def begin() -> None:
    """Build an agent for a new conversation."""
    # The user comes from the sign-in, never from the browser or the model.
    user_id = cl.user_session.get("user").identifier
    builder = UIAgentBuilder(user_id, cl.context.session.thread_id, get_data_layer())
    cl.user_session.set("agent", builder.build_agent())


@cl.on_chat_resume
async def resume(_: ThreadDict) -> None:
    """Build it again for an older conversation; Chainlit has read the state back into the session."""
    await begin()
    state = cl.user_session.get("state")
    if state:
        await cl.user_session.get("agent").load_state(state)


@cl.on_message
async def answer(message: cl.Message) -> None:
    """Let the agent answer, and keep its state with the conversation."""
    agent = cl.user_session.get("agent")
    result = await agent.run(task=message.content)
    await cl.Message(result.messages[-1].content).send()
    state = dict(await agent.save_state())
    cl.user_session.set("state", state)
    # Chainlit keeps the session's values when the browser disconnects; a crash must lose nothing.
    thread_id = cl.context.session.thread_id
    await get_data_layer().update_thread(thread_id, metadata={"state": state})
