"""A plugin of pytest: every statement on every database comes late, by chance more or less."""

from __future__ import annotations

import random
import time

import sqlalchemy as sa

SECONDS = 0.003
_chance = random.Random(0)


def pytest_configure() -> None:
    """Slow this run down: not every run in which somebody imports this file."""
    sa.event.listen(sa.Engine, "before_cursor_execute", wait)


def wait(*_: object) -> None:
    """Let a statement wait."""
    time.sleep(_chance.uniform(0, SECONDS))
