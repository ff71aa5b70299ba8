"""Find secrets in HTTP headers and URLs."""

from __future__ import annotations

import base64
import binascii

from memory_context.text.redact.command_passwords import is_password
from memory_context.text.redact.kinds_of_rules import PatternRule
from memory_context.text.redact.value_looks_secret import is_made_up, is_random


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


CARRIED = (
    PatternRule(
        "bearer_token",
        r"bearer[\s%+]",
        # In a URL the blank is escaped. Another such name ends the value, so that nothing is read from many names.
        r"(?i:bearer)(?:\s{1,8}|%20|\+)(?P<value>(?:(?!(?i:bearer\+))[A-Za-z0-9._~+/-]){16,}+={0,2})",
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
        is_password,
    ),
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
    # PostgreSQL's .pgpass
    PatternRule(
        "password",
        ":5432:",
        r"(?<=(?:\A|\s)[\w.*-]{1,100}):5432:[\w.*-]{1,64}:[\w.*-]{1,64}:(?P<value>[^\s:]{4,128})(?=\s|\Z)",
        is_made_up,
    ),
)
