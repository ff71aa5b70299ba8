"""A code executor for AutoGen's `CodeExecutorAgent`; the code opens memories as files, by their references."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult

from memory_context import sentences_models_read as prompts
from memory_context.conversation.references.pass_by_reference import NotPassedError, PassingPolicy
from memory_context.conversation.references.texts_as_files_for_tools import with_files
from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime.threads import off_loop

if TYPE_CHECKING:
    from memory_context.autogen.context import MemoryContext

TOOL = "code"


class MemoryCodeExecutor(CodeExecutor):
    """Runs code with another executor, after writing the memories that the code names to files in its working directory.

    ``open("[MemoryRef: orders_3f9a]")`` reads ``orders_3f9a.txt``. Only trusted references are written (see
    `MemoryContext.trusted_keys`), and secrets only if the policy's `secrets_for` names the tool ``code``. The files are
    not deleted afterwards.

    Args:
        executor: Runs the code.
        context: The context of the agent that writes the code.
        directory: The working directory; by default the executor's ``work_dir``.
        policy: How large the files may be, and whether secrets are written.

    Raises:
        InvalidArgumentError: No directory was given, and the executor has none.
    """

    def __init__(
        self,
        executor: CodeExecutor,
        context: MemoryContext,
        *,
        directory: str | Path | None = None,
        policy: PassingPolicy | None = None,
    ) -> None:
        self._executor = executor
        self._context = context
        self._given_directory = None if directory is None else Path(directory)
        self._policy = policy or PassingPolicy()
        if directory is None and not hasattr(type(executor), "work_dir"):
            raise InvalidArgumentError(f"{type(executor).__name__} has no work_dir: set directory=")

    @property
    def directory(self) -> Path:
        """Return the working directory, which the files are written to."""
        return self._given_directory or Path(getattr(self._executor, "work_dir"))  # noqa: B009 - not all have it

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        """Write the memories that the blocks name to files, then run the blocks; see `CodeExecutor`."""
        try:
            codes = await off_loop(
                with_files,
                [block.code for block in code_blocks],
                TOOL,
                self._policy,
                self._context.manager,
                self._context.trusted_keys(),
                self.directory,
            )
        except NotPassedError as refused:
            return CodeResult(1, prompts.NOT_CALLED.format(tool=TOOL, reason=refused))
        pairs = zip(codes, code_blocks, strict=True)
        blocks = [CodeBlock(code, block.language) for code, block in pairs]
        return await self._executor.execute_code_blocks(blocks, cancellation_token)

    async def start(self) -> None:
        """Start the other executor."""
        await self._executor.start()

    async def stop(self) -> None:
        """Stop the other executor."""
        await self._executor.stop()

    async def restart(self) -> None:
        """Restart the other executor."""
        await self._executor.restart()
