"""What the documentation says: its code runs as it stands and prints what is shown, and its links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import langchain_memory_context
import memory_context
import reference
from for_each import for_each
from memory_context import conversation, testing
from pages import ROOT, anchors, links, programs

DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    page
    for page in (*DOCS, ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md")
    if page.exists()
]
REFERENCE = ROOT / "docs/reference"
TOLD = [
    page for page in PAGES if REFERENCE not in page.parents
]  # the others hold signatures, no programs
WITH_CODE = [page for page in TOLD if page.name != "README.md" or page in DOCS]
WITH_CODE = [page for page in WITH_CODE if programs(page)]


def name_of(page: Path) -> str:
    """A page's path, for people."""
    return str(page.relative_to(ROOT))


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_code_runs_as_it_stands(page: Path) -> None:
    """Each block of code runs without a word on stderr, and prints what stands below it."""
    command = [sys.executable, str(ROOT / "tests/pages.py"), str(page)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, "") == (run.returncode, run.stderr)

    for program, result in zip(programs(page), json.loads(run.stdout), strict=True):
        assert "" == result.get("failed", "")
        if program.printed is not None and program.not_run is None:
            assert program.printed == result["printed"]


@for_each("page", TOLD)
def test_code_is_marked_as_such(page: Path) -> None:
    """Whatever is Python on a page is a block that runs, or says why it does not."""
    text = page.read_text("utf-8")

    assert text.count("```python\n") == len(programs(page))
    assert text.count("*Not run by the tests: ") == sum(
        program.not_run is not None for program in programs(page)
    )
    assert not re.search(r"^ *```(py|python3|pycon|py3)\b", text, re.MULTILINE)


@for_each("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link leads to a file that is there, and every anchor to a heading."""
    for target in links(page):
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert linked.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(linked), target


def test_every_page_is_found_from_the_entry() -> None:
    """From docs/README.md every page of the documentation is reached."""
    reached, left = set[Path](), [ROOT / "docs/README.md"]
    while left:
        page = left.pop()
        reached.add(page)
        near = [
            (page.parent / target.partition("#")[0]).resolve()
            for target in links(page)
            if target[0] != "#"
        ]
        left += [one for one in near if one.suffix == ".md" and one not in reached]

    assert set(DOCS) <= reached


def test_every_page_has_its_place_in_the_site() -> None:
    """Pages and notebooks stand in the navigation of mkdocs.yml, once; `make docs` renders them, and checks their links."""
    listed = re.findall(
        r"\S+\.(?:md|ipynb)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE
    )
    pages = [*PAGES, *ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("examples/*/*.md")]

    assert set() == {name_of(page) for page in pages} ^ set(listed), "its place is in mkdocs.yml"
    assert len(set(listed)) == len(listed)


@pytest.mark.long
def test_reference_is_up_to_date() -> None:
    """What is committed is what the docstrings say; `python tests/reference.py` writes it."""
    made = reference.everything()

    assert set(made) == set(REFERENCE.glob("*.md"))
    for path, text in made.items():
        assert text == path.read_text("utf-8"), path.name


@pytest.mark.long
def test_reference_is_complete() -> None:
    """Every public name is in it, once."""
    for home in (memory_context, conversation, testing, langchain_memory_context):
        listed = [
            name
            for _, where, names in reference.PAGES.values()
            if where == home.__name__
            for name in names or reference.public(where)
        ]
        # Exceptions have a page of their own, under the module that holds all of them.
        apart = {"__version__", "exceptions", *vars(memory_context.exceptions)}
        assert sorted(set(home.__all__) - apart) == sorted(listed)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/rooms.md"])
def test_pages_name_real_files(page: str) -> None:
    """Every path that a page for contributors sends a reader to is there."""
    text = (ROOT / page).read_text("utf-8")
    packages = {
        "src/integrations/": langchain_memory_context,
        "src/": memory_context,
    }  # also where only a wheel is
    homes = {prefix: Path(str(package.__file__)).parents[1] for prefix, package in packages.items()}
    paths = set(re.findall(r"`((?:src|tests|benchmarks|docs)/[\w/.-]+)`", text))
    missing = set[str]()
    for path in paths:
        prefix = next((one for one in homes if path.startswith(one)), "")
        if not (homes.get(prefix, ROOT) / path.removeprefix(prefix)).exists():
            missing.add(path)

    assert len(paths) > 20
    assert set() == missing
