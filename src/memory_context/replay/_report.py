"""The figures of several policies side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from rich.table import Table

from memory_context.display import table
from memory_context.replay._measure import Figures, measure
from memory_context.replay._meter import Meter
from memory_context.replay._policies import Policy, parse_policy
from memory_context.replay._recordings import Recording

_COLUMNS = ("policy", "tokens", "cost", "visible", "lost", "trips / calls", "peak")


@dataclass(frozen=True, slots=True)
class Row:
    """A policy's figures beside those of others.

    Attributes:
        policy: Its name.
        tokens: Of its prompts, as a share of the unbounded context's.
        cost: As a share of the unbounded context's.
        visible: The share of the needed values that stood in its prompts.
        lost: Needed values that nothing could bring back.
        trips: Calls that needed a value from behind a reference.
        calls: Model calls.
        peak: The median over the runs of the largest prompt, in relation to that of "reference only".
    """

    policy: str
    tokens: float
    cost: float
    visible: float
    lost: int
    trips: int
    calls: int
    peak: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the figures of a policy are set against: the unbounded context, and references without a preview."""

    unbounded: Figures
    reference: Figures

    def row(self, policy: str, figures: Figures) -> Row:
        """The figures of `policy` as shares."""
        peaks = zip(figures.peaks, self.reference.peaks, strict=True)
        return Row(
            policy,
            tokens=_share(figures.tokens, self.unbounded.tokens),
            cost=_share(figures.cost, self.unbounded.cost),
            visible=_share(figures.visible, figures.needed),
            lost=figures.lost,
            trips=figures.trips,
            calls=figures.calls,
            peak=median(_share(own, others) for own, others in peaks) if figures.peaks else 1.0,
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


async def compared(
    recordings: Sequence[Recording], policies: Iterable[Policy], meter: Meter, threshold: int = 500
) -> list[Row]:
    """A row for each of `policies`, from one replay of `recordings` through each and the two they are set against."""
    by_name: dict[str, Policy] = {policy.name: policy for policy in policies}
    bases = {name: parse_policy(name) for name in ("unbounded", f"reference:threshold={threshold}")}
    figures = {name: await measure(recordings, one, meter) for name, one in {**bases, **by_name}.items()}
    against = Comparison(*(figures[name] for name in bases))
    return [against.row(name, figures[name]) for name in by_name]


def report(rows: Iterable[Row]) -> Table:
    """The rows as a table for a terminal."""
    return table(_COLUMNS, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    shares = [f"{share:.3f}" for share in (row.tokens, row.cost, row.visible)]
    return [row.policy, *shares, str(row.lost), f"{row.trips} / {row.calls}", f"{row.peak:.3f}"]
