"""The definitions of a replay's figures and policies, for the terminal and for the report."""

from __future__ import annotations

from memory_context.replay.identifiers_needed_and_shown import NEIGHBOURS, SHORTEST
from memory_context.replay.prices import TOKENS_PER_MESSAGE, Price


def _terms(text: str) -> tuple[tuple[str, str], ...]:
    """Return terms and their explanations, parsed from paragraphs that begin with ``term: ``."""
    terms = list[tuple[str, str]]()
    for paragraph in text.strip().split("\n\n"):
        term, _, explanation = " ".join(paragraph.split()).partition(": ")
        terms.append((term, explanation))
    return tuple(terms)


_PRICE = Price()

EXPLANATIONS = {
    "Definitions": _terms(f"""
replay: For each model call of a recording, the prompt that a policy would have sent is built and measured. No model is
called: the recorded answer is taken as the answer under every policy.

tokens: The tokens of all prompts, by o200k_base if it is available and estimated otherwise, plus {TOKENS_PER_MESSAGE} for
each message; as a share of the unbounded context's.

cost: Tokens, where those of the prefix that is unchanged since the previous call count {_PRICE.cached:g} each. Prefixes are
compared message by message, then by characters inside the first message that differs. A call that needs a value out of
sight costs a trip in addition. As a share of the unbounded context's. With --price the cached share is that model's.

+ tools: The cost including what every request of the policy carries beside its messages: the schemas of its own tools.
A run's first request pays for them in full, each later one {_PRICE.cached:g}. The explanation in a first reference
is part of the messages, so `cost` includes it.

trip: {_PRICE.cached:g} x the call's prompt + min({_PRICE.fetched:,}, tokens of the output that holds the value) +
{_PRICE.asked}. The output is the newest one that holds it; of several values, the largest of these outputs. One trip
per call, however many values it needs.

peak: The largest prompt of a run, as a share of the unbounded context's; the median over the runs.

of ref: The largest prompt of a run, as a share of that of "reference only"; the median over the runs.

needed: An identifier of the next recorded assistant message, its text and the arguments of its calls, that occurs in an
earlier tool output and in no other earlier message. The same for every policy.

identifier: A match of [A-Za-z0-9_][A-Za-z0-9_./:@#-]{{4,}} without . : / - at both ends, of {SHORTEST} characters or
more, with a digit, _, /, @, #, an inner . or a capital after a small letter.

named: The share of the needed values whose name is in the prompt.

visible: The share of the needed values that are in the prompt with {NEIGHBOURS} or more characters of the original on
one side, or with the whole original if neither side has that many; a run of white space, quotes, brackets, commas and
colons counts as one space. A bare name does not say what it names.

lost: Needed values that are neither visible nor behind a reference in the prompt.

trips: Calls that need a value which is not visible but is behind a reference.

"""),
    "Policies": _terms("""
unbounded: AutoGen's UnboundedChatCompletionContext: everything, always.

buffered: AutoGen's BufferedChatCompletionContext: the last `size` messages.

ends: AutoGen's HeadAndTailChatCompletionContext: the first `head` and the last `tail` messages.

limited: AutoGen's TokenLimitedChatCompletionContext: messages are left out of the middle, down to `tokens`.

mask: All outputs of tools but the last `keep` are replaced by a placeholder that nothing can redeem.

clear: The same, but only in prompts whose messages have more than `trigger` tokens in full: LangChain's ClearToolUsesEdit.

summarize: From `trigger` tokens on, all but the last `keep` messages are replaced by a summary of `words` words, which holds
no value: LangChain's SummarizationMiddleware; the call that writes the summary is counted.

compact: Above half of `tokens`, the results of all but the last `keep` calls become short texts; above 0.8 of it the oldest
messages are dropped: Agent Framework's ContextWindowCompactionStrategy.

offload: Outputs over `threshold` tokens are replaced, as they come in, by a reference and `lines` lines of either end.

evict: The same, for outputs over 4 x `threshold` characters: deepagents' FilesystemMiddleware, with its file tools counted.

reference: A MemoryContext that leaves only the reference: no preview, no recall.

memory: A MemoryContext with the given settings, and its defaults for the others.
"""),
}
"""The terms of each list, by its title."""
