"""What is installed: public names, a light import, types, clear words about what is missing."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from importlib.resources import files

import pytest

import langchain_memory_context
import memory_context
from memory_context import stores, testing
from memory_context.text import redact

PUBLIC = """
MEMORY_INSTRUCTIONS AgentMemoryService AuditEntry AuditTrail Category Codec Compressed
Confirmation ContextAssembler ContextPackage ConversationMemory Decision Deletion Encrypted
FileEntry FileStore FoldPolicy Judge JudgeLimits LLMJudge LLMSummarizer LexicalJudge Match
MemoryContext MemoryContextError MemoryItem MemoryList MemoryManager MemoryRef MemoryStore
MemoryWorkbench Observed Page Quota Redacted RedactionPattern Redactor Room
SQLAlchemyStore SQLAuditTrail SQLMemory Scope ScopedMemory Selection Summaries
Summarizer SummaryLimits TierPolicy TokenCounter Usage __version__ default_counter exceptions
identify_users mcp_server observe set_default_counter
"""


def run(code: str, *flags: str) -> str:
    """What a new interpreter prints."""
    command = [sys.executable, *flags, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_public_names() -> None:
    """The list of public names is sorted as people sort, complete, and every name loads."""
    assert set(PUBLIC.split()) <= set(memory_context.__all__)
    assert set(memory_context.__all__) == {*memory_context._HOMES, "exceptions", "__version__"}  # noqa: SLF001
    for name in memory_context.__all__:
        assert getattr(memory_context, name) is not None
    for package in (redact, stores, testing):
        for name in package.__all__:
            assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        memory_context.nothing  # noqa: B018
    assert dir(memory_context) == sorted(memory_context.__all__)


def test_import_loads_no_host() -> None:
    """Importing the package loads no host, no database library and no tokenizer; nor do its values."""
    names = "agent_framework autogen_core langchain_core sqlalchemy alembic psycopg tiktoken pydantic typer rich"
    code = f"import sys, memory_context; print(sorted(set('{names}'.split()) & set(sys.modules)))"

    assert "[]" == run(code)
    assert "[]" == run(code + "; memory_context.MemoryRef, memory_context.Scope").replace(
        "None", ""
    )


@pytest.mark.long
def test_missing_host() -> None:
    """Without AutoGen the context says which extra to install; the manager works."""
    code = (
        "import sys; sys.modules['autogen_core'] = None\n"
        "from memory_context import MemoryManager\n"
        "print(MemoryManager('sqlite://', user_id=1).store('x'))\n"
        "try:\n    from memory_context import MemoryContext\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )

    assert re.fullmatch(
        r"note_[a-z0-9]{10}\nMissingDependencyError MemoryContext needs AutoGen: "
        r"pip install 'memory-context\[autogen\]'",
        run(code),
    )


@pytest.mark.long
def test_missing_command_line() -> None:
    """Without its extra the command says what to install; a library user, a notebook, replay and the page miss nothing."""
    without = "import sys; sys.modules['typer'] = sys.modules['rich'] = None\n"
    run(
        f"{without}from memory_context import MemoryManager, replay, ui\n"
        "memory = MemoryManager('sqlite://', user_id=1)\n"
        "memory.get(memory.store('a,b\\n1,2\\n'))._repr_mimebundle_()"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{without}from memory_context.cli import main; main()", "list"],
        capture_output=True,
        text=True,
        check=False,
    )

    needed = "the command line needs typer and rich: pip install 'memory-context[cli]'"
    assert (2, f"memory-context: {needed}\n") == (done.returncode, done.stderr)


def test_the_package_runs_as_a_module() -> None:
    """`python -m memory_context` is the command line, its exit codes and the error about the missing extra too."""
    without = "import sys, runpy; sys.modules['typer'] = None; "
    as_module = "runpy.run_module('memory_context', run_name='__main__')"
    for words, code, expected in (
        (["-m", "memory_context", "--version"], 0, f"memory-context {memory_context.__version__}"),
        (["-m", "memory_context", "nonsense"], 2, "memory-context: No such command"),
        (["-c", f"{without}{as_module}"], 2, "pip install 'memory-context[cli]'"),
    ):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        assert code == done.returncode
        assert expected in done.stdout + done.stderr


def test_ctrl_c_while_modules_load() -> None:
    """A Ctrl-C before a command has begun ends it with code 130 and without a traceback."""
    program = """
import sys
module = sys.argv[1]
class Interrupted:
    def find_spec(self, name, *_):
        if name == module:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from memory_context.cli import main
sys.argv[1:] = ["list", "--store", "sqlite:///nowhere.db"]
main()
"""
    for module in ("typer", "memory_context.cli.query", "memory_context.stores"):
        done = subprocess.run(
            [sys.executable, "-c", program, module], capture_output=True, text=True, check=False
        )
        assert (130, "") == (done.returncode, done.stderr.strip())


def test_version_stands_in_one_place() -> None:
    """The installed version is the package's own."""
    assert importlib.metadata.version("memory-context") == memory_context.__version__


def test_package_is_typed_and_complete() -> None:
    """The type marker and the migrations are installed."""
    assert files("memory_context").joinpath("py.typed").is_file()
    assert files("memory_context.stores.sql").joinpath("migrations/env.py").is_file()


def test_extras() -> None:
    """Every extra is there; the base needs no host."""
    metadata = importlib.metadata.metadata("memory-context")
    base = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]

    extras = {
        "agent-framework",
        "all",
        "autogen",
        "cli",
        "demo",
        "encryption",
        "exact",
        "langchain",
    }
    extras |= {"mcp", "notebooks", "ui", "vector"}
    assert extras == set(metadata.get_all("Provides-Extra", []))
    heavy = ("agent", "autogen", "langchain", "mcp", "rich", "typer")
    assert not [need for need in base if need.startswith(heavy)]


def test_mcp_sdk() -> None:
    """The suite's own environment has mcp 2.x; `.ci/run` makes one with 1.x."""
    assert importlib.metadata.version("mcp").startswith("2.")


@pytest.mark.long
def test_langchain_package() -> None:
    """It is installed and typed, loads no LangChain by itself, never AutoGen, and says which extra is missing."""
    for name in langchain_memory_context.__all__:
        assert getattr(langchain_memory_context, name) is not None
    assert set(langchain_memory_context.__all__) == set(langchain_memory_context._HOMES)  # noqa: SLF001
    assert files("langchain_memory_context").joinpath("py.typed").is_file()
    with pytest.raises(AttributeError, match="nothing"):
        langchain_memory_context.nothing  # noqa: B018
    loaded = "print(sorted({'langchain_core', 'autogen_core'} & set(sys.modules)))"
    assert "[]" == run(f"import sys, langchain_memory_context; {loaded}")
    names = ", ".join(langchain_memory_context.__all__)
    assert "['langchain_core']" == run(
        f"import sys; from langchain_memory_context import {names}; {loaded}"
    )
    missing = "import sys; sys.modules['langchain'] = None\nfrom langchain_memory_context import MemoryContextMiddleware"
    said = subprocess.run(
        [sys.executable, "-c", missing], capture_output=True, text=True, check=False
    ).stderr
    assert (
        "MemoryContextMiddleware needs LangChain: pip install 'memory-context[langchain]'" in said
    )


def test_integrations_is_no_package() -> None:
    """Nobody's package called `integrations` is shipped."""
    installed = importlib.metadata.files("memory-context") or []
    roots = {path.parts[0] for path in installed if path.suffix == ".py"}

    assert "integrations" not in roots
