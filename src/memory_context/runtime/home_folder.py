"""The home folder, which not every user has."""

from pathlib import Path

from memory_context.exceptions import InvalidArgumentError


def home_folder(otherwise: str = "") -> Path:
    """Return the home folder of the user that this process runs as.

    Args:
        otherwise: What a user without one can do instead of setting ``HOME``, such as ", or give --file FILE".

    Raises:
        InvalidArgumentError: There is none, as in a container that runs as a user id without a name.
    """
    try:
        return Path.home()
    except RuntimeError:
        raise InvalidArgumentError(f"there is no home folder: set HOME{otherwise}") from None
