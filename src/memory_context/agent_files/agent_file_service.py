"""A folder of text files for each agent, which no path, link or race can leave."""

from __future__ import annotations

import builtins
import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from memory_context.agent_files import file_handles
from memory_context.agent_files.file_handles import FileEntry as FileEntry
from memory_context.agent_files.file_handles import Parts
from memory_context.agent_files.filenames import (
    agent_folder,
    brief,
    caseless,
    is_path,
    path_parts,
)
from memory_context.agent_files.text_edits import inserted, numbered, replaced_once
from memory_context.exceptions import (
    AgentMemoryError,
    AgentMemoryFileNotFoundError,
    AgentNotFoundError,
    FileOperationError,
    InvalidPathError,
)
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_not_negative
from memory_context.runtime import log_events

FOLDER = "agent_memory"
LOCKS = ".locks"
QUOTA_BYTES = 10_000_000
# The number is limited because each write walks through all files and folders to add up their sizes.
MOST_ENTRIES = 10_000
LOCK_SECONDS = 10.0

Read = Callable[[], str | None]


class AgentMemoryService:
    """Text files of agents, each agent's in ``<app_cache_dir>/agent_memory/<agent_instance_id>/``.

    A path is relative to the agent's folder, with ``/`` between its names. ``.`` and doubled slashes are ignored:
    ``./a//b.md`` is ``a/b.md``. Texts are UTF-8 and are not changed, line breaks included.

    Writes are atomic, even if the process is killed. Changes to one agent's files are made one after the other,
    whichever threads or processes make them. Nothing outside the agent's folder is ever read or written: each name is
    opened relative to its folder's handle, and no link is followed.

    Every method raises `InvalidPathError` for an invalid path or agent's id, `AgentNotFoundError` if the agent's folder
    cannot be made or used, and `FileOperationError` for any other problem. Operations, and files that are not found,
    are logged at level INFO, refused paths and operations at WARNING, and system errors at ERROR. On Windows,
    where folders have no handles, every method raises `AgentNotFoundError`.

    Args:
        app_cache_dir: The application's folder. It, and everything above it, is trusted.
        quota_bytes: The largest total size of one agent's files. There may be 10,000 files and folders at most, too.
        lock_seconds: How many seconds a change waits for earlier ones.

    Attributes:
        base_memory_path: The folder that contains the agents' folders.

    Raises:
        InvalidArgumentError: The folder is not a path, or the quota or the time is not a number, 0 or more.
    """

    def __init__(
        self,
        app_cache_dir: str | os.PathLike[str],
        *,
        quota_bytes: int = QUOTA_BYTES,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        check_arguments(app_cache_dir=app_cache_dir)
        self.app_cache_dir = Path(app_cache_dir).absolute()
        self.base_memory_path = self.app_cache_dir / FOLDER
        self.quota_bytes = quota_bytes
        self.lock_seconds = lock_seconds
        check_not_negative(self, ("quota_bytes", "lock_seconds"))
        try:
            self._make_base()
        except AgentNotFoundError as error:
            log_events.FOLDER_MISSING.log(error)

    def read_memory_file(self, agent_instance_id: str, relative_file_path: str) -> str:
        """Return the text of a file.

        Raises:
            AgentMemoryFileNotFoundError: There is no such file.
        """
        with self._logged("read", agent_instance_id, relative_file_path):
            return self._text_of(agent_instance_id, relative_file_path)

    def write_memory_file(
        self, agent_instance_id: str, relative_file_path: str, content: str
    ) -> None:
        """Write *content* to a file, replacing its text if it exists. Missing folders are made."""
        self._change(agent_instance_id, relative_file_path, lambda _: content)

    def append_to_memory_file(
        self, agent_instance_id: str, relative_file_path: str, content: str
    ) -> None:
        """Append *content* to a file, which is made if it is missing. Concurrent appends do not mix or get lost."""

        def appended(read: Read) -> str:
            return (read() or "") + _checked(content)

        self._change(agent_instance_id, relative_file_path, appended)

    def create(self, agent_instance_id: str, relative_file_path: str, content: str) -> None:
        """Make a new file.

        Raises:
            FileOperationError: The file exists already; it is not changed.
        """

        def only_new(read: Read) -> str:
            """Return the content if there is no such file yet."""
            if read() is not None:
                raise FileOperationError(
                    f"the file {brief(relative_file_path)} exists already; change it, or delete it first"
                )
            return content

        self._change(agent_instance_id, relative_file_path, only_new)

    def str_replace(
        self, agent_instance_id: str, relative_file_path: str, old_str: str, new_str: str = ""
    ) -> int:
        """Replace *old_str*, which must occur in the file exactly once, by *new_str*; return the line on which it began.

        Raises:
            AgentMemoryFileNotFoundError: There is no such file.
        """
        line = 0

        def replaced(read: Read) -> str:
            nonlocal line
            text, line = replaced_once(
                _existing(read), _checked(old_str, "old_str"), _checked(new_str, "new_str")
            )
            return text

        self._change(agent_instance_id, relative_file_path, replaced)
        return line

    def insert(
        self, agent_instance_id: str, relative_file_path: str, insert_line: int, insert_text: str
    ) -> None:
        """Insert the lines of *insert_text* after line *insert_line*; 0 inserts them before the first line.

        Raises:
            AgentMemoryFileNotFoundError: There is no such file.
        """
        self._change(
            agent_instance_id,
            relative_file_path,
            lambda read: inserted(
                _existing(read), insert_line, _checked(insert_text, "insert_text")
            ),
        )

    def delete(self, agent_instance_id: str, relative_path: str) -> None:
        """Delete a file, or a folder with everything in it.

        Raises:
            AgentMemoryFileNotFoundError: There is nothing at this path.
        """
        with (
            self._logged("delete", agent_instance_id, relative_path),
            self._writing(agent_instance_id, make=False) as root,
        ):
            file_handles.remove(root, path_parts(relative_path))

    def rename(self, agent_instance_id: str, old_path: str, new_path: str) -> None:
        """Move a file or folder to a path that does not exist yet. Missing folders are made.

        Raises:
            AgentMemoryFileNotFoundError: There is nothing at *old_path*.
        """
        with self._logged("rename", agent_instance_id, old_path, new_path):
            old = path_parts(old_path)
            new = path_parts(new_path)
            with self._writing(agent_instance_id, make=False) as root:
                _refuse_move(root, old, new)
                self._refuse_excess(root, new, 0, None, moved="/".join(old))
                file_handles.move(root, old, new)

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
            view_range: The first and the last line, counted from 1; -1 as the last line is the end. None: all lines.

        Raises:
            AgentMemoryFileNotFoundError: There is no such file.
        """
        with self._logged("view", agent_instance_id, relative_file_path):
            return numbered(self._text_of(agent_instance_id, relative_file_path), view_range)

    def list(self, agent_instance_id: str, relative_path: str = "") -> builtins.list[FileEntry]:
        """Return the files and folders below a folder, at any depth, or the one file that the path names.

        Without a path, the folder is the agent's own. Links, and files of other programs with names that an agent could
        not use, are left out.

        Raises:
            AgentMemoryFileNotFoundError: There is nothing at this path.
        """
        with self._logged("list", agent_instance_id, relative_path):
            parts = path_parts(relative_path) if relative_path != "" else ()
            try:
                with self._root(agent_instance_id) as root:
                    return _entries(root, parts)
            except FileNotFoundError:
                if parts:
                    raise
                # An agent that has written nothing yet has no folder.
                return []

    def _change(
        self, agent_instance_id: str, relative_file_path: str, edit: Callable[[Read], str]
    ) -> None:
        """Replace the text of a file by what *edit* returns. *edit* is given a function that returns the old text.

        That function returns None if there is no file.
        """
        with self._logged("write", agent_instance_id, relative_file_path):
            parts = path_parts(relative_file_path)
            with self._writing(agent_instance_id) as root:
                status = file_handles.look(root, parts)
                if file_handles.is_folder(status):
                    raise InvalidPathError(
                        f"{brief(relative_file_path)} is a directory, not a file"
                    )

                def read() -> str | None:
                    return self._text(root, parts) if status else None

                # *edit* reads inside the lock, so that nobody changes the file between reading and writing.
                data = _utf8(edit(read))
                old_size = status.st_size if status else None
                self._refuse_excess(root, parts, len(data), old_size)
                file_handles.replace(root, parts, data)

    def _refuse_excess(
        self, root: int, parts: Parts, size: int, old_size: int | None, *, moved: str | None = None
    ) -> None:
        """Refuse a write that would exceed the agent's quota, or spell an existing name in a second way.

        A file may always become smaller. Temporary files that a crash left behind are deleted on the way.

        Args:
            root: The handle of the agent's folder.
            parts: The path of the file to be written.
            size: Its new size in bytes.
            old_size: Its present size; None if it is new.
            moved: The path that it is moved from.

        Raises:
            FileOperationError: The write is refused.
        """
        entries = list(file_handles.walk(root, sweep=True))
        others = [entry.path for entry in entries if entry.path != moved]
        _refuse_second_spelling(others, parts)
        used = sum(entry.size for entry in entries)
        growth = size - (old_size or 0)
        after = used + growth
        # If the quota was lowered below what the agent has, files may still be shortened.
        if after > self.quota_bytes and growth > 0:
            raise FileOperationError(
                f"the agent's files have {used} of at most {self.quota_bytes} bytes, and would have {after}; "
                "shorten or delete some first"
            )
        if old_size is None and len(entries) + len(parts) > MOST_ENTRIES:
            raise FileOperationError(
                f"the agent has {len(entries)} files and folders of at most {MOST_ENTRIES}; "
                "delete some first"
            )

    def _text_of(self, agent_instance_id: str, relative_file_path: str) -> str:
        with self._root(agent_instance_id) as root:
            return self._text(root, path_parts(relative_file_path))

    def _text(self, root: int, parts: Parts) -> str:
        data = file_handles.read(root, parts, self.quota_bytes)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FileOperationError(
                f"the file is not UTF-8 text: byte {error.start} is {data[error.start]:#04x}"
            ) from error

    @contextlib.contextmanager
    def _writing(self, agent_instance_id: str, *, make: bool = True) -> Generator[int]:
        """Hold the agent's lock, and yield the handle of the agent's folder."""
        name = agent_folder(agent_instance_id)
        with contextlib.ExitStack() as stack:
            with _as_agent_not_found(name):
                base = stack.enter_context(self._base())
                locks = stack.enter_context(file_handles.folder(base, (LOCKS,), make=True))
            stack.enter_context(file_handles.locked(locks, name, self.lock_seconds))
            yield stack.enter_context(self._root(agent_instance_id, make=make))

    @contextlib.contextmanager
    def _root(self, agent_instance_id: str, *, make: bool = False) -> Generator[int]:
        """Yield the handle of the agent's folder.

        Raises:
            FileNotFoundError: There is no such folder, and *make* is false.
        """
        name = agent_folder(agent_instance_id)
        with contextlib.ExitStack() as stack:
            with _as_agent_not_found(name):
                base = stack.enter_context(self._base())
                root = stack.enter_context(file_handles.folder(base, (name,), make=make))
                # The file system may take the id for that of another agent, as macOS does with b and B.
                if name not in os.listdir(base):  # noqa: PTH208 - of an open folder
                    raise InvalidPathError(
                        f"the file system takes the agent's id {name!r} for that of another one"
                    )
            yield root

    @contextlib.contextmanager
    def _base(self) -> Generator[int]:
        """Yield the handle of the folder that contains the agents' folders."""
        handle = os.open(self._make_base(), os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield handle
        finally:
            os.close(handle)

    def _make_base(self) -> Path:
        base = self.base_memory_path
        if not file_handles.supported():
            raise AgentNotFoundError(
                f"{base} is not used: this platform cannot open files relative to a folder's handle, or lock them"
            )
        try:
            base.mkdir(file_handles.FOLDER_MODE, parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise AgentNotFoundError(
                f"the folder {base} of all agents cannot be made: {error}"
            ) from error
        return base

    @contextlib.contextmanager
    def _logged(self, verb: str, agent_instance_id: str, *paths: str) -> Generator[None]:
        """Log the outcome of the body, and turn system errors into errors that name the file and the agent."""
        what = " to ".join(map(brief, paths))
        agent = brief(agent_instance_id)
        try:
            yield
        except (InvalidPathError, FileOperationError) as error:
            log_events.PATH_REFUSED.log(error, path=what, agent=agent)
            raise
        except (FileNotFoundError, NotADirectoryError) as error:
            log_events.FILE_NOT_FOUND.log(verb=verb, path=what, agent=agent)
            # A second path is the target of a move, where nothing should be.
            raise AgentMemoryFileNotFoundError(
                f"the agent {agent} has nothing under {brief(paths[0])}"
            ) from error
        except (OSError, RecursionError, AgentNotFoundError) as error:
            log_events.FILE_FAILED.log(error, verb=verb, path=what, agent=agent)
            if isinstance(error, AgentNotFoundError):
                raise
            raise FileOperationError(f"{what} of agent {agent}: {error}") from error
        log_events.FILE_USED.log(verb=verb, path=what, agent=agent)


@contextlib.contextmanager
def _as_agent_not_found(name: str) -> Generator[None]:
    """Turn errors on the way to an agent's folder into `AgentNotFoundError`, but not that it does not exist yet."""
    try:
        yield
    except (AgentNotFoundError, FileNotFoundError):
        raise
    except (OSError, AgentMemoryError) as error:
        raise AgentNotFoundError(
            f"the folder of the agent {name!r} cannot be made or used: {error}"
        ) from error


def _refuse_second_spelling(there: Sequence[str], parts: Parts) -> None:
    """Refuse a path that some file systems take for one that is in *there*, as macOS does with a.md and A.md."""
    spelled = {caseless(path): path for path in there}
    for end in range(1, len(parts) + 1):
        path = "/".join(parts[:end])
        other = spelled.get(caseless(path), path)
        if path != other and path not in there:
            raise FileOperationError(
                f"{brief(path)} exists already, spelled {brief(other)}; use this spelling"
            )


def _existing(read: Read) -> str:
    """Return the text of a file that must exist."""
    text = read()
    if text is None:
        raise FileNotFoundError
    return text


def _checked(text: object, name: str = "the content of a file") -> str:
    """Return *text* if it is a text; *name* says what it is.

    Raises:
        FileOperationError: It is not.
    """
    if not isinstance(text, str):
        raise FileOperationError(f"{name} must be a text, not {type(text).__name__}")
    return text


def _utf8(text: object) -> bytes:
    try:
        return _checked(text).encode("utf-8")
    except UnicodeEncodeError as error:
        raise FileOperationError(
            f"the content cannot be UTF-8: character {error.start} is half of a surrogate pair"
        ) from error


def _entries(root: int, parts: Parts) -> list[FileEntry]:
    """Return the entries below a folder, or the entry of a file. Without *parts*, the folder is the agent's own."""
    if parts:
        status = file_handles.look(root, parts)
        if status is None:
            raise FileNotFoundError
        if not file_handles.is_folder(status):
            return [FileEntry("/".join(parts), status.st_size)]
    with file_handles.folder(root, parts) as inside:
        return [entry for entry in file_handles.walk(inside, parts) if is_path(entry.path)]


def _refuse_move(root: int, old: Parts, new: Parts) -> None:
    """Refuse a move that would overwrite something, or give a file a path that is not valid."""
    old_path = "/".join(old)
    new_path = "/".join(new)
    if new[: len(old)] == old:
        raise FileOperationError(f"{brief(old_path)} cannot be moved to itself or into itself")
    if file_handles.look(root, new) is not None:
        raise FileOperationError(f"{brief(new_path)} exists already")
    for entry in _entries(root, old):
        # Checks the new path of each file below, which may be too long.
        path_parts(new_path + entry.path[len(old_path) :])
