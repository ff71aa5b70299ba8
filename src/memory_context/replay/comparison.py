"""Compare policies on the same runs. Each run is replayed through all policies before the next run is read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from statistics import median

from memory_context.replay.needed_values_of_each_call import needs_by_call
from memory_context.replay.policies_by_name import Policy, is_ours, parse_policy, reference_policy
from memory_context.replay.prices import Price
from memory_context.replay.recording_as_messages import Recording
from memory_context.replay.replay_one_policy import Figures, replay, summed
from memory_context.replay.token_meter import TokenMeter


def _share(part: float, total: float) -> float:
    if not total:
        # Where no value was needed, none was lost.
        return 1.0
    return part / total


def _median_peak(figures: Figures, base: Figures) -> float:
    """Return the median, over the runs, of the largest prompt as a share of the largest prompt under `base`."""
    if not figures.peaks:
        return 1.0
    shares = map(_share, figures.peaks, base.peaks)
    return median(shares)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one policy.

    Attributes:
        policy: Its name.
        figures: Its figures.
        unbounded: The figures of the unbounded context.
        reference: The figures of "reference only".
        mean: The mean tokens of the prompts of first calls, of second calls, and so on, each over the runs that have that
            call.
    """

    policy: str
    figures: Figures
    unbounded: Figures
    reference: Figures
    mean: tuple[float, ...] = ()

    @property
    def shares(self) -> dict[str, float]:
        """Return the figures as shares, in the order of a report's columns.

        Tokens, costs and peaks are shares of the unbounded context's, or of those of "reference only". `named` and
        `visible` are shares of the values that the model used and that were only in earlier outputs.
        """
        ours = self.figures
        full = self.unbounded
        return {
            "tokens": _share(ours.tokens, full.tokens),
            "cost": _share(ours.cost, full.cost),
            "all_counted": _share(ours.all_counted, full.all_counted),
            "peak": _median_peak(ours, full),
            "peak_of_reference": _median_peak(ours, self.reference),
            "named": _share(ours.named, ours.needed),
            "visible": _share(ours.visible, ours.needed),
        }


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """The result of this library's policy in one run, call by call.

    Attributes:
        id: The id of the run.
        unbounded: The figures of the unbounded context, for each model call.
        ours: The figures of the policy, for each model call.
    """

    id: str
    unbounded: tuple[Figures, ...]
    ours: tuple[Figures, ...]

    @property
    def share(self) -> float:
        """Return the policy's cost, including its tools, as a share of the unbounded context's."""
        return _share(summed(self.ours).all_counted, summed(self.unbounded).all_counted)

    @property
    def trips(self) -> int:
        """Return how many calls needed a value from behind a reference."""
        return summed(self.ours).trips

    @property
    def lost(self) -> int:
        """Return how many needed values could not be brought back."""
        return summed(self.ours).lost


WORST = 5
"""How many runs are kept call by call."""


@dataclass(frozen=True, slots=True)
class Results:
    """The results of all policies on the same runs.

    Attributes:
        policies: A result for each requested policy.
        unbounded: The figures of the unbounded context.
        runs: How many runs were replayed through all policies.
        reached: How many of the runs have a first model call, a second, and so on.
        worst: The worst runs of this library's first policy: by lost values, then by trips, then by cost.
    """

    policies: tuple[Result, ...]
    unbounded: Figures
    runs: int
    reached: tuple[int, ...]
    worst: tuple[ReplayedRun, ...] = ()

    @property
    def ours(self) -> Result | None:
        """Return the result of this library's first policy; None if there is none."""
        return next((result for result in self.policies if is_ours(result.policy)), None)


@dataclass(slots=True)
class _Tally:
    """The figures of one policy so far: sums over the runs, the peak of each run, and the tokens by number of the call."""

    figures: Figures = field(default_factory=Figures)
    tokens_by_call: Counter[int] = field(default_factory=Counter[int])

    def add(self, calls: Sequence[Figures]) -> None:
        """Add the figures of a run's model calls."""
        self.figures += summed(calls)
        self.tokens_by_call.update({number: call.tokens for number, call in enumerate(calls)})


@dataclass(slots=True, eq=False)
class Comparing:
    """Replays runs through policies and the two they are compared with; keeps the figures, not the texts of runs."""

    policies: Sequence[Policy]
    meter: TokenMeter
    threshold: int = 500
    price: Price = field(default_factory=Price)
    runs: int = 0
    _reached: Counter[int] = field(default_factory=Counter[int])
    _tallies: dict[str, _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    _worst: list[ReplayedRun] = field(default_factory=list[ReplayedRun])

    @property
    def all_policies(self) -> list[Policy]:
        """Return all policies that are replayed, each once."""
        by_name = {policy.name: policy for policy in (*self._bases(), *self.policies)}
        return list(by_name.values())

    async def add(self, recording: Recording) -> None:
        """Replay `recording` through every policy. If the replay is interrupted, no policy counts the recording."""
        meter = TokenMeter(self.meter.counter)
        needs = needs_by_call(recording.messages, meter)
        calls_of = dict[str, list[Figures]]()
        for policy in self.all_policies:
            calls_of[policy.name] = await replay(recording, needs, policy, meter, self.price)

        self.runs += 1
        self._reached.update(range(len(needs)))
        for name, calls in calls_of.items():
            self._tallies[name].add(calls)
        ours = next((policy.name for policy in self.policies if is_ours(policy.name)), None)
        if ours and needs:
            unbounded, _ = self._bases()
            run = ReplayedRun(recording.id, tuple(calls_of[unbounded.name]), tuple(calls_of[ours]))
            self._worst.append(run)
            self._worst.sort(key=attrgetter("lost", "trips", "share"), reverse=True)
            del self._worst[WORST:]

    def results(self) -> Results:
        """Return the results of the runs so far."""
        unbounded, reference = (self._tallies[policy.name].figures for policy in self._bases())
        results = dict[str, Result]()
        for policy in self.policies:
            tally = self._tallies[policy.name]
            sums = tally.tokens_by_call
            means = tuple(sums[number] / runs for number, runs in self._reached.items())
            results[policy.name] = Result(policy.name, tally.figures, unbounded, reference, means)
        policies = tuple(results.values())
        return Results(
            policies, unbounded, self.runs, tuple(self._reached.values()), tuple(self._worst)
        )

    def _bases(self) -> tuple[Policy, Policy]:
        return parse_policy("unbounded"), reference_policy(self.threshold)
