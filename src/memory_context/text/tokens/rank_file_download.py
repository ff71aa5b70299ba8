"""Find the rank file of o200k_base without hanging: in tiktoken's cache, in `bpe_openai`, or by one download."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import tempfile
import threading
import zlib
from binascii import a2b_base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tiktoken

from memory_context.runtime import events
from memory_context.runtime.files_replaced_safely import draft_of

DOWNLOAD_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RankFile:
    """An encoding's rank file as tiktoken 0.14 publishes it: its URL, its SHA-256, and the pattern that cuts pieces."""

    name: str
    url: str
    sha256: str
    pattern: str

    @property
    def cache_name(self) -> str:
        """Return the file's name in tiktoken's cache folder."""
        # The same name as tiktoken's (tiktoken/load.py, `read_file_cached`), so that both share one cache.
        return hashlib.sha1(self.url.encode(), usedforsecurity=False).hexdigest()


_SITE = "https://openaipublic.blob.core.windows.net/encodings/"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
# tiktoken's own pattern, from tiktoken_ext/openai_public.py: counts are exact only with it.
O200K_PATTERN = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SUFFIX}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SUFFIX}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
O200K = RankFile(
    "o200k_base",
    f"{_SITE}o200k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    O200K_PATTERN,
)


def load_encoding(file: RankFile) -> tiktoken.Encoding | None:
    """Return the encoding; None if its rank file is not on this machine and does not arrive within 5 seconds.

    It has no special tokens: ``<|endoftext|>`` in a tool's output is ordinary text. There is only one attempt to
    download the file; if it arrives later, the next process can use it.
    """
    data = _local(file) or _downloaded(file)
    if data is None:
        return None
    # Each of the 200,000 lines is a token and its rank. Split and mapped as a whole, in half the time of a loop over lines.
    words = data.split()
    tokens = map(a2b_base64, words[::2])
    ranks = dict(zip(tokens, map(int, words[1::2]), strict=True))
    return tiktoken.Encoding(
        file.name, pat_str=file.pattern, mergeable_ranks=ranks, special_tokens={}
    )


def _local(file: RankFile) -> bytes | None:
    """Return the first complete copy on this machine; None if there is none."""
    for path in _paths(file):
        try:
            data = path.read_bytes()
            if path.suffix == ".gz":
                data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            continue  # this copy is missing or damaged
        # An interrupted download leaves an incomplete file, with which every count would be wrong.
        if hashlib.sha256(data).hexdigest() == file.sha256:
            return data
    return None


def _paths(file: RankFile) -> Iterator[Path]:
    """Yield the paths at which a copy may be: in tiktoken's cache, and in the package ``bpe_openai``, which ships some."""
    if cache := cache_folder():
        yield cache / file.cache_name
    try:
        spec = importlib.util.find_spec("bpe_openai")  # finds the package without importing it
    except ValueError:  # a module without a spec, such as tests put into sys.modules
        return
    if spec and spec.submodule_search_locations:
        for folder in spec.submodule_search_locations:
            yield Path(folder) / "data" / f"{file.name}.tiktoken.gz"


def cache_folder() -> Path | None:
    """Return tiktoken's cache folder; None if its variable is set to an empty string, which turns caching off."""
    # The variables and the default are those of tiktoken.
    default = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", default))
    if folder:
        return Path(folder)
    return None


def _downloaded(file: RankFile) -> bytes | None:
    """Return the file if it arrives within 5 seconds; otherwise None."""
    import requests  # noqa: PLC0415 - a dependency of tiktoken that takes 0.1 s to import, and is needed only here

    arrived: list[bytes] = []

    def download() -> None:
        """Download the file, and keep it if it is the right one."""
        try:
            response = requests.get(file.url, timeout=DOWNLOAD_SECONDS)
            response.raise_for_status()
        except requests.RequestException as error:
            events.RANKS_NOT_LOADED.log(error, url=file.url)
            return
        if hashlib.sha256(response.content).hexdigest() == file.sha256:
            arrived.append(response.content)
            _keep(file, response.content)

    # The timeout of `requests` is for each packet. If the whole download takes longer, it continues in its thread.
    thread = threading.Thread(target=download, name="memory-context-ranks", daemon=True)
    thread.start()
    thread.join(DOWNLOAD_SECONDS)
    if arrived:
        return arrived[0]
    return None


def _keep(file: RankFile, data: bytes) -> None:
    """Put a downloaded file into tiktoken's cache; without a cache, the next process downloads it again."""
    folder = cache_folder()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with draft_of(folder / file.cache_name) as draft:
            draft.write_bytes(data)
    except OSError as error:
        events.RANKS_NOT_KEPT.log(error, ranks=file.name, folder=str(folder))
