"""The model of the demo: the script, or a real one."""

from __future__ import annotations

import os
import warnings
from typing import Any

from autogen_core.models import ChatCompletionClient, ModelFamily, ModelInfo

from memory_context.exceptions import InvalidArgumentError, MissingDependencyError

KEYS = {"gemini-": "GEMINI_API_KEY", "claude-": "ANTHROPIC_API_KEY", "Llama-": "LLAMA_API_KEY"}
DEFAULT_KEY = "OPENAI_API_KEY"

_INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    structured_output=False,
    family=ModelFamily.UNKNOWN,
    multiple_system_messages=False,
)


def real_client(model: str, base_url: str | None) -> ChatCompletionClient:
    """A client for `model`, at OpenAI or at the OpenAI-compatible server `base_url`.

    Raises:
        InvalidArgumentError: There is no key for it in the environment, and no server is named.
        MissingDependencyError: autogen-ext[openai] is not installed.
    """
    key = _key_for(model, base_url)
    warnings.filterwarnings(
        "ignore", "(Resolved model|Finish reason) mismatch"
    )  # other servers answer otherwise than OpenAI
    try:
        from autogen_ext.models.openai import OpenAIChatCompletionClient  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"--model needs autogen-ext[openai] ({error}): pip install 'memory-context[demo]'"
        raise MissingDependencyError(message) from error
    server: dict[str, Any] = {"base_url": base_url} if base_url else {}
    try:
        return OpenAIChatCompletionClient(model=model, api_key=key, **server)
    except ValueError:  # a model that autogen-ext does not know
        return OpenAIChatCompletionClient(model=model, api_key=key, model_info=_INFO, **server)


def _key_for(model: str, base_url: str | None) -> str:
    if base_url:
        return os.environ.get(DEFAULT_KEY) or "none"
    variable = next((name for start, name in KEYS.items() if model.startswith(start)), DEFAULT_KEY)
    if key := os.environ.get(variable):
        return key
    message = f"--model {model} needs a key: set {variable}, or name an OpenAI-compatible server with --base-url"
    raise InvalidArgumentError(message)
