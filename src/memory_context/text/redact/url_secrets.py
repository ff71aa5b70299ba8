"""Find secrets in HTTP headers, URLs, and command lines."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from functools import cache

import regex

from memory_context.text.ranges import Span
from memory_context.text.redact.kinds_of_rules import PatternRule, Rule
from memory_context.text.redact.value_looks_secret import (
    is_made_up,
    is_placeholder,
    is_random,
)

_EXAMPLES = frozenset(
    (
        "password",
        "passwd",
        "pass",
        "pwd",
        "pw",
        "secret",
        "token",
        "xxx",
        "xxxx",
        "xxxxx",
        "yourpassword",
        "mypassword",
        "redacted",
    )
)


def _is_token(value: str) -> bool:
    return is_random(value.rstrip("."))


def _is_user_and_password(value: str) -> bool:
    """Return whether this is ``user:password`` in base64, padded or not (RFC 7617)."""
    unpadded = value.rstrip("=")
    padding = "=" * (-len(unpadded) % 4)
    try:
        plain = base64.b64decode(unpadded + padding, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    user, _, password = plain.partition(":")
    return password != "" and (user + password).isprintable()


def _is_password(value: str) -> bool:
    """Return whether this may be a password, and not what documentation writes in its place."""
    return value.strip("<>{}[]()$%*").lower() not in _EXAMPLES and not is_placeholder(value)


# An argument ends before an escaped quote: in JSON this ends the string of the argument, or is the end of the argument.
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


@dataclass(frozen=True, slots=True)
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
                if given is None or not _is_password(given["value"]):
                    return None
                # Other commands also use an option with this letter for something else.
                is_certain = word in ("curl", "sshpass") or is_made_up(given["value"])
                return given.span("value") if is_certain else None
        return None


CARRIED = (
    PatternRule(
        "bearer_token",
        r"bearer[\s%+]",
        # In a URL the blank is escaped.
        r"(?i:bearer)(?:\s{1,8}|%20|\+)(?P<value>[A-Za-z0-9._~+/-]{16,}+={0,2})",
        _is_token,
    ),
    PatternRule(
        "basic_auth",
        r"basic[\s%]",
        r"(?i:basic)(?:\s{1,8}|%20)(?P<value>[A-Za-z0-9+/]{6,}+={0,2})",
        _is_user_and_password,
    ),
    PatternRule(
        "url_password",
        r":\\?/\\?/[^\s/]{0,200}@",
        # JSON may escape the slashes. A port followed by a path is not a password. The last @ ends the password, and a
        # host must follow. Quotes and blanks are never part of a URL.
        r":\\?/\\?/[^\s/?#:@\"'<>`\\]{0,128}:(?![0-9]{1,5}[/?#])"
        r"(?P<value>(?:[!#-&(-.0-;=?A-\[\]-_a-~]|\\u[0-9a-f]{4}|@(?=[^\s/@\"'<>`\\?#]{0,200}@)){1,256})@(?=[\w\[.%-])"
        # A token in the place of the user. Those in Sentry's addresses are public.
        r"|://(?P<value>(?=[\w-]{0,30}[0-9])(?=[\w-]{0,30}[A-Za-z])[\w-]{32,255})@(?=[\w\[])(?![\w.]{0,40}\bsentry\.)",
        _is_password,
    ),
    CommandRule("password", r" -(?:-(?:proxy-)?user[ =]|p[ =\"'!-~]|[a-z]{0,8}[auw][ =\"'])"),
    # In Docker's config.json and in .npmrc: https://docs.docker.com/reference/cli/docker/login/
    PatternRule(
        "basic_auth",
        r"auth[\"']?\s{0,4}[:=]\s{0,4}[\"']?[a-z0-9+/]{8}",
        r"(?i:auth)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<value>[A-Za-z0-9+/]{8,512}={0,2})(?![\w+/=.-])",
        _is_user_and_password,
    ),
    # Credentials for a gem server: https://bundler.io/man/bundle-config.1.html
    PatternRule(
        "password",
        "bundle_",
        r"BUNDLE_[A-Z0-9_]{3,80}[\"']?\s{0,3}[=:,>]{1,4}\s{0,3}[\"']?(?P<value>[^\s\"':]{4,64}:[^\s\"':,;]{4,64})",
    ),
    # Passwords for openssl, for chpasswd, and in PostgreSQL's .pgpass.
    PatternRule(
        "password",
        r"pass:[^\s]{4}",
        rf"(?<=-pass(?:in|out)?[ =][\"']?)pass:{_ARGUMENT}",
        _is_password,
    ),
    PatternRule(
        "password",
        r"echo [\"']?[a-z0-9_.-]{1,32}:",
        r"(?i:echo) [\"']?[\w.-]{1,32}:(?P<value>[^\s\"']{4,128})[\"']?\s{0,4}\|\s{0,4}(?:sudo )?chpasswd\b",
        _is_password,
    ),
    PatternRule(
        "password",
        ":5432:",
        r"(?<=(?:\A|\s)[\w.*-]{1,100}):5432:[\w.*-]{1,64}:[\w.*-]{1,64}:(?P<value>[^\s:]{4,128})(?=\s|\Z)",
        is_made_up,
    ),
    # https://developer.paypal.com/braintree/docs/guides/extend/oauth/access-tokens
    PatternRule(
        "token",
        r"access_token\$[a-z]",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
    ),
    # https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
    PatternRule(
        "aws_key",
        "x-amz-signature=",
        r"(?i:x-amz-signature)=(?P<value>[a-f0-9]{64})",
    ),
    PatternRule("azure_key", "sig=", r"(?<=[?&;])sig=(?P<value>[A-Za-z0-9%+/_-]{40,100}={0,2})"),
    # https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook
    PatternRule(
        "teams_webhook",
        "/incomingwebhook/",
        r"(?<=\.office\.com/webhookb2/[\w@-]{60,100})/IncomingWebhook/(?P<value>[a-f0-9]{32}/[a-f0-9-]{36})",
    ),
    # https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
    PatternRule(
        "slack_webhook",
        r"hooks\.slack\.com/",
        r"hooks\.slack\.com/[a-z]+/(?P<value>[A-Za-z0-9+/]{30,100})",
    ),
    # https://discord.com/developers/docs/resources/webhook
    PatternRule(
        "discord_webhook",
        "/api/webhooks/",
        r"/api/webhooks/[0-9]{15,22}/(?P<value>[A-Za-z0-9_-]{60,80})",
    ),
)
