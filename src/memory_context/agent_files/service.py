"""A folder of text files for each agent; no path, link or race leads out of it."""

from __future__ import annotations

import builtins
import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path

from memory_context.agent_files import handles
from memory_context.agent_files.filenames import agent_folder, brief, is_path, path_parts
from memory_context.agent_files.handles import FileEntry as FileEntry
from memory_context.agent_files.handles import Parts
from memory_context.agent_files.line_edits import inserted, numbered, replaced_once
from memory_context.exceptions import (
    AgentMemoryError,
    AgentMemoryFileNotFoundError,
    AgentNotFoundError,
    FileOperationError,
    InvalidArgumentError,
    InvalidPathError,
)
from memory_context.runtime import events

FOLDER = "agent_memory"
LOCKS = ".locks"
QUOTA_BYTES = 10_000_000
LOCK_SECONDS = 10.0

Read = Callable[[], str | None]


class AgentMemoryService:
    """Text files that agents keep, each agent in ``<app_cache_dir>/agent_memory/<agent_instance_id>/``.

    A path is relative to the agent's folder, with ``/`` between its names. Texts are UTF-8 and stay as they are, line
    breaks included. A write is there whole or not at all, whenever a process is killed; changes of one agent's files,
    by whichever thread or process, come one after the other. Nothing outside the folder is read or written: names are
    opened by handles, inside the folder before them, and no link is followed.

    ``.`` and doubled slashes in a path mean nothing: ``./a//b.md`` is ``a/b.md``.

    Every method raises `InvalidPathError` for a path or an agent's id that cannot be one, `AgentNotFoundError` if the
    agent's folder cannot be made or used, and `FileOperationError` for whatever else goes wrong. What is done, and what
    is not found, is logged with the level INFO, what is refused as WARNING, what the system cannot do as ERROR. On
    Windows, which has no handles of folders, every method raises `AgentNotFoundError`.

    Args:
        app_cache_dir: The folder of the application; everything above the agents' folders is trusted.
        quota_bytes: The most that the files of one agent take together. They are also at most 10,000.
        lock_seconds: How long a change waits for those before it.

    Attributes:
        base_memory_path: The folder of all agents' folders.

    Raises:
        InvalidArgumentError: The quota or the time is below zero.
    """

    def __init__(
        self,
        app_cache_dir: str | os.PathLike[str],
        *,
        quota_bytes: int = QUOTA_BYTES,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        if quota_bytes < 0 or lock_seconds < 0:
            raise InvalidArgumentError(
                f"a quota and a time are 0 or more, not {quota_bytes} and {lock_seconds}"
            )
        self.app_cache_dir = Path(app_cache_dir).absolute()
        self.base_memory_path = self.app_cache_dir / FOLDER
        self.quota_bytes = quota_bytes
        self.lock_seconds = lock_seconds
        try:
            self._make_base()
        except AgentNotFoundError as error:
            events.FOLDER_MISSING.log(error)

    def read_memory_file(self, agent_instance_id: str, relative_file_path: str) -> str:
        """Return the whole text of a file, as it was at one moment.

        Raises:
            AgentMemoryFileNotFoundError: There is none.
        """
        with self._explained("read", agent_instance_id, relative_file_path):
            return self._text_of(agent_instance_id, relative_file_path)

    def write_memory_file(
        self, agent_instance_id: str, relative_file_path: str, content: str
    ) -> None:
        """Make *content* the whole text of a file, new or not; folders on the way are made."""
        self._change(agent_instance_id, relative_file_path, lambda _: content)

    def append_to_memory_file(
        self, agent_instance_id: str, relative_file_path: str, content: str
    ) -> None:
        """Add *content* to the end of a file, or make it; what several writers append stands there whole."""
        self._change(
            agent_instance_id, relative_file_path, lambda read: (read() or "") + _checked(content)
        )

    def create(self, agent_instance_id: str, relative_file_path: str, content: str) -> None:
        """Make a new file.

        Raises:
            FileOperationError: There is one already; it stays as it is.
        """

        def only_new(read: Read) -> str:
            if read() is not None:
                raise FileOperationError(
                    f"the file {brief(relative_file_path)} exists already; change it, or delete it first"
                )
            return content

        self._change(agent_instance_id, relative_file_path, only_new)

    def str_replace(
        self, agent_instance_id: str, relative_file_path: str, old_str: str, new_str: str = ""
    ) -> int:
        """Put *new_str* in place of *old_str*, which stands in the file exactly once; return the line where that was.

        Raises:
            AgentMemoryFileNotFoundError: There is no such file.
        """
        line = 0

        def replaced(read: Read) -> str:
            nonlocal line
            text, line = replaced_once(_existing(read), old_str, new_str)
            return text

        self._change(agent_instance_id, relative_file_path, replaced)
        return line

    def insert(
        self, agent_instance_id: str, relative_file_path: str, insert_line: int, insert_text: str
    ) -> None:
        """Put the lines of *insert_text* after line *insert_line*; 0 is before the first.

        Raises:
            AgentMemoryFileNotFoundError: There is no such file.
        """
        self._change(
            agent_instance_id,
            relative_file_path,
            lambda read: inserted(_existing(read), insert_line, insert_text),
        )

    def delete(self, agent_instance_id: str, relative_path: str) -> None:
        """Delete a file, or a folder with all that is in it.

        Raises:
            AgentMemoryFileNotFoundError: There is nothing under this path.
        """
        with (
            self._explained("delete", agent_instance_id, relative_path),
            self._writing(agent_instance_id, make=False) as root,
        ):
            handles.remove(root, path_parts(relative_path))

    def rename(self, agent_instance_id: str, old_path: str, new_path: str) -> None:
        """Move a file or a folder to a path where nothing is; folders on the way are made.

        Raises:
            AgentMemoryFileNotFoundError: There is nothing under *old_path*.
        """
        with self._explained("rename", agent_instance_id, old_path, new_path):
            old = path_parts(old_path)
            new = path_parts(new_path)
            with self._writing(agent_instance_id, make=False) as root:
                _refuse_move(root, old, new)
                self._refuse_excess(root, new, 0, None)
                handles.move(root, old, new)

    def view(
        self,
        agent_instance_id: str,
        relative_file_path: str,
        view_range: tuple[int, int] | None = None,
    ) -> str:
        """Return the lines of a file with their numbers.

        Args:
            agent_instance_id: The agent.
            relative_file_path: The file.
            view_range: The first and the last line, from 1; -1 is the end. None: all of them.

        Raises:
            AgentMemoryFileNotFoundError: There is no such file.
        """
        with self._explained("view", agent_instance_id, relative_file_path):
            return numbered(self._text_of(agent_instance_id, relative_file_path), view_range)

    def list(self, agent_instance_id: str, relative_path: str = "") -> builtins.list[FileEntry]:
        """Return the files and folders in the agent's folder, or in one inside, at any depth; for a file, that file.

        Links, and what other programs put there under a name that the agent could not use, are left out.

        Raises:
            AgentMemoryFileNotFoundError: There is nothing under this path.
        """
        with self._explained("list", agent_instance_id, relative_path):
            # An agent that has written nothing yet has an empty list, not an error.
            parts = path_parts(relative_path) if relative_path != "" else ()
            try:
                with self._root(agent_instance_id) as root:
                    return _entries(root, parts)
            except FileNotFoundError:
                if parts:
                    raise
                return []

    def _change(
        self, agent_instance_id: str, relative_file_path: str, edit: Callable[[Read], str]
    ) -> None:
        """Make what *edit* returns the file's whole text. It may read the old one, which is None without a file."""
        with self._explained("write", agent_instance_id, relative_file_path):
            parts = path_parts(relative_file_path)
            with self._writing(agent_instance_id) as root:
                status = handles.look(root, parts)
                if handles.is_folder(status):
                    raise InvalidPathError(
                        f"{brief(relative_file_path)} is a directory, not a file"
                    )
                # Read inside the lock: between reading and writing nobody else changes the file.
                data = _utf8(edit(lambda: self._text(root, parts) if status else None))
                self._refuse_excess(root, parts, len(data), status.st_size if status else None)
                handles.replace(root, parts, data)

    def _refuse_excess(self, root: int, parts: Parts, size: int, old_size: int | None) -> None:
        """Keep the agent within its quota; a file may always become smaller. What a crash left behind is deleted.

        Args:
            root: The handle of the agent's folder.
            parts: The path of the file that is to be written.
            size: The bytes that it will have.
            old_size: The bytes that it has; None if it is new.
        """
        entries = list(handles.walk(root, sweep=True))
        used = sum(entry.size for entry in entries)
        after = used - (old_size or 0) + size
        # Over a quota that was lowered since, files may still be shortened.
        if after > self.quota_bytes and size > (old_size or 0):
            raise FileOperationError(
                f"the agent's files have {used} of at most {self.quota_bytes} bytes, and would have {after}; "
                f"shorten or delete some first"
            )
        if old_size is None and len(entries) + len(parts) > handles.MOST_ENTRIES:
            raise FileOperationError(
                f"the agent has {len(entries)} files and folders of at most {handles.MOST_ENTRIES}; "
                "delete some first"
            )

    def _text_of(self, agent_instance_id: str, relative_file_path: str) -> str:
        with self._root(agent_instance_id) as root:
            return self._text(root, path_parts(relative_file_path))

    def _text(self, root: int, parts: Parts) -> str:
        data = handles.read(root, parts, self.quota_bytes)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FileOperationError(
                f"the file is not UTF-8 text: byte {error.start} is {data[error.start]:#04x}"
            ) from error

    @contextlib.contextmanager
    def _writing(self, agent_instance_id: str, *, make: bool = True) -> Generator[int]:
        """Yield the handle of the agent's folder to its only writer."""
        name = agent_folder(agent_instance_id)
        with contextlib.ExitStack() as stack:
            with _unusable(name):
                base = stack.enter_context(self._base())
                locks = stack.enter_context(handles.folder(base, (LOCKS,), make=True))
            stack.enter_context(handles.locked(locks, name, self.lock_seconds))
            yield stack.enter_context(self._root(agent_instance_id, make=make))

    @contextlib.contextmanager
    def _root(self, agent_instance_id: str, *, make: bool = False) -> Generator[int]:
        """Yield the handle of the agent's folder.

        Raises:
            FileNotFoundError: There is none, and it was not to be made.
        """
        name = agent_folder(agent_instance_id)
        with contextlib.ExitStack() as stack:
            with _unusable(name):
                base = stack.enter_context(self._base())
                root = stack.enter_context(handles.folder(base, (name,), make=make))
                _refuse_other(base, name)
            yield root

    @contextlib.contextmanager
    def _base(self) -> Generator[int]:
        """Yield the handle of the folder of all agents."""
        handle = os.open(self._make_base(), os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield handle
        finally:
            os.close(handle)

    def _make_base(self) -> Path:
        base = self.base_memory_path
        if not handles.supported():
            raise AgentNotFoundError(
                f"{base} is not used: this platform cannot open files relative to a folder's handle, or lock them"
            )
        try:
            base.mkdir(handles.FOLDER_MODE, parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise AgentNotFoundError(
                f"the folder {base} of all agents cannot be made: {error}"
            ) from error
        return base

    @contextlib.contextmanager
    def _explained(self, verb: str, agent_instance_id: str, *paths: str) -> Generator[None]:
        """Log what came of it, and say which file of which agent an error of the system is about."""
        what = " to ".join(map(brief, paths))
        agent = brief(agent_instance_id)
        try:
            yield
        except (InvalidPathError, FileOperationError) as error:
            events.PATH_REFUSED.log(error, path=what, agent=agent)
            raise
        except (FileNotFoundError, NotADirectoryError) as error:
            events.FILE_NOT_FOUND.log(verb=verb, path=what, agent=agent)
            raise AgentMemoryFileNotFoundError(
                f"the agent {agent} has nothing under {what}"
            ) from error
        except (OSError, RecursionError, AgentNotFoundError) as error:
            events.FILE_FAILED.log(error, verb=verb, path=what, agent=agent)
            if isinstance(error, AgentNotFoundError):
                raise
            raise FileOperationError(f"{what} of agent {agent}: {error}") from error
        events.FILE_USED.log(verb=verb, path=what, agent=agent)


@contextlib.contextmanager
def _unusable(name: str) -> Generator[None]:
    """Raise what keeps us from an agent's folder as the error that says so; that there is none yet passes."""
    try:
        yield
    except (AgentNotFoundError, FileNotFoundError):
        raise
    except (OSError, AgentMemoryError) as error:
        raise AgentNotFoundError(
            f"the folder of the agent {name!r} cannot be made or used: {error}"
        ) from error


def _refuse_other(base: int, name: str) -> None:
    """Keep agents apart where the file system takes two ids for one name, as macOS does with b and B."""
    if name not in os.listdir(base):
        raise InvalidPathError(
            f"the file system takes the agent's id {name!r} for that of another one"
        )


def _existing(read: Read) -> str:
    text = read()
    if text is None:
        raise FileNotFoundError
    return text


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise FileOperationError(f"the content of a file is a text, not {type(text).__name__}")
    return text


def _utf8(text: object) -> bytes:
    try:
        return _checked(text).encode("utf-8")
    except UnicodeEncodeError as error:
        raise FileOperationError(
            f"the content cannot be UTF-8: character {error.start} is half of a surrogate pair"
        ) from error


def _entries(root: int, parts: Parts) -> list[FileEntry]:
    """Return what is in a folder, or a file itself; without *parts* what is in the agent's folder."""
    if parts:
        status = handles.look(root, parts)
        if status is None:
            raise FileNotFoundError
        if not handles.is_folder(status):
            return [FileEntry("/".join(parts), status.st_size)]
    with handles.folder(root, parts) as inside:
        return [entry for entry in handles.walk(inside, parts) if is_path(entry.path)]


def _refuse_move(root: int, old: Parts, new: Parts) -> None:
    """Let a move pass that overwrites nothing, and after which every file still has a path that can be used."""
    if new[: len(old)] == old:
        raise FileOperationError(f"{brief('/'.join(old))} cannot be moved to itself or into itself")
    if handles.look(root, new) is not None:
        raise FileOperationError(f"{brief('/'.join(new))} exists already")
    for entry in _entries(root, old):
        # Every file below gets a longer path, which may pass the limit.
        path_parts("/".join(new) + entry.path[len("/".join(old)) :])
