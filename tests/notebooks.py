"""Running notebooks: what their cells show, and keeping it.

    python tests/notebooks.py             # runs all in notebooks/ and keeps their outputs
    python tests/notebooks.py some.ipynb  # runs one

Keys are generated from the seed 0. A cell with the tag ``varies`` shows something else each time: it must run, what it
shows is not compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parents[1] / "notebooks"
VARIES = "varies"
TIMEOUT = 600
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
# A table whose last column is of seconds, as HTML and as text.
_TIMED = re.compile(r'<th class="num">seconds</th></tr>|  seconds$', re.MULTILINE)
_SECONDS = re.compile(r'(?<=<td class="num">)\d+\.\d(?=</td></tr>)|(?<=  )\d+\.\d$', re.MULTILINE)
SEEDED = (
    "from memory_context.testing import seeded_keys\n_keys = seeded_keys(0)\n_keys.__enter__()\n"
)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(path: Path) -> Any:
    """A notebook."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # nbformat ships no types


def run(notebook: Any, folder: Path) -> None:
    """Run every cell of `notebook` in `folder`, top to bottom; its outputs take the place of those before.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed; the message shows its traceback.
    """
    with tempfile.TemporaryDirectory() as sockets:  # short: a socket's path has 104 bytes on macOS
        channels = {
            "transport": "ipc",
            "ip": f"{sockets}/k",
            "connection_file": f"{sockets}/kernel.json",
        }
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            startup_timeout=TIMEOUT,
            iopub_timeout=TIMEOUT,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(folder)}},
            config=Config(KernelManager=channels),
        )
        startup = Path(sockets) / "ipython/profile_default/startup"
        startup.mkdir(parents=True)
        (startup / "seeded.py").write_text(SEEDED, "utf-8")
        client.execute(
            env={**os.environ, "IPYTHONDIR": f"{sockets}/ipython", "MPLCONFIGDIR": _plots().name}
        )
    notebook.metadata = nbformat.from_dict(METADATA)  # type: ignore[no-untyped-call] # nbformat ships no types


@cache
def _plots() -> tempfile.TemporaryDirectory[str]:
    """A folder with matplotlib's list of fonts: it says on standard error that it makes one where there is none."""
    folder = tempfile.TemporaryDirectory()
    environment = {**os.environ, "MPLCONFIGDIR": folder.name}
    subprocess.run(
        [sys.executable, "-c", "import matplotlib.font_manager"],
        env=environment,
        check=True,
        timeout=TIMEOUT,
    )
    return folder


def shown(cell: Any) -> list[str]:
    """What the outputs of a cell say, without times; a picture by its kind."""
    return [steady(line) for output in cell.outputs for line in _shown(output)]


def steady(line: str) -> str:
    """`line` with "(…)" for the time of day, and the seconds that something took."""
    line = _TIME.sub("(…)", line)
    return _SECONDS.sub("(…)", line) if _TIMED.search(line) else line


def _shown(output: Any) -> list[str]:
    if output.output_type == "stream":
        return [f"{output.name}: {output.text}"]
    data = output.get("data", {})
    return [
        f"{kind}: {data[kind] if kind.startswith('text/') else 'there'}" for kind in sorted(data)
    ]


def keep(path: Path) -> None:
    """Run a notebook in a temporary folder and write its outputs into it."""
    notebook = read(path)
    with tempfile.TemporaryDirectory() as folder:
        run(notebook, Path(folder))
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call] # nbformat ships no types


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        keep(path)
        print(path.name, path.stat().st_size, "bytes")
