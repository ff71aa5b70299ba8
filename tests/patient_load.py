"""`benchmarks/load.py` with time for a busy machine: its processes wait longer for a lock, and pause after no failure."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from memory_context.runtime import circuit_breaker
from patient import PATIENT

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
load = import_module("load")

if __name__ == "__main__":
    exec(PATIENT)
    circuit_breaker.SLOW_FAILURE = 3600
    load.__file__ = __file__  # what it starts processes with
    sys.exit(load.main())
