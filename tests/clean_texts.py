"""Texts without a secret in them, of all kinds that agents meet, with much that looks like one."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import uuid
from collections.abc import Callable

WORDS = [
    "the",
    "server",
    "answered",
    "after",
    "a",
    "while",
    "and",
    "wrote",
    "what",
    "it",
    "had",
    "found",
    "into",
    "the",
    "file",
    "that",
    "the",
    "next",
    "step",
    "reads",
]


def _hex(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def _integrity(number: int) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(str(number).encode()).digest()).decode()


def log(lines: int) -> str:
    """A server's log."""
    return "\n".join(
        f"2026-01-{n % 28 + 1:02}T10:{n % 60:02}:07.{n % 1000:03}Z INFO [worker-{n % 7}] request_id={_hex(n)[:32]} user=ann"
        f" path=/api/v1/items/{n}?page={n % 9}&sort=-created status=200 token_count={n * 7} took={n % 900}ms"
        for n in range(lines)
    )


def access_log(lines: int) -> str:
    """A web server's log."""
    return "\n".join(
        f'10.0.{n % 256}.{n % 251} - - [01/Jan/2026:10:{n % 60:02}:00 +0000] "GET /login?next=/a/{n} HTTP/1.1" 200 {n} '
        f'"https://example.org:8443/a?b=c@d.org" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"'
        for n in range(lines)
    )


def lockfile(lines: int) -> str:
    """package-lock.json."""
    packages = {
        f"node_modules/name-{n}": {
            "version": f"{n % 9}.1.{n}",
            "resolved": f"https://registry.npmjs.org/@scope/name-{n}/-/name-{n}-{n % 9}.1.{n}.tgz",
            "integrity": _integrity(n),
        }
        for n in range(lines // 5)
    }
    return json.dumps({"lockfileVersion": 3, "packages": packages}, indent=2)


def python_lock(lines: int) -> str:
    """uv.lock and Cargo.lock."""
    return "\n".join(
        f'[[package]]\nname = "token-{n}"\nversion = "1.{n}"\nchecksum = "{_hex(n)}"\n'
        f'sdist = {{ url = "https://files.example.org/packages/{_hex(n)[:2]}/{_hex(n)[2:4]}/{_hex(n)[4:60]}/name-1.{n}.tar.gz",'
        f' hash = "sha256:{_hex(n)}", size = {n} }}'
        for n in range(lines // 5)
    )


def git_log(lines: int) -> str:
    """Commits and trees."""
    return "\n".join(
        f"commit {_hex(n)[:40]}\nAuthor: Ann <ann@example.org>\n    Rotate the token of the api key, see #{n}\n"
        f"100644 blob {_hex(-n)[:40]}\tsrc/password_{n}.py"
        for n in range(lines // 4)
    )


def records(lines: int) -> str:
    """JSON of an API: ids, cursors, e-mail addresses."""
    chosen = random.Random(5)
    items = [
        {
            "id": str(uuid.UUID(int=chosen.getrandbits(128))), "email": f"user{n}@example.org", "etag": f'W/"{_hex(n)[:16]}"',
            "url": f"https://example.org/u/{n}", "token_type": "bearer", "next_page_token": _hex(n)[:24], "max_tokens": n * 3,
            "type": "password", "key": f"key-{n}", "passed": n % 7, "public_key": _hex(n)[:40], "secretName": f"db-secret-{n}",
        }
        for n in range(lines // 12)
    ]  # fmt: skip
    return json.dumps(
        {"items": items, "nextPageToken": base64.b64encode(_hex(1).encode()).decode()}, indent=1
    )


CODE = '''
def login(user: str, password: str, *, token: Optional[str] = None, api_key: str | None = None) -> Session:
    """Log in. The password is checked against the hash; the token is a bearer token, see RFC 6750."""
    password = getpass.getpass("Password: ")
    token = token or os.environ["API_TOKEN"] or config.auth.token2
    secret = load_secret(name="db", version=12)
    api_key = settings.api_key_v2
    if password == user.password or not check_password_hash(user.password_hash, password):
        raise PermissionError(f"wrong password: {password}")
    headers = {"Authorization": f"Bearer {token}", "X-Api-Key": self._api_key, "Cookie": cookie}
    url = f"postgresql://{user}:{password}@{host}:{port}/{name}"
    return Session(url, password=password, token=token, secret=secret, api_key=api_key, access_key=keys[0])

const password = document.querySelector("#password").value;  // token: string, secret: Buffer
export const apiKey = process.env.API_KEY, accessKey = import.meta.env.VITE_ACCESS_KEY_2;
type Props = { password: string; token?: Base64UrlString; secret: Utf8Array; apiKey: ApiKeyV2 };
private static final String TOKEN = "token"; public String secretKey = "secret-key"; String PASSWORD_FIELD = "password";
if ("-----BEGIN RSA PRIVATE KEY-----" in text): raise ValueError("a private key; use -----BEGIN PUBLIC KEY----- instead")
ALTER TABLE users ADD COLUMN password varchar(255) NOT NULL; -- token text, secret bytea
<input type="password" name="password" placeholder="Password" autocomplete="current-password" required>
sk-learn, sk-estimator-doc-link, .sk-spinner-bounce-delay { color: red } hf_hub_download_with_a_long_name_of_a_function
'''
SETTINGS = """
# .env.example, values.yaml, docker-compose.yml, main.tf
DB_PASSWORD=
DB_PASSWORD=changeme
API_KEY=your_api_key_here
SECRET_KEY=<secret>
TOKEN=${TOKEN}
TOKEN=$(cat /run/secrets/token)
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
password: "{{ vault_db_password }}"
password: ${DB_PASSWORD:-}
password: !vault |
token: ${{ secrets.GITHUB_TOKEN }}
secret: my-tls-secret-01
secretKeyRef: {name: db-credentials-2, key: password}
api_key = var.api_key_2
private_key = file("~/.ssh/id_rsa_2")
private_key_path: /etc/ssl/private/key1.pem
token_url: https://login.example.org/oauth2/v2.0/token
access_token_lifetime: 3600s
password_policy: min8chars
passwords: 12
connection: postgres://user:password@localhost:5432/db
connection: postgresql://USER:PASSWORD@HOST:5432/db
connection: mysql://root:secret@localhost/x
connection: redis://:<password>@localhost:6379
connection: amqp://{user}:{password}@{host}//
connection: https://$USER:$TOKEN@github.com/a/b.git
connection: http://proxy.example.org:3128/, mail: ann@example.org
PATH="`pwd`:$$PATH" PASSWORD=$Config::Main->{password}
patches/0001-Add-pregenerated-config-for-libaom-on-ppc64.patch, 48_0002-tests-Fix-tpmtool_test-due-to-changes-2.patch
SENTRY_DSN=https://0a9f0a9f0a9f0a9f0a9f0a9f0a9f0a9f@o12.ingest.sentry.io/34
  * Add new upstream signing key 19882D92DDA4C400C22C0D56CC2AF4472167BE03 to debian/upstream
CACHE_KEY=7f3d0a9f2c4b6e8d1f3a5c7e9b0d2f4a
RANKS = RankFile("o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")
see http://example.org:8080/a@b and http://[::1]:80/@x, ssh://git@github.com:22/a/b.git, git@github.com:a/b.git
"""
PROSE = """
Forgot your password? Enter a new password: it must have 12 characters, a digit and a sign. Password must not be empty!
The token is required. Authorization: required. Basic authentication is used; Bearer tokens expire after 30 minutes.
Basic knowledge of Python3 helps. Pass: 12, fail: 3, password: required, token: optional, secret: none. Secret: a novel.
{"password": "Password", "forgotPassword": "Forgot your password?", "token": "Access token", "passwordHint": "8+ characters"}
{"password": {"type": "string", "format": "password", "minLength": 8}, "token": "string", "apiKey": "string", "secret": null}
{"bos_token": "<|begin_of_text|>", "eos_token": "</s>", "pad_token": "[PAD128]", "token": "Ġworld", "token": "##ing2"}
Authorization: Basic <credentials>; Authorization: Bearer <token>; Authorization: Bearer YOUR_ACCESS_TOKEN
curl -u user:password https://api.example.org; curl -H "Authorization: Bearer $TOKEN" -u "$USER:$PASS" https://example.org
[redacted token] 446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d stays, and a key of 12-34-56.
The password is required. The password for this user is case-sensitive: see section 12. zip -P and docker login -p are options.
密码：请输入密码，令牌不能为空。访问 http://example.org:8080 或联系 ann@example.org。
"""


def code(lines: int) -> str:
    """Source code."""
    return CODE * (lines // 20 + 1)


def settings(lines: int) -> str:
    """Examples of settings."""
    return SETTINGS * (lines // 30 + 1)


def prose(lines: int) -> str:
    """Documentation."""
    return PROSE * (lines // 10 + 1) + " ".join(
        WORDS[n * 7 % len(WORDS)] for n in range(lines * 10)
    )


def base64_lines(lines: int) -> str:
    """A file in base64, in both alphabets."""
    data = random.Random(3).randbytes(lines * 48)
    text = base64.b64encode(data).decode()
    broken = "\n".join(text[place : place + 76] for place in range(0, len(text), 76))
    return broken + "\n" + base64.urlsafe_b64encode(data).decode()


def certificate(lines: int) -> str:
    """Certificates and public keys."""
    body = base64.b64encode(random.Random(4).randbytes(48 * 20)).decode()
    block = "\n".join(body[place : place + 64] for place in range(0, len(body), 64))
    names = ("CERTIFICATE", "PUBLIC KEY", "PGP SIGNATURE")
    return "\n".join(f"-----BEGIN {name}-----\n{block}\n-----END {name}-----" for name in names) * (
        lines // 60 + 1
    )


def chinese(lines: int) -> str:
    """Chinese prose."""
    chosen = random.Random(2)
    return "\n".join(
        "".join(chr(chosen.randrange(0x4E00, 0x9FA5)) for _ in range(40)) + "。"
        for _ in range(lines)
    )


def minified(lines: int) -> str:
    """JavaScript on one line."""
    one = 'function a(t,e){var n=t.token||e.password,r="key_"+n;return{key:r,value:t.secret&&!e.apiKey,get:function(){return n}}}'
    return "".join(one.replace("a(", f"a{n}(") for n in range(lines))


def uuids(lines: int) -> str:
    """UUIDs, hashes and ids."""
    chosen = random.Random(6)
    return "\n".join(
        f"{uuid.UUID(int=chosen.getrandbits(128))} {_hex(n)} md5:{_hex(n)[:32]} arn:aws:iam::123456789012:role/name-{n} "
        f"projects/p-{n}/locations/eu/keyRings/k/cryptoKeys/{n} sg-0{_hex(n)[:16]} ami-0{_hex(n)[:16]} pk_live_{_hex(n)[:24]}"
        for n in range(lines)
    )


def ids_near_words(lines: int) -> str:
    """Commits, checksums, requests and rows whose ids stand below or beside a word that could name a secret."""
    chosen = random.Random(7)
    texts = list[str]()
    for n in range(lines):
        commit, row = _hex(n)[:40], uuid.UUID(int=chosen.getrandbits(128))
        texts += (
            f"{_hex(n + 1)[:40]} Refresh the access token\n{commit} Fix typo",
            f"{commit}\trefs/heads/fix-token\n{commit}\trefs/heads/main",
            f"{_hex(n)}  bin/password\n{_hex(n)}  bin/other",
            f"id,name,token\n{row},ann,5",
            f"| id | tokens |\n|---|---|\n| {row} | 22 |",
            f"{row} INFO missing token\n{row} INFO answered",
            f"$ pwd\n{row}",
            f"uses: actions/create-github-app-token@{commit} # v1",
            f"invalid token [{row}], wrong password ({row}), bad credentials ({row})",
            f"fix token {commit}\nTENANT_KEY={row}\nARTIFACT_KEY={_hex(n)}",
            "The password is base64-encoded, and its code is 6-digit.",
        )
    return "\n\n".join(texts)


KINDS: dict[str, Callable[[int], str]] = {
    "log": log,
    "access log": access_log,
    "package-lock.json": lockfile,
    "uv.lock": python_lock,
    "git log": git_log,
    "JSON": records,
    "code": code,
    "settings": settings,
    "prose": prose,
    "base64": base64_lines,
    "certificates": certificate,
    "Chinese": chinese,
    "minified JavaScript": minified,
    "UUIDs and hashes": uuids,
    "ids near words": ids_near_words,
}
