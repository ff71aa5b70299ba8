"""How many examples a property is tried on: a share of what the profile in `conftest.py` asks for."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def examples(count: int, *suppressed: HealthCheck) -> settings:
    """Return settings for *count* examples in the long suite, and an eighth of them in the quick one."""
    profile = settings()
    return settings(
        max_examples=max(count * profile.max_examples // 100, 1),
        suppress_health_check=[*profile.suppress_health_check, *suppressed],
    )
