"""`python -m memory_context` is the command `memory-context`."""

from memory_context.cli import main

if __name__ == "__main__":
    main()
