"""A local server of OpenAI's chat completions API that answers by a script and refuses what OpenAI refuses."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

from memory_context.replay.recording_as_messages import to_messages
from memory_context.testing.calls_paired_with_results import call_errors

Wire: TypeAlias = dict[str, Any]

_NAME = re.compile(r"[^\s<|\\/>]+")


class ScriptedProvider(ThreadingHTTPServer):
    """Answers the requests of a framework's own OpenAI client, streamed or not: ``with ScriptedProvider([…]) as provider``.

    Attributes:
        script: The messages that it answers with, each as in OpenAI's API, without its role: a text under ``content``,
            ``tool_calls``, or both. `calling` makes such a message.
        asked: The requests so far, including refused ones.
        refused: The reasons why requests were refused.
        is_strict: Whether tools that are not strict are refused, as OpenAI does if an answer is parsed by a schema.
    """

    daemon_threads = True

    def __init__(self, script: Sequence[Wire] = (), *, is_strict: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.script = list(script)
        self.asked = list[Wire]()
        self.refused = list[str]()
        self.is_strict = is_strict

    @property
    def url(self) -> str:
        """Return the URL that a client is given as ``base_url``."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> Self:
        """Answer requests, in a thread, from now on."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more requests."""
        self.shutdown()
        self.server_close()

    def answer(self, request: Wire) -> Wire | None:
        """Return the next message of the script; None if the request is refused."""
        self.asked.append(request)
        problem = problem_of_messages(request["messages"])
        if self.is_strict:
            for tool in request.get("tools", ()):
                problem = problem or problem_of_strict_tool(tool)
        if not self.script:
            problem = problem or "the script has no further message"
        if problem:
            self.refused.append(problem)
            return None
        message = self.script.pop(0)
        return {"role": "assistant", "content": None, **message}


def calling(name: str, call_id: str, **arguments: Any) -> Wire:  # noqa: ANN401 - whatever a tool takes
    """Return a message for a script that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    return {"tool_calls": [call]}


def problem_of_messages(messages: Sequence[Wire]) -> str | None:
    """Return why OpenAI refuses *messages*; None if it accepts them."""
    for index, message in enumerate(messages):
        here = f"messages[{index}]"
        if message.get("content") is None and not message.get("tool_calls"):
            return f"{here}: content is required"
        if not _NAME.fullmatch(message.get("name") or "unnamed"):
            return f"{here}.name does not match {_NAME.pattern}"
    return next(call_errors(to_messages(messages)), None)


def problem_of_strict_tool(tool: Wire) -> str | None:
    """Return why OpenAI refuses a tool as strict; None if it accepts it.

    See https://platform.openai.com/docs/guides/structured-outputs.
    """
    function = tool["function"]
    tool_name = function["name"]
    parameters = function["parameters"]
    arguments = parameters["properties"]
    if not function.get("strict"):
        return f"{tool_name} is not strict"
    if parameters.get("additionalProperties") is not False:
        return f"{tool_name}: additionalProperties is required to be false"
    if set(parameters["required"]) != arguments.keys():
        return f"{tool_name}: required is required to include every key"
    for name, argument in arguments.items():
        kind = argument.get("type", "object")
        if kind == "object" or "default" in argument:
            return f"{tool_name}: {name} is not permitted"
    return None


class _Completions(BaseHTTPRequestHandler):
    server: ScriptedProvider  # pyright: ignore[reportIncompatibleVariableOverride] # whose handler this is

    def do_POST(self) -> None:
        """Answer a request."""
        length = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(length))
        model = request["model"]
        message = self.server.answer(request)
        if message is None:
            error = {"message": self.server.refused[-1]}
            self._send_json(400, {"error": error})
        elif request.get("stream"):
            chunks = map(json.dumps, _chunks(message, model))
            events = [f"data: {data}\n\n" for data in (*chunks, "[DONE]")]
            self._send(200, "text/event-stream", "".join(events))
        else:
            choice = {"index": 0, "message": message, "finish_reason": _reason(message)}
            self._send_json(200, _completion("chat.completion", model, choice))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Print nothing."""

    def _send_json(self, status: int, value: Wire) -> None:
        self._send(status, "application/json", json.dumps(value))

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _completion(kind: str, model: str, choice: Wire) -> Wire:
    return {
        "id": "scripted",
        "object": kind,
        "created": 1,
        "model": model,
        "choices": [choice],
    }


def _reason(message: Mapping[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _chunks(message: Wire, model: str) -> Iterator[Wire]:
    """Yield the chunks of *message* in a stream: its text, each call, and the reason why it ends."""
    deltas: list[Wire] = [{"role": "assistant", "content": message["content"]}]
    for index, call in enumerate(message.get("tool_calls") or ()):
        deltas.append({"tool_calls": [{"index": index, **call}]})
    for delta in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        yield _completion("chat.completion.chunk", model, choice)
    end = {"index": 0, "delta": Wire(), "finish_reason": _reason(message)}
    yield _completion("chat.completion.chunk", model, end)
