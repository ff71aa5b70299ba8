"""The reference in docs/reference, made from the docstrings.

    python tests/reference.py      writes it

`griffe` reads the sources without running them, so that the reference says what a reader of the code sees: names,
signatures and docstrings, and nothing that is made up here. Only texts for models are taken from the package itself.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/reference"
NOTE = "<!-- Made from the docstrings by `python tests/reference.py`; do not edit. -->\n"
# Every public name stands on one page; a test holds it so.
PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "contexts": (
        "AutoGen: contexts",
        "memory_context",
        (
            "MemoryContext",
            "build_model_context",
            "FoldPolicy",
            "RecallPolicy",
            "NotesPolicy",
            "PassingPolicy",
            "MemoryWorkbench",
            "SQLMemory",
            "MEMORY_INSTRUCTIONS",
        ),
    ),
    "memories": (
        "Memories",
        "memory_context",
        (
            "MemoryManager",
            "MemoryItem",
            "MemoryList",
            "MemoryRef",
            "Match",
            "Deletion",
            "Scope",
            "Selection",
            "Page",
            "QueryResult",
        ),
    ),
    "tiers": (
        "Tiers",
        "memory_context",
        ("ScopedMemory", "TierPolicy", "Confirmation", "Category", "Room", "Usage"),
    ),
    "stores": (
        "Stores",
        "memory_context",
        ("MemoryStore", "SQLAlchemyStore", "FileStore", "Quota"),
    ),
    "codecs": (
        "Codecs and redaction",
        "memory_context",
        (
            *("Codec", "Encrypted", "Compressed"),
            *("Redactor", "RedactionPattern", "Redacted"),
        ),
    ),
    "observability": (
        "Observability",
        "memory_context",
        (
            "observe",
            "Observed",
            "identify_users",
            "AuditEntry",
            "AuditTrail",
            "SQLAuditTrail",
            "ModelCall",
            "CallRecord",
            "CallTotals",
        ),
    ),
    "judges": (
        "Judges and summarizers",
        "memory_context",
        (
            *("Judge", "LexicalJudge", "LLMJudge", "JudgeLimits", "Decision"),
            *("Summarizer", "LLMSummarizer", "Summaries", "SummaryLimits"),
        ),
    ),
    "services": (
        "Assembly, conversations, files, MCP",
        "memory_context",
        (
            *(
                "ContextAssembler",
                "ContextPackage",
                "ConversationMemory",
                "AgentMemoryService",
                "FileEntry",
            ),
            "mcp_server",
        ),
    ),
    "transfer": (
        "Moving: exports and imports",
        "memory_context.memory.copy_export_import",
        ("export_memories", "import_memories", "copy_memories"),
    ),
    "backups": (
        "Backups",
        "memory_context.memory.backup_files",
        ("backup_database",),
    ),
    "upkeep": (
        "Retention",
        "memory_context.memory.gc_by_retention_rules",
        ("RetentionRule", "delete_expired", "count_expired"),
    ),
    "consolidation": (
        "Consolidation",
        "memory_context.memory.consolidation",
        ("consolidate", "ModelConsolidator"),
    ),
    "tokens": (
        "Tokens",
        "memory_context",
        ("TokenCounter", "default_counter", "set_default_counter"),
    ),
    "conversation": ("For hosts: the neutral conversation", "memory_context.conversation", ()),
    "testing": ("For your tests", "memory_context.testing", ()),
    "langchain": ("LangChain", "langchain_memory_context", ()),
    "agent-framework": ("Agent Framework", "memory_context.agent_framework", ()),
    "exceptions": ("Exceptions", "memory_context.exceptions", ()),
}
INHERITED = {"Protocol", "ABC", "Component", "BaseModel"}
_LITERAL = re.compile(r"^::\n\n((?:    .*\n?|\n)+)", re.MULTILINE)
_ROLE = re.compile(r"``([^`]+)``")


@cache
def package(name: str) -> griffe.Module:
    """The sources of a package, read once."""
    return griffe.load(name, docstring_parser="google", resolve_aliases=False)  # type: ignore[return-value] # no alias


def module(path: str) -> griffe.Module:
    """A module by its dotted path."""
    top, _, rest = path.partition(".")
    found: griffe.Module = package(top)[rest] if rest else package(top)
    return found


def public(path: str) -> list[str]:
    """The public names of a module: its list, or its classes where it has none."""
    found = module(path)
    if found.exports is not None:
        return [str(name) for name in found.exports]
    return [
        name for name, member in found.members.items() if not member.is_alias and member.is_class
    ]


def resolved(home: griffe.Module, name: str) -> Any:
    """What a name stands for, in whatever module it is defined."""
    member = home[name]
    while member.is_alias:
        path, _, last = member.target_path.rpartition(".")
        member = module(path)[last]
    return member


def page(slug: str) -> str:
    """A page of the reference."""
    title, home, names = PAGES[slug]
    head = f"# {title}\n\n{NOTE}\n"
    if slug == "exceptions":
        return head + _tree(home) + "".join(_exceptions(home))
    names = names or tuple(public(home))
    said = docstring(module(home)) if home != "memory_context" else ""
    return head + (said + "\n\n" if said else "") + "\n".join(entry(home, name) for name in names)


def entry(home: str, name: str) -> str:
    """What the reference says of one public name."""
    found = resolved(module(home), name)
    parts = [f"## {name}\n", f"`from {home} import {name}`\n"]
    if found.is_class:
        parts += [_code(constructor(found)), docstring(found) + "\n"]
        listed = list(members(found))
        parts += [member(one, name) for one in listed if not _is_test(one)]
        parts += [
            f"- `{one.name}`: {_line(one.docstring.value)}" for one in listed if _is_test(one)
        ]
    elif found.is_function:
        parts += [_code(signature(found)), docstring(found) + "\n"]
    else:
        parts += [_value(home, name)]
    return "\n".join(part for part in parts if part.strip())


def members(found: griffe.Class) -> Iterator[Any]:
    """The methods and properties that a class promises, in the order of the source; those of private parents too."""
    own = [one for one in found.members.values() if _is_promised(one)]
    names = {one.name for one in own}
    for base in found.bases:
        parent = _parent(found, str(base))
        if isinstance(parent, griffe.Class):
            own += [one for one in members(parent) if one.name not in names]
            names |= {one.name for one in own}
    return iter(own)


def _parent(found: griffe.Class, base: str) -> griffe.Class | None:
    """A parent class that is part of the project; others are documented by their projects."""
    name = base.partition("[")[0]
    if name in INHERITED or name not in found.module.members:
        return None
    member = found.module.members[name]
    target = member.target_path if member.is_alias else member.path  # type: ignore[union-attr]
    if target.partition(".")[0] not in ("memory_context", "langchain_memory_context"):
        return None
    return resolved(found.module, name)  # type: ignore[no-any-return]


def _is_promised(one: Any) -> bool:
    documented = one.is_function or (one.is_attribute and "property" in one.labels)
    return (
        not one.is_alias
        and documented
        and not one.name.startswith("_")
        and one.docstring is not None
    )


def _is_test(one: Any) -> bool:
    return str(one.name).startswith("test_")


def member(one: Any, owner: str) -> str:
    """What is said of a method or a property of a class."""
    shown = f"{one.name}: {one.annotation}" if one.is_attribute else signature(one)
    return f"### {owner}.{one.name}\n\n{_code(shown)}\n{docstring(one)}\n"


def constructor(found: griffe.Class) -> str:
    """How an instance is made; of a protocol, its name."""
    if any(str(base).startswith("Protocol") for base in found.bases):
        return f"class {found.name}(Protocol)"
    every: list[Any] = list(found.members.values())
    parents = [_parent(found, str(base)) for base in found.bases]
    for owner in [found, *filter(None, parents)]:
        made: Any = owner.members.get("__init__")
        if made is not None and made.is_function:
            return signature(made, found.name)
    fields = [one for one in every if one.is_attribute and "property" not in one.labels]
    shown = [
        f"{one.name}: {one.annotation}{_default(one.value)}"
        for one in fields
        if one.annotation and one.name[0] != "_"
    ]
    return (
        _call(found.name, shown) if shown and "dataclass" in found.labels else f"class {found.name}"
    )


def signature(found: griffe.Function, name: str = "") -> str:
    """A function's signature, a parameter to the line where it is long."""
    parameters, kinds = list[str](), griffe.ParameterKind
    star = False
    for one in found.parameters:
        if one.name in ("self", "cls") and found.parent is not None and found.parent.is_class:
            continue
        if one.kind is kinds.keyword_only and not star:
            parameters, star = [*parameters, "*"], True
        star = star or one.kind is kinds.var_positional
        mark = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(
            one.kind or kinds.keyword_only, ""
        )
        annotation = f": {one.annotation}" if one.annotation is not None else ""
        is_required = one.default is None or mark
        parameters.append(
            f"{mark}{one.name}{annotation}{'' if is_required else _default(one.default)}"
        )
    prefix = "async def " if "async" in found.labels else "def "
    returns = f" -> {found.returns}" if found.returns is not None and not name else ""
    return _call(name or prefix + found.name, parameters, returns)


def _default(value: object) -> str:
    return "" if value is None else f" = {value}"


def _call(name: str, parameters: list[str], returns: str = "") -> str:
    line = f"{name}({', '.join(parameters)}){returns}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in parameters) + f"){returns}"


def docstring(found: Any) -> str:
    """A docstring in Markdown: paragraphs, and a list for each section."""
    if found.docstring is None:
        return ""
    parts = list[str]()
    for section in found.docstring.parse("google", warnings=False):
        if section.kind is griffe.DocstringSectionKind.text:
            parts.append(_prose(section.value))
        elif section.kind is griffe.DocstringSectionKind.admonition:
            parts.append(f"*{section.title}:* {_prose(section.value.description)}")
        else:
            lines = [f"- `{_named(one)}`: {_line(one.description)}" for one in section.value]
            parts.append(f"*{section.kind.value.capitalize()}:*\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _named(one: Any) -> str:
    return str(getattr(one, "name", None) or one.annotation)


def _prose(text: str) -> str:
    """A docstring's text as Markdown: double backquotes become single ones, literal blocks fenced ones."""
    text = _ROLE.sub(r"`\1`", text)
    return _LITERAL.sub(lambda found: f"```text\n{_dedented(found[1])}\n```\n\n", text).strip()


def _dedented(text: str) -> str:
    return re.sub(r"^    ", "", text.rstrip(), flags=re.MULTILINE)


def _line(text: str) -> str:
    return _prose(" ".join(text.split()))


def _value(home: str, name: str) -> str:
    return f"A text for a model:\n\n```text\n{getattr(importlib.import_module(home), name)}\n```\n"


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def _tree(home: str) -> str:
    return docstring(module(home)) + "\n"


def _exceptions(home: str) -> Iterator[str]:
    for name in public(home):
        found = module(home)[name]
        bases = ", ".join(str(base) for base in found.bases)
        yield f"\n## {name}\n\n`{name}({bases})`: {docstring(found)}\n"


def everything() -> dict[Path, str]:
    """The files of the reference and what stands in them."""
    return {FOLDER / f"{slug}.md": page(slug) for slug in PAGES} | {FOLDER / "README.md": index()}


def index() -> str:
    """The entry: every public name and its page."""
    lines = [
        f"# Reference\n\n{NOTE}\nThe public names, from their docstrings.\n\n| name | what |\n|---|---|\n"
    ]
    for slug, (_, home, names) in PAGES.items():
        for name in () if slug == "exceptions" else names or public(home):
            found = resolved(module(home), name)
            first = (
                docstring(found).split("\n\n")[0].replace("\n", " ")
                if found.docstring
                else "A text for a model."
            )
            lines.append(
                f"| [`{name}`]({slug}.md#{name.lower()}) | {first.replace('|', chr(92) + '|')} |\n"
            )
    lines.append("\nErrors: [exceptions.md](exceptions.md).\n")
    return "".join(lines)


def main() -> int:
    """Write the reference."""
    FOLDER.mkdir(exist_ok=True)
    for path, text in everything().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
