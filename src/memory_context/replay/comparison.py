"""Several policies on the same runs, each run replayed through all of them before the next is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from memory_context.replay.measure import Figures, replay, summed
from memory_context.replay.needs import needs_of
from memory_context.replay.policies import Policy, parse_policy, reference_policy
from memory_context.replay.prices import Price
from memory_context.replay.recordings import Recording
from memory_context.replay.token_meter import Meter


@dataclass(frozen=True, slots=True)
class Row:
    """A policy's figures beside those of others.

    Attributes:
        policy: Its name.
        tokens: Of its prompts, as a share of the unbounded context's.
        cost: As a share of the unbounded context's.
        peak_of_unbounded: The largest prompt of a run, as a share of the unbounded context's; the median over the runs.
        peak_of_reference: The same in relation to "reference only".
        needed: Values that the model used and that stood only in earlier outputs; the same for every policy.
        named: The share of them whose name stood in its prompts.
        visible: The share of them that stood in its prompts with neighbours.
        lost: Needed values that nothing could bring back.
        trips: Calls that needed a value from behind a reference.
        calls: Model calls; the same for every policy.
        seconds: The wall time that the policy took.
    """

    policy: str
    tokens: float
    cost: float
    peak_of_unbounded: float
    peak_of_reference: float
    needed: int
    named: float
    visible: float
    lost: int
    trips: int
    calls: int
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the figures of a policy are set against: the unbounded context, and references without a preview."""

    unbounded: Figures
    reference: Figures

    def row(self, policy: str, figures: Figures) -> Row:
        """The figures of `policy` as shares."""
        return Row(
            policy,
            tokens=_share(figures.tokens, self.unbounded.tokens),
            cost=_share(figures.cost, self.unbounded.cost),
            peak_of_unbounded=_peak(figures, self.unbounded),
            peak_of_reference=_peak(figures, self.reference),
            needed=figures.needed,
            named=_share(figures.named, figures.needed),
            visible=_share(figures.visible, figures.needed),
            lost=figures.lost,
            trips=figures.trips,
            calls=figures.calls,
            seconds=figures.seconds,
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _peak(figures: Figures, others: Figures) -> float:
    pairs = zip(figures.peaks, others.peaks, strict=True)
    return median(_share(own, other) for own, other in pairs) if figures.peaks else 1.0


@dataclass(frozen=True, slots=True)
class Result:
    """What a policy came to.

    Attributes:
        row: Its figures as shares.
        figures: Its figures as they are.
        mean: The tokens of its prompts by the number of the call in its run, the mean over the runs that have it.
        longest: The same of the longest run alone.
    """

    row: Row
    figures: Figures
    mean: tuple[float, ...]
    longest: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """What the policies came to on the same runs.

    Attributes:
        policies: A result for each policy that was asked for.
        runs: How many runs were replayed through all policies.
        reached: How many of them have a first model call, a second, and so on.
        longest: The id of the run with the most model calls; the first one of them, and empty without runs.
    """

    policies: tuple[Result, ...]
    runs: int
    reached: tuple[int, ...]
    longest: str

    @property
    def rows(self) -> list[Row]:
        """The figures as shares, a row for each policy."""
        return [one.row for one in self.policies]


@dataclass(slots=True)
class _Tally:
    """The figures of one policy so far, with room for many runs."""

    total: Figures = field(default_factory=Figures)
    peaks: list[int] = field(default_factory=list[int])
    by_call: list[int] = field(default_factory=list[int])
    longest: tuple[int, ...] = ()

    def add(self, calls: Sequence[Figures]) -> None:
        run = summed(calls)
        self.total += replace(run, peaks=())
        self.peaks += run.peaks
        self.by_call += [0] * (len(calls) - len(self.by_call))
        for number, call in enumerate(calls):
            self.by_call[number] += call.tokens
        if len(calls) > len(self.longest):
            self.longest = tuple(call.tokens for call in calls)

    def figures(self) -> Figures:
        return replace(self.total, peaks=tuple(self.peaks))


@dataclass(slots=True, eq=False)
class Comparing:
    """Runs on their way through policies, and the two that these are set against; nothing of a run is kept.

    Beyond some sums, what is kept of a run is one number for each policy: its peak.
    """

    policies: Sequence[Policy]
    meter: Meter
    threshold: int = 500
    price: Price = field(default_factory=Price)
    runs: int = 0
    _longest: str = ""
    _reached: list[int] = field(default_factory=list[int])
    _tallies: dict[str, _Tally] = field(default_factory=dict[str, _Tally])

    @property
    def all_policies(self) -> list[Policy]:
        """Those that are replayed, each once."""
        return list({one.name: one for one in (*self._bases(), *self.policies)}.values())

    async def add(
        self, recording: Recording, done: Callable[[int], None] = lambda _prompts: None
    ) -> None:
        """Replay `recording` through every policy. If that is cut short, it counts nowhere.

        Args:
            recording: The run.
            done: Is called after each policy, with the number of prompts that it has made.
        """
        meter, found = Meter(self.meter.counter), dict[str, list[Figures]]()
        needs = needs_of(recording.messages, meter)
        for policy in self.all_policies:
            found[policy.name] = await replay(recording, needs, policy, meter, self.price)
            done(len(needs))
        self._count(recording, len(needs))
        for name, calls in found.items():
            self._tallies.setdefault(name, _Tally()).add(calls)

    def _count(self, recording: Recording, calls: int) -> None:
        self.runs += 1
        if calls > len(self._reached):
            self._longest = recording.id
            self._reached += [0] * (calls - len(self._reached))
        for number in range(calls):
            self._reached[number] += 1

    def results(self) -> Results:
        """What the runs so far came to."""
        against = Comparison(*(self._tally(base).figures() for base in self._bases()))
        found = [
            self._result(policy.name, self._tally(policy), against)
            for policy in {p.name: p for p in self.policies}.values()
        ]
        return Results(tuple(found), self.runs, tuple(self._reached), self._longest)

    def _result(self, name: str, tally: _Tally, against: Comparison) -> Result:
        figures = tally.figures()
        mean = tuple(
            tokens / runs for tokens, runs in zip(tally.by_call, self._reached, strict=True)
        )
        return Result(against.row(name, figures), figures, mean, tally.longest)

    def _tally(self, policy: Policy) -> _Tally:
        return self._tallies.get(policy.name) or _Tally()

    def _bases(self) -> tuple[Policy, Policy]:
        return parse_policy("unbounded"), reference_policy(self.threshold)


async def compared(
    recordings: Iterable[Recording], policies: Iterable[Policy], meter: Meter, threshold: int = 500
) -> list[Row]:
    """A row for each of `policies`, from one replay of `recordings` through each and the two they are set against."""
    comparing = Comparing(list(policies), meter, threshold)
    for recording in recordings:
        await comparing.add(recording)
    return comparing.results().rows
