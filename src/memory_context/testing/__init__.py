"""Fakes and checks for tests of agents and stores; memory-context itself is tested with them.

`ScriptedChatClient` and `check_prompt` need AutoGen, `ScriptedFrameworkClient` Agent Framework, `MemoryStoreContract`
needs pytest, `ConversationHostContract` hypothesis too; each is loaded when it is first used.
"""

from __future__ import annotations

import pkgutil
import sys
from typing import TYPE_CHECKING

from memory_context.runtime.lazy_names import lazy_names

if TYPE_CHECKING:
    from memory_context.testing.autogen_prompt_rules import PromptError, check_prompt
    from memory_context.testing.faulty_store import Fault, FaultyStore, Injected, random_faults
    from memory_context.testing.host_contract import ConversationHostContract
    from memory_context.testing.reference_host import ReferenceHost
    from memory_context.testing.reproducible_keys import seeded_keys
    from memory_context.testing.scripted_agent_framework_client import ScriptedFrameworkClient
    from memory_context.testing.scripted_autogen_client import ScriptedChatClient
    from memory_context.testing.scripted_openai_server import ScriptedProvider, calling
    from memory_context.testing.scripted_turns import (
        ConversationHost,
        HostStart,
        ScriptedReply,
        ScriptedResult,
        ScriptedTurn,
    )
    from memory_context.testing.store_contract import MemoryStoreContract

__all__ = [
    "ConversationHost",
    "ConversationHostContract",
    "Fault",
    "FaultyStore",
    "HostStart",
    "Injected",
    "MemoryStoreContract",
    "PromptError",
    "ReferenceHost",
    "ScriptedChatClient",
    "ScriptedFrameworkClient",
    "ScriptedProvider",
    "ScriptedReply",
    "ScriptedResult",
    "ScriptedTurn",
    "calling",
    "check_prompt",
    "random_faults",
    "seeded_keys",
]

_HOMES = {
    "ConversationHost": "scripted_turns",
    "ConversationHostContract": "host_contract",
    "Fault": "faulty_store",
    "FaultyStore": "faulty_store",
    "HostStart": "scripted_turns",
    "Injected": "faulty_store",
    "MemoryStoreContract": "store_contract",
    "PromptError": "autogen_prompt_rules",
    "ReferenceHost": "reference_host",
    "ScriptedChatClient": "scripted_autogen_client",
    "ScriptedFrameworkClient": "scripted_agent_framework_client",
    "ScriptedProvider": "scripted_openai_server",
    "ScriptedReply": "scripted_turns",
    "ScriptedResult": "scripted_turns",
    "ScriptedTurn": "scripted_turns",
    "calling": "scripted_openai_server",
    "check_prompt": "autogen_prompt_rules",
    "random_faults": "faulty_store",
    "seeded_keys": "reproducible_keys",
}

if "pytest" in sys.modules:
    # A failing contract then shows the values that it compared, as a test of one's own does.
    sys.modules["pytest"].register_assert_rewrite(
        *[module.name for module in pkgutil.iter_modules(__path__, f"{__name__}.")]
    )


__getattr__ = lazy_names(__name__, _HOMES)
