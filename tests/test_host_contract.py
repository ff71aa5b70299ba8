"""The contract of hosts: every host sends its model the prompts of the reference host."""

from __future__ import annotations

from examples import examples
from hosts import AgentFrameworkHost, AutoGenHost, LangChainHost
from memory_context.testing.host_contract import ConversationHostContract
from memory_context.testing.reference_host import ReferenceHost
from memory_context.testing.scripted_turns import ConversationHost, HostStart

# Each of them is a conversation of many turns, held twice.
CONVERSATIONS = examples(50).max_examples


class TestReferenceHost(ConversationHostContract):
    """Two reference hosts side by side: nothing depends on chance."""

    examples = examples(10).max_examples

    def host(self, start: HostStart) -> ConversationHost:
        """A second one."""
        return ReferenceHost(start)


class TestMemoryContext(ConversationHostContract):
    """AutoGen's context."""

    examples = CONVERSATIONS

    def host(self, start: HostStart) -> ConversationHost:
        """A context."""
        return AutoGenHost(start)


class TestMiddleware(ConversationHostContract):
    """LangChain's middleware at top level."""

    examples = CONVERSATIONS

    def host(self, start: HostStart) -> ConversationHost:
        """An agent."""
        return LangChainHost(start, "invoke")


class TestMiddlewareAsync(ConversationHostContract):
    """LangChain's middleware at top level, asynchronously."""

    examples = CONVERSATIONS

    def host(self, start: HostStart) -> ConversationHost:
        """An agent."""
        return LangChainHost(start, "ainvoke")


class TestMiddlewareInParentGraph(ConversationHostContract):
    """LangChain's middleware in an agent that is a node of a parent graph."""

    examples = CONVERSATIONS

    def host(self, start: HostStart) -> ConversationHost:
        """A parent graph."""
        return LangChainHost(start, "invoke", in_parent=True)


class TestProvider(ConversationHostContract):
    """Agent Framework's provider."""

    examples = CONVERSATIONS

    def host(self, start: HostStart) -> ConversationHost:
        """An agent."""
        return AgentFrameworkHost(start)
