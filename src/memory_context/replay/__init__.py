"""Measure, without a model, what a policy would have cost on recorded agent runs.

For each model call of a recording, the prompt that a policy would have sent is built and measured: its tokens, what a
provider would charge for it, and how many of the values that the recorded model used next are still in it. `Comparing`
replays recordings through several policies, and compares the figures.
"""

from memory_context.replay.comparison import Comparing, Result, Results
from memory_context.replay.identifiers_needed_and_shown import identifiers, needed_values, squash
from memory_context.replay.policies_by_name import Policy, Replayed, default_policies, parse_policy
from memory_context.replay.prices import Price
from memory_context.replay.recording_as_messages import Recording
from memory_context.replay.recording_files import (
    parse_recording,
    read_recordings,
    stream_recordings,
)
from memory_context.replay.replay_one_policy import Figures
from memory_context.replay.token_meter import TokenMeter

__all__ = [
    "Comparing",
    "Figures",
    "Policy",
    "Price",
    "Recording",
    "Replayed",
    "Result",
    "Results",
    "TokenMeter",
    "default_policies",
    "identifiers",
    "needed_values",
    "parse_policy",
    "parse_recording",
    "read_recordings",
    "squash",
    "stream_recordings",
]
