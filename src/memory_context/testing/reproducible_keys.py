"""Generate the same keys in every run of a test, a documentation page or a notebook."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from random import Random

from memory_context.model import generated_keys


@contextmanager
def seeded_keys(seed: int = 0) -> Generator[None]:
    """Generate the same keys in every run, in the whole process: for every host, manager and thread.

    Storing in the same order with the same seed gives the same keys. A manager with its own `key_source` is not affected.
    Only for tests and examples: whoever knows the seed knows the keys. Therefore, while keys are seeded, a tool does not
    get the text behind a key that only another agent's message names.

    Args:
        seed: The seed of the sequence.
    """
    before = generated_keys.process_source
    generated_keys.process_source = Random(seed)  # noqa: S311 - repeatable on purpose
    try:
        yield
    finally:
        generated_keys.process_source = before
