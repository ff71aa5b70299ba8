"""Keys that are the same in every run of a test, a page or a notebook."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from random import Random

from memory_context.model import generated_keys


@contextmanager
def seeded_keys(seed: int = 0) -> Generator[None]:
    """Generate the same keys in every run, for all of this process: every host, manager and thread.

    The same seed and the same order of stores give the same keys. A manager with a `key_source` of
    its own keeps it. Only for tests and examples: who knows the seed knows the keys, and
    so tools get no text whose key stands in another agent's words alone.

    Args:
        seed: Begins the sequence.
    """
    before = generated_keys.process_source
    generated_keys.process_source = Random(seed)  # noqa: S311 - repeatable on purpose
    try:
        yield
    finally:
        generated_keys.process_source = before
