"""Read the rank file of o200k_base without hanging: from `bpe_openai`, from tiktoken's cache, or by one download."""

from __future__ import annotations

import gzip
import zlib
from binascii import a2b_base64
from importlib.machinery import PathFinder
from pathlib import Path

import tiktoken
from tiktoken.load import check_hash, read_file_cached

from memory_context.runtime import log_events
from memory_context.runtime.deadlines import within

DOWNLOAD_SECONDS = 5.0

O200K = "o200k_base"
# The address, the sum and the pattern that cuts pieces are those of tiktoken (tiktoken_ext/openai_public.py): counts are
# exact only with them.
O200K_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)


def load_encoding() -> tiktoken.Encoding | None:
    """Return o200k_base; None if its rank file is not on this machine and does not arrive within 5 seconds.

    It has no special tokens: ``<|endoftext|>`` in a tool's output is ordinary text. There is only one attempt to
    download the file; if it arrives later, the next process can use it.
    """
    data = _from_package() or _from_tiktoken()
    if data is None:
        return None
    # Each of the 200,000 lines is a token and its rank. Split and mapped as a whole, in half the time of a loop over lines.
    words = data.split()
    tokens = map(a2b_base64, words[::2])
    ranks = dict(zip(tokens, map(int, words[1::2]), strict=True))
    return tiktoken.Encoding(O200K, pat_str=O200K_PATTERN, mergeable_ranks=ranks, special_tokens={})


def _from_package() -> bytes | None:
    """Return the file that the package ``bpe_openai`` ships; None if the package is not installed, or ships another."""
    # The package is found without importing it: its compiled module takes up to a second to load.
    package = PathFinder.find_spec("bpe_openai")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).with_name("data") / f"{O200K}.tiktoken.gz"
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error):
        return None
    if check_hash(data, O200K_SHA256):
        return data
    return None


def _read_file() -> bytes:
    """Read the file from tiktoken's cache, or download it.

    Raises:
        ValueError: What was downloaded is another file. Where it keeps no cache, tiktoken does not check that.
    """
    data = read_file_cached(O200K_URL, O200K_SHA256)
    if not check_hash(data, O200K_SHA256):
        raise ValueError("what arrived is another file")
    return data


def _from_tiktoken() -> bytes | None:
    """Return the file from tiktoken's cache, which is filled by a download; None if it does not arrive within 5 seconds."""
    try:
        # Not by `tiktoken.get_encoding`, which downloads without a timeout while it holds a lock that all threads need.
        return within(DOWNLOAD_SECONDS, _read_file, "memory-context-ranks")
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the network or the cache, tokens are estimated
        log_events.RANKS_NOT_LOADED.log(error, url=O200K_URL)
        return None
