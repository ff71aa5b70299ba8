"""Find passwords in command lines, by the options of commands."""

from __future__ import annotations

import re
from functools import cache

import regex

from memory_context.text.redact.kinds_of_rules import PatternRule, Rule
from memory_context.text.redact.value_looks_secret import is_made_up, is_placeholder
from memory_context.text.spans import Span

_WRITTEN_IN_EXAMPLES = (
    "password passwd pass pwd pw secret token xxx xxxx xxxxx yourpassword mypassword redacted"
)
_EXAMPLES = _WRITTEN_IN_EXAMPLES.split()


def is_password(value: str) -> bool:
    """Return whether this may be a password, and not what documentation writes in its place."""
    return value.strip("<>{}[]()$%*").lower() not in _EXAMPLES and not is_placeholder(value)


# An argument ends before a quote, escaped or not: in JSON, an escaped quote may close the quotes around the argument.
_ARGUMENT = r"(?P<value>(?:[^\s\"'\\]|\\++[^\s\"'\\]){1,256})"
_CURL = r"(?:-[A-Za-z]{0,8}u|--(?:proxy-)?user)[ =]?[\"']?[^\s:\"']{1,64}:"
_SQL, _LDAP = "-p", "-w "
# The option with which each command takes a password, according to its manual.
_OPTIONS = {
    "7z": "-p",
    "curl": _CURL,
    "ldapadd": _LDAP,
    "ldapmodify": _LDAP,
    "ldapsearch": _LDAP,
    "login": "-p ",  # of docker, podman and az
    "mariadb": _SQL,
    "mariadb-dump": _SQL,
    "mongodump": "-p ",
    "mongosh": "-p ",
    "mysql": _SQL,
    "mysqladmin": _SQL,
    "mysqldump": _SQL,
    "redis-cli": "-a ",
    "sshpass": "-p[ =]?",
    "unzip": "-P ",
    "zip": "-P ",
}
_LONGEST_COMMAND = 300
_COMMAND_WORD = re.compile(r"[\w-]+|[\n|;]")


@cache
def _argument_of(command: str) -> regex.Pattern[str]:
    return regex.compile(rf" {_OPTIONS[command]}[\"']?{_ARGUMENT}")


class CommandRule(Rule):
    """Finds a password in a command line, by the option before it."""

    def find(self, text: str, position: int) -> Span | None:
        """See `Rule.find`."""
        words = _COMMAND_WORD.findall(text, max(0, position - _LONGEST_COMMAND), position)
        for word in reversed(words):
            if word in "\n|;":  # another command
                return None
            if word in _OPTIONS:
                given = _argument_of(word).match(text, position)
                if given is None or not is_password(given["value"]):
                    return None
                # With the other commands, an option of this letter may mean something else.
                if word in ("curl", "sshpass") or is_made_up(given["value"]):
                    return given.span("value")
                return None
        return None


IN_COMMANDS = (
    CommandRule("password", r" -(?:-(?:proxy-)?user[ =]|p[ =\"'!-~]|[a-z]{0,8}[auw][ =\"'])"),
    # Passwords for openssl and for chpasswd.
    PatternRule(
        "password",
        r"pass:[^\s]{4}",
        rf"(?<=-pass(?:in|out)?[ =][\"']?)pass:{_ARGUMENT}",
        is_password,
    ),
    PatternRule(
        "password",
        r"echo [\"']?[a-z0-9_.-]{1,32}:",
        r"(?i:echo) [\"']?[\w.-]{1,32}:(?P<value>[^\s\"']{4,128})[\"']?\s{0,4}\|\s{0,4}(?:sudo )?chpasswd\b",
        is_password,
    ),
)
