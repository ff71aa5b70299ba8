"""Tiers in the configuration of a component."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel

from memory_context.exceptions import NotSerializableError
from memory_context.model.tier import Lifetime, TierPolicy


class TierConfig(BaseModel):
    """A tier without callables."""

    name: str
    max_chars: int | None = None
    max_items: int | None = None
    lifetime: Lifetime
    auto_include: bool = False
    evict: float = 0.0


def dumped_tiers(policies: Iterable[TierPolicy]) -> list[TierConfig]:
    """What `policies` can be loaded from.

    Raises:
        NotSerializableError: One of them asks or checks by a callable.
    """
    return [_dumped(policy) for policy in policies]


def _dumped(policy: TierPolicy) -> TierConfig:
    if policy.confirm is not None or policy.validate is not None:
        message = f"the tier {policy.name!r} cannot be written down: it has a confirm or a validate of its own"
        raise NotSerializableError(message)
    return TierConfig(**{name: getattr(policy, name) for name in TierConfig.model_fields})


def loaded_tiers(configs: Iterable[TierConfig]) -> list[TierPolicy]:
    """The tiers that were dumped."""
    return [
        TierPolicy(**{name: getattr(config, name) for name in TierConfig.model_fields})
        for config in configs
    ]
