"""A store of memories as files that people can read and edit. For POSIX systems only."""

from memory_context.exceptions import MissingDependencyError

try:
    import fcntl as fcntl
except ImportError as error:
    raise MissingDependencyError(
        "FileStore needs a POSIX system: Windows has neither flock nor directory handles; use sqlite:///memory.db"
    ) from error
