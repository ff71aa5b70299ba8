"""The contract of hosts: every host sends its model the prompts of the reference host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from examples import examples
from hosts import AgentFrameworkHost, AutoGenHost, LangChainHost
from memory_context.testing.host_contract import ConversationHostContract
from memory_context.testing.reference_host import ReferenceHost
from memory_context.testing.scripted_turns import ConversationHost, HostStart


class HostContract(ConversationHostContract):
    """The contract on fewer examples than properties have: each is a conversation of many turns, held twice."""

    examples = examples(50).max_examples


class TestReferenceHost(ConversationHostContract):
    """Two reference hosts side by side: nothing depends on chance."""

    examples = examples(10).max_examples

    def host(self, start: HostStart) -> ConversationHost:
        """A second one."""
        return ReferenceHost(start)


class TestMemoryContext(HostContract):
    """AutoGen's context."""

    def host(self, start: HostStart) -> ConversationHost:
        """A context."""
        return AutoGenHost(start)


class TestMiddleware(HostContract):
    """LangChain's middleware at top level."""

    def host(self, start: HostStart) -> ConversationHost:
        """An agent."""
        return LangChainHost(start, "invoke")


@pytest.mark.long
class TestMiddlewareAsync(HostContract):
    """LangChain's middleware at top level, asynchronously."""

    def host(self, start: HostStart) -> ConversationHost:
        """An agent."""
        return LangChainHost(start, "ainvoke")


@pytest.mark.long
class TestMiddlewareInParentGraph(HostContract):
    """LangChain's middleware in an agent that is a node of a parent graph."""

    def host(self, start: HostStart) -> ConversationHost:
        """A parent graph."""
        return LangChainHost(start, "invoke", in_parent=True)


class TestProvider(HostContract):
    """Agent Framework's provider."""

    def host(self, start: HostStart) -> ConversationHost:
        """An agent."""
        return AgentFrameworkHost(start)


@pytest.mark.long
def test_recordings_in_a_relative_folder(tmp_path: Path) -> None:
    """A folder of recordings is found from where pytest was started, wherever fixtures have gone."""
    run = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi."}]}
    (tmp_path / "runs.jsonl").write_text(json.dumps(run), "utf-8")
    here = Path(__file__).parents[1]
    folder = os.path.relpath(tmp_path, here)
    chosen = ["tests/test_host_contract.py", "-k", "TestReferenceHost and recorded"]
    command = [sys.executable, "-m", "pytest", *chosen, "--recordings", folder]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout


@pytest.mark.long
def test_the_contract_of_a_host_of_ones_own(tmp_path: Path) -> None:
    """It needs no settings of hypothesis and no recordings: elsewhere, each example has a fifth of a second."""
    program = """
        from memory_context.testing import ConversationHostContract, ReferenceHost

        class TestMine(ConversationHostContract):
            examples = 2

            def host(self, start):
                return ReferenceHost(start)
        """
    (tmp_path / "test_mine.py").write_text(dedent(program), "utf-8")
    command = [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed, 1 skipped" in done.stdout
