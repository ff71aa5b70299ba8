"""Secrets that are none: made when the tests run, of pieces, so that no scanner takes the repository for leaking."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from memory_context.text.redact.vendor_keys import VENDOR_KEYS, VendorKey
from sampled import sampled

LETTERS, DIGITS, HEX = string.ascii_letters, string.digits, "0123456789abcdef"
MIXED = LETTERS + DIGITS
WORD = MIXED + "_-"


@dataclass(frozen=True)
class Planted:
    """A secret, and what it is called when it is redacted."""

    kind: str
    text: str
    value: str = ""

    @property
    def secret(self) -> str:
        """What must be gone."""
        return self.value or self.text


def some(chosen: random.Random, characters: str, count: int) -> str:
    """Characters by chance, a letter of each case and a digit among them where there is room for them."""
    text = "".join(chosen.choice(characters) for _ in range(count))
    is_mixed = characters in (MIXED, WORD)
    return text[:-3] + "q7X" if is_mixed and count >= 8 else text


Make = Callable[[random.Random], str]


def jwt(chosen: random.Random) -> str:
    """A JWT that was signed with nothing."""

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': 'ann', 'n': chosen.random()})}.{some(chosen, WORD, 43)}"


TOKENS: list[tuple[str, Make]] = [
    ("aws_key", lambda r: "AKI" + "A" + some(r, string.ascii_uppercase + "234567", 16)),
    ("aws_key", lambda r: "ASI" + "A" + some(r, string.ascii_uppercase + "234567", 16)),
    *(("github_token", lambda r, k=k: f"gh{k}_" + some(r, MIXED, 36)) for k in "pousr"),
    ("github_token", lambda r: "github_" + "pat_" + some(r, MIXED, 22) + "_" + some(r, MIXED, 59)),
    ("gitlab_token", lambda r: "glp" + "at-" + some(r, WORD, 20)),
    ("gitlab_token", lambda r: "glr" + "t-" + some(r, WORD, 27) + ".01." + some(r, HEX, 9)),
    ("openai_key", lambda r: "s" + "k-proj-" + some(r, WORD, 74) + "T3Blbk" + "FJ" + some(r, WORD, 74)),
    ("openai_key", lambda r: "s" + "k-" + some(r, MIXED, 20) + "T3Blbk" + "FJ" + some(r, MIXED, 20)),
    ("openrouter_key", lambda r: "s" + "k-or-v1-" + some(r, HEX, 64)),
    ("anthropic_key", lambda r: "s" + "k-ant-api03-" + some(r, WORD, 93) + "AA"),
    ("google_key", lambda r: "AIz" + "a" + some(r, WORD, 35)),
    ("google_key", lambda r: "GOC" + "SPX-" + some(r, WORD, 28)),
    ("google_token", lambda r: "ya2" + "9." + some(r, WORD, 120)),
    ("slack_token", lambda r: "xox" + f"b-{r.randrange(10**11, 10**12)}-{r.randrange(10**12, 10**13)}-" + some(r, MIXED, 24)),
    ("slack_token", lambda r: "xap" + "p-1-A0" + some(r, string.ascii_uppercase, 9) + "-1234567890123-" + some(r, HEX, 64)),
    ("stripe_key", lambda r: "sk_" + "live_" + some(r, MIXED, 24)),
    ("stripe_key", lambda r: "rk_" + "test_" + some(r, MIXED, 99)),
    ("npm_token", lambda r: "np" + "m_" + some(r, MIXED, 36)),
    ("pypi_token", lambda r: "pyp" + "i-AgEIcHlwaS5vcmc" + some(r, WORD, 150)),
    ("huggingface_token", lambda r: "h" + "f_" + some(r, LETTERS, 33) + "Q"),
    ("azure_key", lambda r: some(r, MIXED, 3) + "8" + "Q~" + some(r, MIXED, 34)),
    ("azure_key", lambda r: some(r, MIXED, 76) + "AZ" + "DO" + some(r, MIXED, 4)),
    ("azure_key", lambda r: some(r, MIXED, 52) + "JQQ" + "J99" + some(r, MIXED, 26)),
    ("telegram_token", lambda r: f"{r.randrange(10**8, 10**10)}" + ":A" + "A" + some(r, MIXED, 33)),
    ("sendgrid_key", lambda r: "S" + "G." + some(r, MIXED, 22) + "." + some(r, MIXED, 43)),
    ("digitalocean_token", lambda r: "dop" + "_v1_" + some(r, HEX, 64)),
    ("databricks_token", lambda r: "dap" + "i" + some(r, HEX, 32)),
    ("docker_token", lambda r: "dckr" + "_pat_" + some(r, WORD, 27)),
    ("shopify_token", lambda r: "shp" + "at_" + some(r, HEX, 32)),
    ("grafana_token", lambda r: "gls" + "a_" + some(r, MIXED, 32) + "_" + some(r, HEX, 8)),
    ("groq_key", lambda r: "gs" + "k_" + some(r, MIXED, 52)),
    ("xai_key", lambda r: "xa" + "i-" + some(r, MIXED, 80)),
    ("perplexity_key", lambda r: "ppl" + "x-" + some(r, MIXED, 48)),
    ("replicate_token", lambda r: "r" + "8_" + some(r, MIXED, 37)),
    ("langsmith_key", lambda r: "lsv" + "2_pt_" + some(r, HEX, 32) + "_" + some(r, HEX, 10)),
    ("linear_key", lambda r: "lin" + "_api_" + some(r, MIXED, 40)),
    ("notion_token", lambda r: "nt" + "n_" + some(r, MIXED, 46)),
    ("figma_token", lambda r: "fig" + "d_" + some(r, MIXED, 43)),
    ("postman_key", lambda r: "PMA" + "K-" + some(r, HEX, 24) + "-" + some(r, HEX, 34)),
    ("newrelic_key", lambda r: "NRA" + "K-" + some(r, string.ascii_uppercase + DIGITS, 27)),
    ("atlassian_token", lambda r: "ATA" + "TT3" + some(r, WORD, 186)),
    ("sentry_token", lambda r: "sntr" + "yu_" + some(r, HEX, 64)),
    ("supabase_key", lambda r: "sb" + "p_" + r.choice(("", "oauth_", "v0_")) + some(r, HEX, 40)),
    ("rubygems_key", lambda r: "ruby" + "gems_" + some(r, HEX, 48)),
    ("tailscale_key", lambda r: "tsk" + "ey-auth-" + some(r, MIXED, 12) + "-" + some(r, MIXED, 32)),
    ("heroku_key", lambda r: "HRK" + "U-AA" + some(r, WORD, 58)),
    ("planetscale_token", lambda r: "psca" + "le_tkn_" + some(r, MIXED, 43)),
    ("vault_token", lambda r: "hv" + "s." + some(r, MIXED, 90)),
    ("private_key", lambda r: "AGE-SECRET-" + "KEY-1" + some(r, string.ascii_uppercase + DIGITS, 58)),
    ("jwt", lambda r: jwt(r)),  # noqa: PLW0108 - defined below
]  # fmt: skip

_OWN_SAMPLES = {kind for kind, _ in TOKENS} | {"private_key"}


def of_form(key: VendorKey) -> Make:
    """What makes keys of a form, each with one of its names."""
    before, names, behind = key.parts()

    def make(chosen: random.Random) -> str:
        return sampled(before + re.escape(chosen.choice(names)) + behind, chosen)

    return make


TOKENS += [(key.kind, of_form(key)) for key in VENDOR_KEYS if key.kind not in _OWN_SAMPLES]

CONTEXTS: dict[str, str] = {
    "alone": "{}",
    "line": "first line\n{}\nlast line\n",
    "prose": "The value is {}, and nobody should see it.",
    "end of sentence": "Nobody should see {}.",
    "quoted": "it is '{}'.",
    "backticks": "run it with `{}` in place",
    "assigned": "VALUE={}\n",
    "yaml": "settings:\n  value: {}\n  other: 1\n",
    "python": 'client = Client("{}", timeout=3)',
    "json": '{{"id": 1, "value": "{}", "next": null}}',
    "json in json": '{{"body": "{{\\"value\\": \\"{}\\"}}"}}',
    "repr": "{{'value': '{}', 'n': 1}}",
    "after an escape": '{{"log": "line one\\n{}\\nline three"}}',
    "query": "https://api.example.org/v1?value={}&page=2",
    "in colour": "\x1b[32m{}\x1b[0m done",
    "colour in json": '{{"out": "\\u001b[1;31m{}\\u001b[0m"}}',
    "diff": "-old\n+{}\n context",
    "csv": "1,ann,{},2026-01-01",
    "table": "| name | {} | 12 |",
    "markup": "<td>{}</td>",
    "shell": "export X='{}' && ./run.sh",
    "chinese": "密钥是{}，请勿外传。",
    "crlf": "one\r\n{}\r\ntwo\r\n",
    "markdown": "* **{}** is it",
    "tab": "name\t{}\tvalue",
}


def pem(chosen: random.Random, name: str = "RSA PRIVATE KEY", lines: int = 25) -> str:
    """A block as OpenSSL writes it; no key."""
    body = "\n".join(some(chosen, MIXED + "+/", 64) for _ in range(lines))
    dashes = "-" * 5
    return f"{dashes}BEGIN {name}{dashes}\n{body}\n{some(chosen, MIXED, 30)}==\n{dashes}END {name}{dashes}"


# Secrets without a form: {} is the value, made by the second entry.
PASSWORDS: list[Make] = [
    lambda r: some(r, string.ascii_lowercase, 6) + str(r.randrange(10, 9999)),
    lambda r: some(r, LETTERS, 8) + "!" + some(r, DIGITS, 2),
    lambda r: "Pa$$" + some(r, LETTERS, 5) + "9",
    lambda r: some(r, MIXED, 24),
]
KEYS: list[Make] = [
    lambda r: some(r, MIXED, 32),
    lambda r: some(r, MIXED, 20),
    lambda r: "0a9f" + some(r, HEX, 36),
]
_PASSWORD_PLACES = {
    "password": (
        'password="{}"', "password = '{}'", '"password": "{}"', "'password': '{}'", '"db_password":"{}"', "DB_PASSWORD={}\n",
        "export PGPASSWORD='{}'", "password: {}\n", '  password: "{}"\n', "spring.datasource.password={}\n", "passwd={}",
        'PASSPHRASE="{}"', '{{"user": "ann", "userPassword": "{}"}}', "Server=db;Uid=sa;Pwd={};", "--password {}", "--password={}",
        "<password>{}</password>", '<add key="Password" value="{}" />', '{{"name": "DB_PASSWORD", "value": "{}"}}',
        "- name: DB_PASSWORD\n  value: {}\n", 'password: str = "{}"', ":password => '{}'", "ALTER USER ann WITH PASSWORD '{}'",
        '{{"body": "{{\\"password\\": \\"{}\\"}}"}}', "login ann password {}\n", "curl -s -u ann:{} https://example.org",
        "sshpass -p {} ssh ann@example.org", 'if password == "{}":', "DB_PASS={}\n", "https://example.org/login?password={}",
        'account.setPassword("{}");', 'os.environ.get("DB_PASSWORD", "{}")', "CREATE USER ann IDENTIFIED BY '{}';", "auth: {{ user: 'ann', pass: '{}' }}",
        "The generated password is: {}", "Password for user ann: {}", "A temporary password is generated for root@localhost: {}",
        "mysql -u ann -p{} shop", "redis-cli -h cache -a {} ping", "docker login -u ann -p {} example.org", "curl -sSu ann:{} https://example.org",
        "mongosh -u ann -p {} --host db", "ldapsearch -D cn=ann -w {} -b dc=example", "unzip -P {} a.zip", "curl --proxy-user ann:{} https://example.org",
    ),
    "url_password": (
        "postgresql://ann:{}@db.example.org:5432/x", "https://ann:{}@example.org/repo.git", "redis://:{}@cache:6379/0",
        "mongodb+srv://ann:{}@cluster0.example.net/x", '{{"url": "amqp://ann:{}@queue/"}}', "postgres:\\/\\/ann:{}@db\\/x",
        "git+https://ann:{}@[::1]/x",
    ),
}  # fmt: skip
_KEY_PLACES = {
    "api_key": (
        'api_key="{}"', "API_KEY={}\n", '"apiKey": "{}"', "X-Api-Key: {}\n", "api-key: {}\n", "access_key = '{}'",
        "AccountName=x;AccountKey={};EndpointSuffix=core", "https://example.org/v1?apikey={}&q=1", "--api-key {}",
        '"private_key": "{}"', "ENCRYPTION_KEY={}\n", "SharedAccessKeyName=root;SharedAccessKey={}",
        'API_KEY ?= "{}"\n', '$api_key .= "{}";', "<apiKey>\n  {}\n</apiKey>", 'private static let APIKey: String? = "{}"', '#define API_KEY "{}"', 'std::string api_key("{}");',
        'api_key = os.getenv("API_KEY") or "{}"', "const apiKey = process.env.API_KEY || '{}';", "| api_key | {} |", "**API key:** `{}`", 'api_key <- "{}"',
        'buildConfigField("String", "API_KEY", "\\"{}\\"")', "<key>APIKey</key>\n\t<string>{}</string>", 'api_key: Some("{}".into()),', "The API key is {}.",
        'resValue "string", "api_key", "{}"', "Connect-Service -ApiKey {} -Force", "define('AUTH_KEY',         '{}');", "HMAC_KEY={}\n", "OPENAI_KEY={}\n",
        'var apiKey string = "{}"', "Using Key={}", "Using key: {}\n",
    ),
    "secret": (
        "aws_secret_access_key = {}\n", '"SecretAccessKey": "{}"', "CLIENT_SECRET={}\n", '"client_secret": "{}"',
        "secret_key: '{}'", "JWT_SECRET={}\n", "<property>\n  <name>fs.s3a.secret.key</name>\n  <value>{}</value>\n</property>", 'credential: "{}"',
        "aws configure set aws_secret_access_key {}", 'SECRET_KEY = "{}"',
    ),
    "token": (
        "token={}", '"access_token": "{}"', '"refresh_token":"{}"', "AUTH_TOKEN={}\n", "aws_session_token = {}\n",
        "//registry.example.org/:_authToken={}\n", "X-Auth-Token: {}", "Authorization: Token {}", "--token {}", "Authorization: {}",
        "https://example.org/?token={}", 'var apiToken string = "{}"', 'API_TOKEN ::= "{}"\n', "API_TOKEN ?= {}\n",
        'System.setProperty("API_TOKEN", "{}");', 'os.Setenv("API_TOKEN", "{}")', "ENV['API_TOKEN'] ||= '{}'", "ENV API_TOKEN {}\n", "set -gx API_TOKEN {}\n",
        'let token = String::from("{}");', 'const API_TOKEN: &str = "{}";', 'variable "api_token" {{\n  type    = string\n  default = "{}"\n}}', '["--api-token", "{}"]',
        '(def api-token "{}")', '"token": {{\n  "value": "{}"\n}}', "api_token:\n  {}\n", "Authorization: GenieKey {}", "Authorization: Bot {}\r\n", 'env("API_TOKEN", "{}")',
        "A B C\napi_token      {}\n", "<api-token>\n    {}\n</api-token>", 'API_TOKEN :::= "{}"\n',
    ),
    "bearer_token": (
        "Authorization: Bearer {}", '{{"Authorization": "Bearer {}"}}', "curl -H 'Authorization: Bearer {}' https://example.org",
        "authorization: bearer {}\r\n",
    ),
}  # fmt: skip


@cache
def planted(seed: int) -> list[tuple[str, Planted]]:
    """A sample of every kind in every kind of context, with the name of the place; a second of work, which collecting tests must not take."""
    found = list[tuple[str, Planted]]()
    for kind, make in TOKENS:
        # Not on from what was drawn before: another vendor's form changes nothing here.
        chosen = random.Random(f"{seed} {kind}")
        for name, context in CONTEXTS.items():
            value = make(chosen)
            found.append((name, Planted(kind, context.format(value), value)))
    for places, makes in ((_PASSWORD_PLACES, PASSWORDS), (_KEY_PLACES, KEYS)):
        for kind, contexts in places.items():
            chosen = random.Random(f"{kind}{seed}")
            for context in contexts:
                for make in makes:
                    value = make(chosen)
                    found.append((context, Planted(kind, context.format(value), value)))
    basic = base64.b64encode(f"ann:{some(chosen, MIXED, 9)}".encode()).decode()
    found.append(("basic", Planted("basic_auth", f"Authorization: Basic {basic}", basic)))
    signature = base64.b64encode(some(chosen, MIXED, 32).encode()).decode().replace("=", "%3D")
    sas = f"https://x.blob.core.windows.net/c/f?sv=2022-11-02&se=2026&sig={signature}&sp=r"
    found.append(("sas", Planted("azure_key", sas, signature)))
    hook = (
        "https://hooks."
        + f"slack.com/services/T{some(chosen, DIGITS, 9)}/B{some(chosen, DIGITS, 9)}/{some(chosen, MIXED, 24)}"
    )
    found.append(("webhook", Planted("slack_webhook", hook, hook.rpartition("/")[2])))
    hook = f"https://discord.com/api/webhooks/{chosen.randrange(10**17, 10**18)}/{some(chosen, WORD, 68)}"
    found.append(("webhook", Planted("discord_webhook", hook, hook.rpartition("/")[2])))
    hook = f"https://x.webhook.office.com/webhookb2/{UUID(int=chosen.getrandbits(128))}@{UUID(int=7)}/Incoming"
    secret = f"{some(chosen, HEX, 32)}/{UUID(int=chosen.getrandbits(128))}"
    found.append(("webhook", Planted("teams_webhook", f"{hook}Webhook/{secret}", secret)))
    return found
