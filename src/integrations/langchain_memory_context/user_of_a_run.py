"""Find the user of a run. What the program or the server says takes precedence over what the run's caller says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from memory_context.exceptions import InvalidScopeError
from memory_context.model.scope import UserId

RunUser: TypeAlias = UserId | Callable[[Runtime[Any]], UserId | None] | None

# The setting in which LangGraph's server puts the id of the authenticated user.
SIGNED_IN = "langgraph_auth_user_id"


def user_of_run(user_id: RunUser) -> UserId:
    """Return the user of the current run: *user_id*, or its result for the run if it is a callable.

    If *user_id* is None, it is the user whom LangGraph's server has authenticated, else the one that the run names.

    Raises:
        InvalidScopeError: No user is given.
    """
    if user_id is not None and not callable(user_id):
        return user_id
    try:
        runtime = get_runtime()
    except RuntimeError as error:
        raise InvalidScopeError(
            "no user is named, and there is no run that could name one: give user_id="
        ) from error
    if callable(user_id):
        found = user_id(runtime)
    else:
        found = get_config().get("configurable", {}).get(SIGNED_IN)
        if found is None:
            found = setting_of_run("user_id")
    if found is None:
        raise InvalidScopeError(
            'no user is named: give user_id=, or name one in the run\'s context or its config["configurable"]'
        )
    return found


def setting_of_run(name: str) -> Any:  # noqa: ANN401 - whatever a caller gives
    """Return a setting of the current run, from its context, else from its configuration."""
    value = named(getattr(get_runtime(), "context", None), name)
    if value is None:
        return get_config().get("configurable", {}).get(name)
    return value


def named(place: Any, name: str) -> Any:  # noqa: ANN401 - contexts and states are dicts, dataclasses, pydantic models
    """Return the value under *name* in a mapping or an object; None if there is none."""
    if isinstance(place, Mapping):
        return cast("Mapping[str, Any]", place).get(name)
    return getattr(place, name, None)
