"""What is known of a conversation beyond its messages, such as its owner; a host keeps it as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from memory_context.exceptions import StateOwnerError


@dataclass(frozen=True, slots=True)
class ConversationFacts:
    """What is known of a conversation beyond its messages. A host keeps it beside them, as JSON.

    Attributes:
        user_id: The user whose conversation it is; None until a model is asked.
        undecided: The id of the newest question if recall for it has to wait: it arrived within a group that a model had
            seen in part, so what it needs is brought back before the next group.
        trusted: Keys that may be passed on to tools, besides those of the messages.
        judge_calls: How often a judge other than keyword matching was asked.
        judge_tokens: The tokens that these decisions cost.
    """

    user_id: str | None = None
    undecided: str | None = None
    trusted: tuple[str, ...] = ()
    judge_calls: int = 0
    judge_tokens: int = 0

    def check_owner(self, user_id: str) -> None:
        """Check that the conversation is this user's, or nobody's yet.

        Raises:
            StateOwnerError: It belongs to another user.
        """
        if self.user_id not in (None, user_id):
            raise StateOwnerError(
                f"this conversation does not belong to the user {user_id!r}: "
                "give each user conversations of their own"
            )
