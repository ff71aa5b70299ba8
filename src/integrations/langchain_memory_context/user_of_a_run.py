"""Whose a run is: what the program or the server says counts before what a client says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from memory_context.exceptions import InvalidScopeError
from memory_context.model.scope import UserId

RunUser: TypeAlias = UserId | Callable[[Runtime[Any]], UserId | None] | None

# What LangGraph's server tells of the user whom its authentication has found.
SIGNED_IN = "langgraph_auth_user_id"


def user_of_run(user_id: RunUser) -> UserId:
    """Return whose run goes on here: *user_id*, what that says of the run, or whom the run names.

    Raises:
        InvalidScopeError: Nobody says it.
    """
    if user_id is not None and not callable(user_id):
        return user_id
    try:
        runtime = get_runtime()
    except RuntimeError as error:
        raise InvalidScopeError(
            "whose memories? No run goes on here that could say it: give user_id= a user"
        ) from error
    if callable(user_id):
        told = user_id(runtime)
    else:
        signed_in = get_config().get("configurable", {}).get(SIGNED_IN)
        told = setting_of_run("user_id") if signed_in is None else signed_in
    if told is None:
        raise InvalidScopeError(
            'whose memories? Give user_id= here, or in the run\'s context or config["configurable"]'
        )
    return told


def setting_of_run(name: str) -> Any:  # noqa: ANN401 - whatever a caller gives
    """Return what a run says of itself, in its context or its configuration."""
    told = named(getattr(get_runtime(), "context", None), name)
    return get_config().get("configurable", {}).get(name) if told is None else told


def named(place: Any, name: str) -> Any:  # noqa: ANN401 - contexts and states are dicts, dataclasses, pydantic models
    """Return what stands in *place* under a name; None for nothing."""
    return (
        cast("Mapping[str, Any]", place).get(name)
        if isinstance(place, Mapping)
        else getattr(place, name, None)
    )
