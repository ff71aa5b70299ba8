"""An MCP server that does as it is told, without an SDK: so that it starts at once, and can do what no SDK does.

``python scripted_mcp_server.py NAME [RESULTS]``; RESULTS is a JSON file with results for the tool `recorded`, by number:
texts, or whole contents.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

NAME = sys.argv[1]
# Of a recorded run, by the tool's name; see benchmarks/wrapping.py.
RESULTS = json.loads(Path(sys.argv[2]).read_text("utf-8")) if len(sys.argv) > 2 else []
ROWS = [
    {"order": number, "owner": f"owner-{number % 7}", "total": number * 10} for number in range(200)
]
LARGE = "\n".join(
    f"2026-01-01 12:{number % 60:02} worker-{number} took {number} ms" for number in range(400)
)
PIXEL = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
LIST = {"type": "object", "properties": {"rows": {"type": "array"}}}
TOOLS = {
    "got": TEXT,
    "rows": LIST,
    "large": {},
    "parts": {},
    "orders": {},
    "image": {},
    "attached": {},
    "for_the_user": {},
    "wrong": {},
    "refused": {},
    "slow": {},
    "asks": {},
    "wait": {},
    "cancelled": {},
    "grow": {},
    "die": {},
    "deaf": {},
    "read_file": {},
    "retrieve_memory": {},
    "recorded": {},
    "odd": {},
}
cancelled = list[Any]()
answers = dict[Any, threading.Event]()
answered = dict[Any, dict[str, Any]]()
levels = list[str]()
numbers = itertools.count(1000)
writing = threading.Lock()
going_on = threading.Event()


def say(**message: Any) -> None:
    """Write a message."""
    with writing:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(value: str) -> dict[str, Any]:
    """A part of a result."""
    return {"type": "text", "text": value}


def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the client answers."""
    number = next(numbers)
    answers[number] = threading.Event()
    say(id=number, method=method, params=params)
    answers[number].wait()
    return answered[number]


def called(  # noqa: PLR0911, PLR0912 - a table of what it can do
    tool: str, arguments: dict[str, Any], params: dict[str, Any]
) -> dict[str, Any]:
    """The result of a tool."""
    match tool:
        case "got" | "rows":
            return {"content": [text(json.dumps(arguments))]}
        case "large" | "read_file" | "retrieve_memory":
            return {"content": [text(LARGE)], "_meta": {"trace": 7}}
        case "parts":
            return {"content": [*map(text, LARGE.split("\n")), PIXEL, text("the end")]}
        case "orders":
            return {
                "content": [text(json.dumps({"rows": ROWS}))],
                "structuredContent": {"rows": ROWS},
            }
        case "image":
            return {"content": [PIXEL]}
        case "attached":
            resource = {"uri": "demo://log", "mimeType": "text/x-log", "text": LARGE}
            return {
                "content": [{"type": "resource", "resource": resource}],
                "structuredContent": {"lines": 400},
            }
        case "for_the_user":
            return {"content": [{**text(LARGE), "annotations": {"audience": ["user"]}}]}
        case "wrong":
            return {"content": [text("no such order")], "isError": True}
        case "slow":
            token = params["_meta"]["progressToken"]
            for step in (1, 2):
                say(
                    method="notifications/progress",
                    params={"progressToken": token, "progress": step},
                )
            say(method="notifications/message", params={"level": "info", "data": "half way"})
            return {"content": [text("done")]}
        case "asks":
            request = {"messages": [], "maxTokens": 5}
            return {"content": [text(json.dumps(ask(arguments["method"], request)))]}
        case "cancelled":
            return {"content": [text(json.dumps(cancelled))]}
        case "grow":
            TOOLS["grown"] = {}
            say(method="notifications/tools/list_changed")
            return {"content": [text("grown")]}
        case "grown":
            return {"content": [text("grown up")]}
        case "die":
            os._exit(3)
        case "deaf" | "wait":
            say(method="notifications/message", params={"level": "info", "data": "waiting"})
            going_on.wait()
        case "recorded":
            recorded = RESULTS[arguments["number"]]
            return {"content": [text(recorded)] if isinstance(recorded, str) else recorded}
    raise LookupError(tool)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:  # noqa: PLR0911, PLR0912 - as above
    """The result of a request."""
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {
                    "tools": {"listChanged": True},
                    "prompts": {},
                    "resources": {"subscribe": True},
                    "logging": {},
                    "completions": {},
                    "experimental": {NAME: {"seen": params["capabilities"]}},
                },
                "serverInfo": {"name": NAME, "version": "1"},
                "instructions": f"This is {NAME}.",
            }
        case "tools/list":
            names = [*TOOLS]
            start = int(params.get("cursor", 0))
            page = [
                {
                    "name": name,
                    "inputSchema": TOOLS[name] or {"type": "object"},
                    "title": name.title(),
                }
                for name in names[start : start + 7]
            ]
            for tool in page:
                if tool["name"] == "orders":
                    tool["outputSchema"] = LIST
            following = {"nextCursor": str(start + 7)} if start + 7 < len(names) else {}
            return {"tools": page, **following}
        case "tools/call":
            return called(params["name"], params.get("arguments", {}), params)
        case "prompts/list":
            return {"prompts": [{"name": "greet"}]}
        case "prompts/get":
            return {"messages": [{"role": "user", "content": text(f"{params['name']} {NAME}")}]}
        case "resources/list":
            start = int(params.get("cursor", 0))
            following = {"nextCursor": str(start + 1)} if start < 2 else {}
            return {"resources": [{"uri": f"{NAME}://{start}", "name": str(start)}], **following}
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": f"{NAME}://{{id}}", "name": "all"}]}
        case "resources/read" if params["uri"].startswith(f"{NAME}://"):
            return {"contents": [{"uri": params["uri"], "text": f"read {params['uri']} of {NAME}"}]}
        case "completion/complete":
            return {"completion": {"values": [json.dumps(params["ref"])]}}
        case "logging/setLevel":
            levels.append(params["level"])
            return {}
        case "demo/levels":
            return {"levels": levels}
    raise LookupError(method)


def serve(message: dict[str, Any]) -> None:
    """Answer a request."""
    if message["method"] == "tools/call" and message["params"]["name"] == "refused":
        error = {"code": -32042, "message": "not today", "data": {"until": "tomorrow"}}
        return say(id=message["id"], error=error)
    if message["method"] == "tools/call" and message["params"]["name"] == "odd":
        for one in message["params"]["arguments"]["says"]:
            if "prints" in one:
                print(one["prints"], flush=True)
                continue
            # "same" and "float" stand for the id of the request, which the test does not know.
            ids = {"same": message["id"], "float": float(message["id"])}
            say(**{**one, "id": ids.get(one["id"], one["id"])})
            if one["id"] == "ping":
                answers.setdefault("ping", threading.Event()).wait()
        return None
    try:
        result = answer(message["method"], message.get("params", {}))
    except LookupError as error:
        return say(id=message["id"], error={"code": -32602, "message": f"{NAME} has no {error}"})
    return say(id=message["id"], result=result)


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        answered[message["id"]] = message.get("result", message.get("error"))
        answers.setdefault(message["id"], threading.Event()).set()
    elif "id" in message:
        threading.Thread(target=serve, args=(message,), daemon=True).start()
    elif message["method"] == "notifications/cancelled":
        cancelled.append(message["params"]["requestId"])
