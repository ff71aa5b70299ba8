"""Rank files: found in tiktoken's cache or a package, or fetched once; nobody waits longer than the deadline."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest
import requests
from tiktoken.load import load_tiktoken_bpe

from memory_context.text.tokens import rank_file_download
from memory_context.text.tokens.rank_file_download import (
    O200K,
    RankFile,
    cache_folder,
    load_encoding,
)

DATA = (
    b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    + b"YWI= 256\n"
)
TINY = RankFile(
    "tiny", "http://127.0.0.1:9/tiny.tiktoken", hashlib.sha256(DATA).hexdigest(), r"\S+|\s+"
)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An empty cache folder, a deadline of a minute, and no proxy between us and our own server."""
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(rank_file_download, "DOWNLOAD_SECONDS", 60)
    yield folder
    assert _downloads_end()


def _downloads_end() -> bool:
    """Whether no download goes on for five more minutes."""
    downloads = [
        thread for thread in threading.enumerate() if thread.name == "memory-context-ranks"
    ]
    for thread in downloads:
        thread.join(300)
    return not any(thread.is_alive() for thread in downloads)


@contextmanager
def _server(
    answer: Callable[[BaseHTTPRequestHandler], None],
) -> Iterator[tuple[RankFile, list[str]]]:
    """The tiny rank file at the address of a server that answers by `answer`, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield (
                replace(TINY, url=f"http://127.0.0.1:{server.server_address[1]}/tiny.tiktoken"),
                asked,
            )
        finally:
            server.shutdown()


def _sending(
    data: bytes, status: int = 200, before_each: Callable[[], object] = lambda: None
) -> Callable[[BaseHTTPRequestHandler], None]:
    """An answer of `data` in a hundred pieces, before each of which something is done."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        size = len(data) // 100 + 1
        for start in range(0, len(data), size):
            before_each()
            handler.wfile.write(data[start : start + size])

    return answer


@contextmanager
def _silent_server() -> Iterator[RankFile]:
    """The tiny rank file at an address where connections are taken and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield replace(TINY, url=f"http://127.0.0.1:{server.getsockname()[1]}/tiny.tiktoken")


def test_ranks_are_found_in_the_cache(cache: Path) -> None:
    """A file that tiktoken has fetched before is used as it is."""
    (cache / TINY.cache_name).write_bytes(DATA)
    encoding = load_encoding(TINY)
    assert encoding
    assert [256, ord("c")] == encoding.encode("abc")


def test_the_older_variable_names_the_cache_too(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with tiktoken: DATA_GYM_CACHE_DIR is read where TIKTOKEN_CACHE_DIR is not set."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(cache))
    assert cache == cache_folder()
    monkeypatch.delenv("DATA_GYM_CACHE_DIR")
    folder = cache_folder()
    assert folder
    assert folder.name == "data-gym-cache"


def test_the_cache_name_is_tiktokens(cache: Path) -> None:
    """The file lies where tiktoken itself looks for it."""
    (cache / TINY.cache_name).write_bytes(DATA)
    assert load_tiktoken_bpe(TINY.url, TINY.sha256)[b"ab"] == 256


@pytest.mark.long
@pytest.mark.usefixtures("cache")
def test_ranks_are_found_in_an_installed_package() -> None:
    """Where a package brings the ranks along, nothing is fetched."""
    encoding = load_encoding(O200K)
    assert encoding
    assert O200K.name == encoding.name
    assert encoding.decode(encoding.encode_ordinary("naïve 中文 👍")) == "naïve 中文 👍"


def test_address_sum_and_pattern_are_tiktokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed tiktoken reads the same file and cuts its pieces by the same pattern."""
    read: list[tuple[str, str | None]] = []

    def remember(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        read.append((url, expected_hash))
        return {}

    public = importlib.import_module("tiktoken_ext.openai_public")  # it has no types
    monkeypatch.setattr(public, "load_tiktoken_bpe", remember)
    encoding = public.ENCODING_CONSTRUCTORS[O200K.name]()
    assert [(O200K.url, O200K.sha256)] == read
    assert O200K.pattern == encoding["pat_str"]


@pytest.mark.parametrize("damage", [b"", DATA[:-5], DATA + b"\n", b"<html>captive portal</html>"])
def test_a_damaged_file_is_left_as_it_is_and_not_used(cache: Path, damage: bytes) -> None:
    """A cache file whose sum is wrong is somebody else's: it is neither used nor deleted."""
    path = cache / TINY.cache_name
    path.write_bytes(damage)
    assert load_encoding(TINY) is None
    assert [path] == list(cache.iterdir())
    assert damage == path.read_bytes()


@pytest.mark.long
def test_a_damaged_file_does_not_hide_a_package(cache: Path) -> None:
    """The next place is looked at."""
    (cache / O200K.cache_name).write_bytes(b"damaged")
    assert load_encoding(O200K)
    assert (cache / O200K.cache_name).read_bytes() == b"damaged"


def test_a_folder_in_the_place_of_a_file_is_not_read(cache: Path) -> None:
    """What cannot be read is as good as missing."""
    (cache / TINY.cache_name).mkdir()
    assert load_encoding(TINY) is None


def _package(folder: Path, data: bytes) -> None:
    path = folder / "bpe_openai" / "data" / f"{TINY.name}.tiktoken.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    (folder / "bpe_openai" / "__init__.py").touch()


@pytest.mark.usefixtures("cache")
def test_packed_ranks_are_unpacked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package may bring them along as gzip."""
    _package(tmp_path, gzip.compress(DATA))
    monkeypatch.syspath_prepend(tmp_path)
    assert load_encoding(TINY)


PACKED = gzip.compress(DATA)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "data",
    [b"", b"no gzip", PACKED[: len(PACKED) // 2], PACKED[:20] + bytes(50) + PACKED[70:]],
    ids=["empty", "other", "cut", "damaged"],
)
def test_a_damaged_package_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes
) -> None:
    """Whatever is wrong with a packed file, it is as good as missing."""
    _package(tmp_path, data)
    monkeypatch.syspath_prepend(tmp_path)
    assert load_encoding(TINY) is None


@pytest.mark.usefixtures("cache")
def test_a_package_that_a_test_has_replaced_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in without a spec, as people put into `sys.modules`, brings no ranks and does no harm."""
    monkeypatch.setitem(sys.modules, "bpe_openai", ModuleType("bpe_openai"))
    assert load_encoding(TINY) is None


def test_the_right_file_is_fetched_and_kept(cache: Path) -> None:
    """One download: the next process finds the file in the cache, where everybody may read it."""
    with _server(_sending(DATA)) as (file, asked):
        assert load_encoding(file)
        assert load_encoding(file)
    assert ["/tiny.tiktoken"] == asked
    assert [cache / file.cache_name] == list(cache.iterdir())
    assert DATA == (cache / file.cache_name).read_bytes()
    assert load_encoding(file)


def test_a_kept_file_can_be_read_by_whoever_shares_the_cache(cache: Path) -> None:
    """The file has the rights that the process gives to any file: tiktoken fails on one that it may not read."""
    (cache / "any file").touch()
    with _server(_sending(DATA)) as (file, _):
        load_encoding(file)
    assert (cache / "any file").stat().st_mode == (cache / file.cache_name).stat().st_mode


def test_a_cache_folder_is_made(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder need not exist before."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache / "new" / "folder"))
    with _server(_sending(DATA)) as (file, _):
        assert load_encoding(file)
    assert (cache / "new" / "folder" / file.cache_name).is_file()


def test_a_cache_that_cannot_be_written_does_no_harm(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was fetched is used, kept or not."""
    (cache / "file").touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache / "file"))
    with _server(_sending(DATA)) as (file, _):
        assert load_encoding(file)


def test_an_empty_variable_turns_caching_off(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with tiktoken: the file is fetched, used and not kept."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert cache_folder() is None
    with _server(_sending(DATA)) as (file, _):
        assert load_encoding(file)
    assert [] == list(cache.iterdir())
    assert list(Path.cwd().rglob(file.cache_name)) == []


@pytest.mark.parametrize(
    ("data", "status"),
    [(DATA + b"x", 200), (b"<html>login</html>", 200), (b"", 200), (DATA, 404), (DATA, 503)],
)
def test_a_wrong_answer_is_not_used(cache: Path, data: bytes, status: int) -> None:
    """Other bytes than the right ones, or an error page, are neither used nor kept."""
    with _server(_sending(data, status)) as (file, _):
        assert load_encoding(file) is None
    assert [] == list(cache.iterdir())


@pytest.mark.usefixtures("cache")
def test_a_server_that_is_not_there_is_no_error() -> None:
    """Without a network there are no ranks, at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert load_encoding(replace(TINY, url=f"http://127.0.0.1:{port}/tiny")) is None


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("url", ["no address", "http://", "ftp://127.0.0.1/x", "http://.."])
def test_an_address_that_is_none_is_no_error(url: str) -> None:
    """Nor is an address that nothing can be fetched from."""
    assert load_encoding(replace(TINY, url=url)) is None


@pytest.mark.usefixtures("cache")
def test_a_silent_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes the connection and never answers costs the deadline, and leaves no thread behind."""
    monkeypatch.setattr(rank_file_download, "DOWNLOAD_SECONDS", 0.5)
    with _silent_server() as file:
        assert load_encoding(file) is None
        assert _downloads_end()


def test_a_slow_file_serves_the_next_process(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that drips is left at the deadline too, and what arrives later is kept for the next time."""
    get, is_left = requests.get, threading.Event()
    # Each piece comes in time, on any machine; all of them do not.
    monkeypatch.setattr(requests, "get", lambda url, timeout: get(url, timeout=600 + timeout))
    monkeypatch.setattr(rank_file_download, "DOWNLOAD_SECONDS", 0.2)
    drip = _sending(DATA, before_each=lambda: is_left.wait(600))
    with _server(drip) as (file, _):
        assert load_encoding(file) is None
        is_left.set()
        assert _downloads_end()
    assert DATA == (cache / file.cache_name).read_bytes()
    assert load_encoding(file)
