"""Run `memory-context replay`: read recordings, replay them, and print a table or JSON, or write a report."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from memory_context.display.safe_terminal_output import (
    facts,
    harmless,
    make_console,
    plain,
    progress_bar,
)
from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.comparison import Comparing
from memory_context.replay.explained_run import calls_of_run, lines_of_run, prompt_of_call
from memory_context.replay.figure_definitions import EXPLANATIONS
from memory_context.replay.formats.claude_code_sessions import NoMessagesError
from memory_context.replay.html_report import page
from memory_context.replay.policies_by_name import check_policy, default_policies, parse_policy
from memory_context.replay.prices import parse_price
from memory_context.replay.recording_as_messages import Recording
from memory_context.replay.recording_files import Watch, stream_recordings
from memory_context.replay.terminal_report import report
from memory_context.replay.token_meter import TokenMeter
from memory_context.replay.verdict_and_json import Summary, verdict
from memory_context.runtime.files_replaced_safely import draft_of

PIPED_WIDTH = 110
# The most runs that an error names.
NAMED = 5


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The options of the command.

    Attributes:
        files: The files of recordings; their runs are replayed as one set.
        policies: The policies in the form of `parse_policy`; if empty, the default ones.
        threshold: The tokens above which the default policies and "reference only" fold an output.
        price: The price of tokens in the form of `parse_price`.
        report: The file of the HTML report; None for no report.
        json: Whether JSON is printed instead of the table.
        explain: Whether the definitions are printed; without files, nothing else is.
        run: The id of the only run to replay, call by call, by the policy, or by this library's default.
        call: The number of the call of that run whose prompt is shown.
        skip_damaged: Whether a damaged file is reported and the others are replayed.

    Raises:
        InvalidArgumentError: There is nothing to do; options do not go together; a file or the report's folder does not
            exist; or the report would replace a recording.
    """

    files: tuple[Path, ...] = ()
    policies: tuple[str, ...] = ()
    threshold: int = 500
    price: str = "gpt-5.4"
    report: Path | None = None
    json: bool = False
    explain: bool = False
    run: str | None = None
    call: int | None = None
    skip_damaged: bool = False

    def __post_init__(self) -> None:
        """Check the options that would otherwise fail only after a long replay."""
        if not self.files and not self.explain:
            raise InvalidArgumentError(
                "replay needs recordings: memory-context replay FILE..., or --explain alone"
            )
        if self.call is not None and self.run is None:
            raise InvalidArgumentError("--call needs --run NAME, the run of the call")
        if self.run is not None and len(self.policies) > 1:
            raise InvalidArgumentError(
                f"--run replays a run by one policy, not by {len(self.policies)}: give --policy once"
            )
        if self.run is not None and (self.report or self.json):
            raise InvalidArgumentError("--report and --json are about all runs: leave out --run")
        report = self.report
        if not report:
            return
        if report.is_dir() or not report.parent.is_dir():
            raise InvalidArgumentError(
                f"the report cannot be written to {str(report)!r}: name a file in a folder that exists"
            )
        if any(report.exists() and report.samefile(file) for file in self.files):
            raise InvalidArgumentError(
                f"the report would replace the recordings in {str(report)!r}"
            )


def run_replay(options: ReplayOptions) -> None:
    """Replay the files and show the figures on standard output.

    Raises:
        InvalidArgumentError: A policy, a setting or a file is not valid. The runs replayed before have been shown.
        KeyboardInterrupt: It was interrupted. The runs replayed before have been shown.
    """
    console = make_console()
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    if options.run is not None:
        _show_run(options, options.run, console)
    elif options.files:
        _replay_and_show(options, console)
    if options.explain:
        explain(console)


def explain(console: Console) -> None:
    """Print the definitions of the figures and of the policies."""
    for title, texts in EXPLANATIONS.items():
        console.print(title, style="bold underline")
        console.print(facts(texts))
        console.print()


def _show_run(options: ReplayOptions, name: str, console: Console) -> None:
    policies = options.policies or (f"memory:threshold={options.threshold}",)
    policy = parse_policy(policies[0])
    meter = TokenMeter()
    price = parse_price(options.price)
    check_policy(policy, meter)
    recording = _run_named(name, options)
    calls = asyncio.run(calls_of_run(recording, policy, meter, price))
    console.print(plain(f"{recording.id}, {policy.name}", "bold"))
    if options.call is None:
        console.print(lines_of_run(calls))
        return
    for part in prompt_of_call(calls, options.call):
        console.print(part)


def _runs_in(
    file: Path, options: ReplayOptions, damaged: list[str], watch: Watch | None = None
) -> Iterator[Recording]:
    """Yield the runs of a file, and report on standard error what is left out.

    A session without messages is left out. With `skip_damaged`, so is the rest of a file after its first damage; the
    problem is then added to *damaged*.
    """
    try:
        yield from stream_recordings(file, watch)
    except NoMessagesError as error:
        _warn(f"{error}; left out")
    except InvalidArgumentError as error:
        if not options.skip_damaged:
            advice = "; --skip-damaged replays the others" if len(options.files) > 1 else ""
            raise InvalidArgumentError(f"{error}{advice}") from error
        damaged.append(str(error))
        _warn(f"damaged, left out: {error}")


def _warn(line: str) -> None:
    Console(stderr=True, soft_wrap=True).print(plain(line))


def _run_named(name: str, options: ReplayOptions) -> Recording:
    names = list[str]()
    for file in options.files:
        for recording in _runs_in(file, options, []):
            if recording.id == name:
                return recording
            names.append(recording.id)
    shown = names[:NAMED] or ["none"]
    if len(names) > NAMED:
        shown.append("…")
    raise InvalidArgumentError(
        f"no run in the files is called {name!r:.60}; there are {', '.join(shown)}"
    )


def _replay_and_show(options: ReplayOptions, console: Console) -> None:
    policies = [parse_policy(text) for text in options.policies]
    comparing = Comparing(
        policies or default_policies(options.threshold),
        TokenMeter(),
        options.threshold,
        parse_price(options.price),
    )
    for policy in comparing.all_policies:
        check_policy(policy, comparing.meter)

    damaged = list[str]()
    stopped: KeyboardInterrupt | InvalidArgumentError | None = None
    try:
        with asyncio.Runner() as runner, progress_bar() as progress:
            runner.get_loop()  # made now, because a Ctrl-C while `run` makes it would print a warning
            for file in options.files:
                name = escape(harmless(file.name))
                watch = partial(progress.wrap_file, total=file.stat().st_size, description=name)
                for recording in _runs_in(file, options, damaged, watch):
                    runner.run(comparing.add(recording))
    except (KeyboardInterrupt, InvalidArgumentError) as error:
        stopped = error
    if not stopped and not comparing.runs:
        stopped = InvalidArgumentError("the files hold no run")
    # After Ctrl-C or at a damaged line, the runs so far are shown; before a damaged first line there are none.
    if comparing.runs or not isinstance(stopped, InvalidArgumentError):
        summary = Summary(
            comparing.results(),
            tuple(file.name for file in options.files),
            comparing.meter.name,
            options.threshold,
            comparing.price,
            complete=stopped is None,
            damaged=tuple(damaged),
        )
        _show(options, summary, console)
    if stopped:
        raise stopped


def _show(options: ReplayOptions, summary: Summary, console: Console) -> None:
    if options.json:
        sys.stdout.write(json.dumps(summary.as_json()) + "\n")
    else:
        conclusion = summary.conclusion()
        if conclusion:
            console.print(conclusion, style="bold", highlight=False)
            console.print()
        console.print(plain(", ".join(summary.files)))
        console.print(summary.headline())
        if summary.results.runs:
            console.print()
            console.print(report(summary.results.policies))
        worst = summary.results.worst
        if worst and len(worst) < summary.results.runs:
            console.print()
            console.print("Worst runs; --run NAME shows one call by call", style="bold")
            console.print(facts([(harmless(run.id), verdict(run)) for run in worst]))
    if options.report:
        try:
            with draft_of(options.report) as draft:
                draft.write_text(page(summary), encoding="utf-8", errors="replace")
        except OSError as error:
            raise InvalidArgumentError(f"the report cannot be written: {error}") from error
