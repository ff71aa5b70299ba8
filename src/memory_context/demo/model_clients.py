"""The demo's model: a script that reads its answers off the prompt, or a real model."""

from __future__ import annotations

import csv
import json
import os
import re
import warnings
from collections.abc import Sequence
from typing import Any

from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, LLMMessage, ModelFamily, ModelInfo

from memory_context.autogen.messages import texts_of
from memory_context.demo.machine_tools import TOOL_NAMES
from memory_context.exceptions import InvalidArgumentError, MissingDependencyError
from memory_context.model.reference import MemoryRef
from memory_context.model.tool_names import QUERY, RETRIEVE
from memory_context.testing import ScriptedChatClient

FAILED_CASE = "14-weeks"
_LARGEST = (
    "SELECT f.package, sum(f.bytes) AS bytes, count(*) AS files, p.summary FROM {files} f "
    "JOIN {packages} p ON lower(p.name) = lower(f.package) "
    "GROUP BY f.package, p.summary ORDER BY bytes DESC LIMIT 3"
)
# Lines that were read on by a pattern stand behind their numbers.
_QUOTES = (
    (r"^(?:\d+: )?(E +AssertionError: 14-weeks: .*)", "It fails with\n    {}"),
    (r"^(?:\d+: )?> +(.*)", "raised by\n    {}"),
    (
        r"^(?:\d+: )?INFO .* 14-weeks: (.*)",
        "The log says of a week: {}. That is a week of five days.",
    ),
)


def scripted_client() -> ScriptedChatClient:
    """Return a model that calls each tool, sums up, reads on, explains, and computes."""
    calls = [[FunctionCall(name, "{}", name)] for name in TOOL_NAMES]
    return ScriptedChatClient([*calls, _sum_up, _read_on, _explain, _compute, _conclude])


def real_client(model: str, base_url: str | None) -> ChatCompletionClient:
    """Return a client for *model*, at its provider or at the OpenAI-compatible server *base_url*.

    Raises:
        InvalidArgumentError: There is no key for it in the environment, and no server is named.
        MissingDependencyError: autogen-ext[openai] is not installed.
    """
    try:
        from autogen_ext.models.openai import OpenAIChatCompletionClient  # noqa: PLC0415 - an extra
        from openai import OpenAIError  # noqa: PLC0415
    except ImportError as error:
        message = f"--model needs autogen-ext[openai] ({error}): pip install 'memory-context[demo]'"
        raise MissingDependencyError(message) from error
    # Other servers name the model and the reason for stopping differently from OpenAI.
    warnings.filterwarnings("ignore", "(Resolved model|Finish reason) mismatch")
    settings: dict[str, Any] = {"model": model}
    if base_url:
        settings["base_url"] = base_url
        # A server of one's own often has no keys, but the client insists on one, and it asks what
        # models can do that it does not know.
        settings["api_key"] = os.environ.get("OPENAI_API_KEY") or "none"
        settings["model_info"] = ModelInfo(
            vision=False,
            function_calling=True,
            json_output=False,
            structured_output=False,
            family=ModelFamily.UNKNOWN,
        )
    try:
        return OpenAIChatCompletionClient(**settings)
    except (OpenAIError, ValueError) as error:  # no key, or a model that autogen-ext does not know
        message = (
            f"--model {model} needs a known name and a key in the environment (OPENAI_API_KEY, GEMINI_API_KEY, "
            "ANTHROPIC_API_KEY or LLAMA_API_KEY), or an OpenAI-compatible server: --base-url URL"
        )
        raise InvalidArgumentError(message) from error


def _sum_up(messages: Sequence[LLMMessage]) -> str:
    """Say what the outputs are, by their references."""
    refs = {ref.key: ref for ref in MemoryRef.find_all(_all_text(messages)) if ref.tokens}
    tokens = sum(ref.tokens or 0 for ref in refs.values())
    summary = f"The {len(refs)} outputs have {tokens:,} tokens:"
    for ref in refs.values():
        summary += f"\n- {ref.key}: {ref.description}"
    return summary


def _read_on(messages: Sequence[LLMMessage]) -> list[FunctionCall]:
    """Ask the memory that was recalled for every line about the failed case."""
    recalled = MemoryRef.find_all(_all_text(messages))[-1]
    arguments = json.dumps({"key": recalled.key, "pattern": FAILED_CASE})
    return [FunctionCall("read_on", arguments, RETRIEVE)]


def _explain(messages: Sequence[LLMMessage]) -> str:
    """Quote the assertion, the line that raises it, and what was logged, each as it stands in the prompt."""
    prompt = _all_text(messages)
    answer = list[str]()
    for pattern, sentence in _QUOTES:
        if quote := re.search(pattern, prompt, re.MULTILINE):
            answer.append(sentence.format(quote[1]))
    return "\n".join(answer) or "I could not find it in the output."


def _compute(messages: Sequence[LLMMessage]) -> list[FunctionCall]:
    """Join two of the outputs by a query."""
    keys = {ref.key.rpartition("_")[0]: ref.key for ref in MemoryRef.find_all(_all_text(messages))}
    sql = _LARGEST.format(files=keys["file_sizes"], packages=keys["installed_packages"])
    return [FunctionCall("compute", json.dumps({"sql": sql, "save_as": ""}), QUERY)]


def _conclude(messages: Sequence[LLMMessage]) -> str:
    """Say which package is the largest, from the answer's first row."""
    rows = csv.reader(texts_of(messages[-1])[-1].splitlines()[1:])
    names, first = next(rows), next(rows)
    told = dict(zip(names, first, strict=True))
    return f"{told['package']}: {int(told['bytes']):,} bytes in {told['files']} files. {told['summary']}"


def _all_text(messages: Sequence[LLMMessage]) -> str:
    texts = list[str]()
    for message in messages:
        texts.extend(texts_of(message))
    return "\n".join(texts)
