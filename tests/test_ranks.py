"""Rank files: found in a package or tiktoken's cache, or fetched once; nobody waits longer than the deadline."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from memory_context.text.tokens import rank_file_download
from memory_context.text.tokens.rank_file_download import (
    O200K,
    O200K_PATTERN,
    O200K_SHA256,
    O200K_URL,
    load_encoding,
)

DATA = (
    b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    + b"YWI= 256\n"
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


@pytest.fixture
def tiny(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, while a tiny rank file is the right one; nothing is at its address."""
    monkeypatch.setattr(rank_file_download, "O200K_SHA256", hashlib.sha256(DATA).hexdigest())
    monkeypatch.setattr(rank_file_download, "O200K_URL", "http://127.0.0.1:9/tiny.tiktoken")
    return cache


def _place_in(folder: Path) -> Path:
    """Where tiktoken's cache has the file of the present address."""
    return folder / hashlib.sha1(rank_file_download.O200K_URL.encode()).hexdigest()


def _downloads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "memory-context-ranks"]


def _downloads_end() -> bool:
    """Whether no download goes on for five more minutes."""
    downloads = _downloads()
    for thread in downloads:
        thread.join(300)
    return not any(thread.is_alive() for thread in downloads)


@contextmanager
def _served(port: int) -> Iterator[None]:
    """While the rank file's address is that of a server on *port*."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_file_download, "O200K_URL", f"http://127.0.0.1:{port}/tiny.tiktoken")
        yield


@contextmanager
def _server(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[list[str]]:
    """The paths that are asked for, while the rank file's address is that of a server that answers by `answer`."""
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
            with _served(server.server_address[1]):
                yield asked
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


def test_ranks_are_found_in_the_cache(tiny: Path) -> None:
    """A file that tiktoken has fetched before is used as it is."""
    _place_in(tiny).write_bytes(DATA)
    encoding = load_encoding()
    assert encoding
    assert [256, ord("c")] == encoding.encode("abc")


def test_the_older_variable_names_the_cache_too(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with tiktoken: DATA_GYM_CACHE_DIR is read where TIKTOKEN_CACHE_DIR is not set."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tiny))
    _place_in(tiny).write_bytes(DATA)
    assert load_encoding()


@pytest.mark.long
@pytest.mark.usefixtures("cache")
def test_ranks_are_found_in_an_installed_package() -> None:
    """Where a package brings the ranks along, nothing is fetched."""
    encoding = load_encoding()
    assert encoding
    assert O200K == encoding.name
    assert encoding.decode(encoding.encode_ordinary("naïve 中文 👍")) == "naïve 中文 👍"


def test_address_sum_and_pattern_are_tiktokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed tiktoken reads the same file and cuts its pieces by the same pattern."""
    read: list[tuple[str, str | None]] = []

    def remember(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        read.append((url, expected_hash))
        return {}

    public = importlib.import_module("tiktoken_ext.openai_public")  # it has no types
    monkeypatch.setattr(public, "load_tiktoken_bpe", remember)
    encoding = public.ENCODING_CONSTRUCTORS[O200K]()
    assert [(O200K_URL, O200K_SHA256)] == read
    assert encoding["pat_str"] == O200K_PATTERN


DAMAGED = [b"", DATA[:-5], DATA + b"\n", b"<html>captive portal</html>"]


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_is_not_used(tiny: Path, damage: bytes) -> None:
    """A cache file whose sum is wrong is as good as missing."""
    _place_in(tiny).write_bytes(damage)
    assert load_encoding() is None


def test_a_damaged_file_is_replaced(tiny: Path) -> None:
    """What the cache should have had is fetched, used and kept."""
    with _server(_sending(DATA)):
        _place_in(tiny).write_bytes(b"damaged")
        assert load_encoding()
        assert DATA == _place_in(tiny).read_bytes()


@pytest.mark.long
def test_a_damaged_file_does_not_hide_a_package(cache: Path) -> None:
    """Where a package has the ranks, the cache is neither used nor changed."""
    _place_in(cache).write_bytes(b"damaged")
    assert load_encoding()
    assert _place_in(cache).read_bytes() == b"damaged"


def test_a_folder_in_the_place_of_a_file_is_not_read(tiny: Path) -> None:
    """What cannot be read is as good as missing."""
    _place_in(tiny).mkdir()
    assert load_encoding() is None


def _package(folder: Path, data: bytes) -> None:
    path = folder / "bpe_openai" / "data" / f"{O200K}.tiktoken.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    (folder / "bpe_openai" / "__init__.py").touch()


@pytest.mark.usefixtures("tiny")
def test_packed_ranks_are_unpacked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package may bring them along as gzip."""
    _package(tmp_path, gzip.compress(DATA))
    monkeypatch.syspath_prepend(tmp_path)
    assert load_encoding()


PACKED = gzip.compress(DATA)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no gzip",
        PACKED[: len(PACKED) // 2],
        PACKED[:20] + bytes(50) + PACKED[70:],
        gzip.compress(DATA + b"\n"),
    ],
    ids=["empty", "other", "cut", "damaged", "other ranks"],
)
def test_a_damaged_package_is_not_used(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes
) -> None:
    """Whatever is wrong with a packed file, it is as good as missing: the cache is looked at."""
    _package(tmp_path, data)
    monkeypatch.syspath_prepend(tmp_path)
    assert load_encoding() is None
    _place_in(tiny).write_bytes(DATA)
    assert load_encoding()


def test_a_package_without_the_file_is_passed_over(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another version of the package may keep its ranks elsewhere, or may be a mere folder."""
    _place_in(tiny).write_bytes(DATA)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    (tmp_path / "bpe_openai").mkdir()
    assert load_encoding()
    (tmp_path / "bpe_openai" / "__init__.py").touch()
    importlib.invalidate_caches()
    assert load_encoding()


def test_the_package_is_not_needed(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the extra the cache is looked at."""
    _place_in(tiny).write_bytes(DATA)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert load_encoding()


@pytest.mark.usefixtures("tiny")
def test_a_package_that_a_test_has_replaced_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in without a spec, as people put into `sys.modules`, brings no ranks and does no harm."""
    monkeypatch.setitem(sys.modules, "bpe_openai", ModuleType("bpe_openai"))
    assert load_encoding() is None


def test_the_right_file_is_fetched_and_kept(tiny: Path) -> None:
    """One download: the next process finds the file in the cache, where everybody may read it."""
    with _server(_sending(DATA)) as asked:
        assert load_encoding()
        assert load_encoding()
        kept = _place_in(tiny)
    assert ["/tiny.tiktoken"] == asked
    assert [kept] == list(tiny.iterdir())
    assert DATA == kept.read_bytes()


def test_a_kept_file_can_be_read_by_whoever_shares_the_cache(tiny: Path) -> None:
    """The file has the rights that the process gives to any file: tiktoken fails on one that it may not read."""
    (tiny / "any file").touch()
    with _server(_sending(DATA)):
        load_encoding()
        assert (tiny / "any file").stat().st_mode == _place_in(tiny).stat().st_mode


def test_a_cache_folder_is_made(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder need not exist before."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiny / "new" / "folder"))
    with _server(_sending(DATA)):
        assert load_encoding()
        assert _place_in(tiny / "new" / "folder").is_file()


def test_a_cache_that_cannot_be_written_does_no_harm(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with tiktoken: without a folder of its own, the file is used and not kept; a folder that is named must do."""
    (tiny / "file").touch()
    with _server(_sending(DATA)):
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiny / "file"))
        assert load_encoding() is None
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
        monkeypatch.setattr(tempfile, "tempdir", str(tiny / "file"))
        assert load_encoding()


def test_an_empty_variable_turns_caching_off(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with tiktoken: the file is fetched, used and not kept."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with _server(_sending(DATA)):
        assert load_encoding()
        name = _place_in(tiny).name
    assert [] == list(tiny.iterdir())
    assert list(Path.cwd().rglob(name)) == []


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("data", [b"<html>login</html>", DATA + b"YWJj 257\n"])
def test_a_wrong_answer_is_not_used_without_a_cache(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    """A login page or another rank file is recognized where tiktoken does not look, since it keeps no file."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with _server(_sending(data)):
        assert load_encoding() is None


@pytest.mark.parametrize(
    ("data", "status"),
    [(DATA + b"x", 200), (b"<html>login</html>", 200), (b"", 200), (DATA, 404), (DATA, 503)],
)
def test_a_wrong_answer_is_not_used(tiny: Path, data: bytes, status: int) -> None:
    """Other bytes than the right ones, or an error page, are neither used nor kept."""
    with _server(_sending(data, status)):
        assert load_encoding() is None
    assert [] == list(tiny.iterdir())


@pytest.mark.usefixtures("tiny")
def test_a_server_that_is_not_there_is_no_error() -> None:
    """Without a network there are no ranks, at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with _served(port):
        assert load_encoding() is None


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "proxy", ["http://", "http://[", "http://..", "ftp://127.0.0.1:9", "socks9://127.0.0.1:9"]
)
def test_a_proxy_that_is_none_is_no_error(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    """Nor is a variable that names no proxy through which anything can be fetched."""
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("http_proxy", proxy)
    assert load_encoding() is None


@pytest.mark.usefixtures("tiny")
def test_a_silent_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes the connection and never answers costs the deadline, and does not keep the process alive."""
    monkeypatch.setattr(rank_file_download, "DOWNLOAD_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server, _served(server.getsockname()[1]):
        assert load_encoding() is None
        assert [True] == [thread.daemon for thread in _downloads()]
    assert _downloads_end()


def test_a_slow_file_serves_the_next_process(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that drips is left at the deadline too, and what arrives later is kept for the next time."""
    is_left = threading.Event()
    monkeypatch.setattr(rank_file_download, "DOWNLOAD_SECONDS", 0.2)
    with _server(_sending(DATA, before_each=lambda: is_left.wait(600))):
        assert load_encoding() is None
        is_left.set()
        assert _downloads_end()
        assert DATA == _place_in(tiny).read_bytes()
        monkeypatch.setattr(rank_file_download, "DOWNLOAD_SECONDS", 60)
        assert load_encoding()
