"""The words by which a text reports an error, and where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_FAULTS = "error failed failure fatal exception traceback panic denied refused undefined"
FAULTS = _FAULTS.split()


def places_of_faults(places_of: Mapping[str, Iterable[int]]) -> list[int]:
    """Return the places where a text reports an error, in order, given the places of each word."""
    places = set[int]()
    for fault in FAULTS:
        places.update(places_of.get(fault, ()))
    return sorted(places)
