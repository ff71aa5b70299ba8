"""Passwords as people and generators make them, in every place where they are written down; and what only looks so."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable

import pytest

from for_each import first_quick, for_each
from memory_context import Redacted, Redactor

REDACTOR = Redactor()
MIXED = string.ascii_letters + string.digits
# Terraform's random_password, AWS's get-random-password, Django's get_random_secret_key.
GENERATORS = {
    "terraform": ("password", "password", MIXED + "!@#$%&*()-_=+[]{}<>:?", 24),
    "aws": ("password", "password", MIXED + string.punctuation, 32),
    "django": (
        "secret",
        "secret_key",
        string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)",
        50,
    ),
}
Setting = Callable[[str, str], str]
IN_QUOTES: dict[str, Setting] = {
    "JSON": lambda name, value: json.dumps({name: value, "user": "ann"}),
    "JSON in JSON": lambda name, value: json.dumps({"body": json.dumps({name: value})}),
    "YAML": lambda name, value: f"db:\n  {name}: {json.dumps(value)}\n  user: ann\n",
    ".env": lambda name, value: f"A=1\nexport DB_{name.upper()}={json.dumps(value)}\nB=2\n",
    "option": lambda name, value: f"run --{name}={json.dumps(value)} --user=ann",
    "Python's index": lambda name, value: f"os.environ[{name!r}] = {json.dumps(value)}\n",
}
IN_APOSTROPHES: dict[str, Setting] = {
    "Python": lambda name, value: (
        f"{name} = '" + value.replace("\\", "\\\\").replace("'", "\\'") + "'\n"
    ),
    "YAML": lambda name, value: f"db:\n  {name}: '" + value.replace("'", "''") + "'\n  user: ann\n",
    "PHP": lambda name, value: (
        f"$config['{name}'] = '" + value.replace("\\", "\\\\").replace("'", "\\'") + "';\n"
    ),
}
UNQUOTED: dict[str, Setting] = {
    ".env": lambda name, value: f"A=1\nDB_{name.upper()}={value}\nB=2\n",
    "YAML": lambda name, value: f"db:\n  {name}: {value}\n  user: ann\n",
}
IN_XML: dict[str, Setting] = {
    "element": lambda name, value: (
        f"<{name}>{value.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')}</{name}>"
    ),
    "CDATA": lambda name, value: f"<{name}><![CDATA[{value}]]></{name}>",
}

# What may as well be something else: a template, a place to fill in, JSON, what follows a name in JSON, an ellipsis, a name.
AMBIGUOUS = re.compile(
    r"(?:\{\{|\[\[|<<|<%|[$%#@]\{|\$\().*"
    r"|[$%#@]?(?:\{.*\}|<.*>|\[.*\]|\(.*\))"
    r"|.*(?:\$\{[A-Za-z_][\w.]*(?:[:?+-][^}]*)?\}|\$\([\w/.-]+\)|\{\{[\w.]+.*\}\}|\.\.\.).*"
    r"|[{\[]+[\"'\\].*"
    r"|:(?:[\"\[{\\]|\d+[,}\]]).*"
    r"|[A-Za-z._/:-]*"
)
# Between apostrophes also quotes at the beginning, one where JSON around the value may end, an apostrophe at the end.
AMBIGUOUS_QUOTE = re.compile(
    r"[\"`'].*|.*\"(?:[,:}\]+.;&%)]|.*').*|.*'(?:['\"]|$).*|.*\\'.*|.*'\\?.*\".*|.*\\"
)
# Without quotes also: quotes, the beginning of a sign, an assignment to the next name, code, an ending comma.
AMBIGUOUS_LINE = re.compile(
    r".*[\"'`].*|[=>|].*|.*[&;,][A-Za-z_][\w.-]*=.*|.*(?:</|<br).*|.*[,;]|[!&*]\w+"
    r"|[A-Za-z_$][\w$.:>-]*!?[(<\[{](?:.*[)>\]}].*|.*[(\[{])?"
    r"|[A-Za-z_.]+[|&].*|[A-Za-z_$][\w$.]*(?:&&|\?\?|\?\.|=>|[!=]=).*"
)


def missed(
    name: str, write: Setting, count: int, excepted: Callable[[str], object]
) -> tuple[list[str], int]:
    """Texts whose password did not go whole, but for what is excepted, of which there are so many."""
    kind, field, characters, length = GENERATORS[name]
    chosen = random.Random(name)
    values = ["".join(chosen.choice(characters) for _ in range(length)) for _ in range(count)]
    asked = [value for value in values if not excepted(value)]
    texts = [(value, REDACTOR.redact(write(field, value)).text) for value in asked]
    gone = write(field, f"[redacted {kind}]").replace("'", '"')
    return [
        write(field, value) for value, text in texts if text.replace("'", '"') != gone
    ], count - len(asked)


def is_ambiguous(value: str) -> bool:
    """Wherever it stands."""
    return AMBIGUOUS.fullmatch(value) is not None


@pytest.mark.parametrize("generator", first_quick(GENERATORS))
class TestGenerated:
    """Random passwords of the usual generators go whole, but for those that may as well be something else."""

    @pytest.mark.long
    @for_each("setting", IN_QUOTES)
    def test_in_quotes(self, generator: str, setting: str) -> None:
        """Behind quotes, less than one in a hundred is ambiguous."""
        wrong, excepted = missed(generator, IN_QUOTES[setting], 500, is_ambiguous)

        assert [] == wrong
        assert excepted < 5

    @pytest.mark.long
    @for_each("setting", IN_APOSTROPHES)
    def test_in_apostrophes(self, generator: str, setting: str) -> None:
        """Behind apostrophes, where quotes are ambiguous too, less than one in six."""
        wrong, excepted = missed(
            generator,
            IN_APOSTROPHES[setting],
            500,
            lambda one: is_ambiguous(one) or AMBIGUOUS_QUOTE.fullmatch(one),
        )

        assert [] == wrong
        assert excepted < 500 / 6

    @pytest.mark.long
    @for_each("setting", IN_XML)
    def test_in_xml(self, generator: str, setting: str) -> None:
        """Up to the end of the element, whatever is in it, but for quotes where JSON around it may end."""
        wrong, excepted = missed(
            generator,
            IN_XML[setting],
            500,
            lambda one: (
                is_ambiguous(one) or re.fullmatch(r".*\"(?:[,:}\]+.;&%)<>].*|$)|.*\\\".*", one)
            ),
        )

        assert [] == wrong
        assert excepted < 50

    @for_each("setting", UNQUOTED)
    def test_unquoted(self, generator: str, setting: str) -> None:
        """Where a name begins a line, up to the blank; what may be code or several assignments is excepted."""
        wrong, excepted = missed(
            generator,
            UNQUOTED[setting],
            500,
            lambda one: is_ambiguous(one) or AMBIGUOUS_LINE.fullmatch(one),
        )

        assert [] == wrong
        assert excepted < (400 if generator == "aws" else 100)


PASSWORD = "Tr0ub" + "4dor!3x"
KEY = "aB3xK9mQ7p" + "L2vN8zzQ4w"
FORMS = {
    "password": (
        'os.environ["DB_PASSWORD"] = "{}"', "$config['password'] = '{}';", "'password': b'{}'", "password=r'{}'", "password = f'{}'",
        "password = '''{}'''", 'password = """{}"""', 'Password = @"{}"', "DB_PASSWORD_PROD={}", "DB_PASSWORD_STAGING={}\n", "DB_PASSWORD_PROD: {}", '{{"DB_PASSWORD_PROD": "{}"}}',
        '<password encrypted="false">{}</password>', '<entry key="db.password">{}</entry>', "<password><![CDATA[{}]]></password>",
        '{{"password": ["{}"]}}', "db:\n  password: |\n    {}\n  user: ann\n", "password: >-\r\n  {}\r\nuser: ann",
        '{{"name":"DB_PASSWORD","type":"string","value":"{}"}}', '{{"ParameterKey": "DbPassword", "ParameterValue": "{}"}}',
        '{{"Key": "db_password", "Value": "{}"}}', '  ~ password = "old" -> "{}"', '  + password = null -> "{}"',
        '{{"log": "A=1\\nDB_PASSWORD={}\\nB=2"}}', "password: {}, user: ann", "connect(\n    password='{}')\n",
        "port 6379\nrequirepass {}\n", '$p = ConvertTo-SecureString "{}" -AsPlainText -Force', "openssl rsa -in k.pem -passin pass:{} -out o.pem",
        'echo "root:{}" | chpasswd', "echo 'root:{}' | sudo chpasswd", "db1.internal:5432:orders:svc_orders:{}\n", "*:5432:*:backup:{}",
        "The password is {}", "La contraseña es: {}", "La contraseña es {}", "Das Passwort ist {}", "Das Passwort lautet {}",
        "Le mot de passe est {}", "A senha é {}", "la password è {}", "密码\uff1a{}", "密码: {}", "密码是 {}。", "пароль: {}", "Пароль — {}",
        "パスワードは {} です", "パスワード\uff1a「{}」", "비밀번호는 {}",
    ),
    "api_key": ("config['api_key'] = '{}'", "API_KEY_PROD={}", "APP_KEY=base64:{}", 'app_key: "base64:{}"', "API Key: {}", '<string name="api_key">{}</string>'),
    "secret": (
        "AUTH_SALT={}", "define('SECURE_AUTH_SALT', '{}');", "NONCE_SALT: {}",
        "SECRET_KEY_BASE={}", "secret_key_base: {}", 'SECRET_KEY_BASE: "{}"', "SECRET_KEY_BASE = '{}'", '{{"SECRET_KEY_BASE": "{}"}}',
        "Secret Key: {}", "secret access key: {}", '  ~ client_secret = "old" -> "{}"',
    ),
}  # fmt: skip


@for_each("kind, form", [(kind, form) for kind, forms in FORMS.items() for form in forms])
def test_forms_of_assignment(kind: str, form: str) -> None:
    """Only the value goes, wherever languages and formats put it behind its name."""
    value = PASSWORD if kind == "password" else KEY
    redacted = REDACTOR.redact(form.format(value))

    assert Redacted(form.format(f"[redacted {kind}]"), {kind: 1}) == redacted
    assert Redacted(redacted.text) == REDACTOR.redact(redacted.text)


def test_signatures_and_tokens() -> None:
    """What signs a URL goes, and tokens with dollars inside or in another base64."""
    signed = f"https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={'3f' * 32}"
    braintree = f"access_token$production${'a1' * 8}${'b2' * 16}"
    one_password = "ops_" + "eyJzaWdu-_" * 12

    redacted = REDACTOR.redact(f"{signed}&a=1 {braintree} {one_password}")

    assert redacted.text == (
        "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=[redacted aws_key]&a=1"
        " [redacted token] [redacted 1password_token]"
    )


UNTIL_THE_END = {
    "DB_PASSWORD={}": (
        "Sup3r&S3cret",
        "ab&Sup3rS3cret",
        "q7;W!x9z",
        "Sup3r|S3cret",
        "<S3cr3t!",
        "a{b}c9!d",
        "Sup3r#S3cret",
    ),
    "password: {}": (
        "Sup3r,S3cret",
        "Abc9(xyzQQ1",
        "Abc(9xyzQQ1",
        "[S3cr3t]x9",
        "Tr0ub|X9999",
        "{{S3cr3t!x",
    ),
    "  - password: {}\n": ("Sup3r<S3cret",),
    "export DB_PASSWORD={}\nA=1": ("Sup3r;S3cret",),
    "password = {}": ("Sup3r&S3cret",),
    "<password>{}</password>": (
        "Sup3r(S3cret9",
        "Sup3r;S3cret9",
        "Tr0ub4dor&amp;3x",
        "a1b2c3|d4e5",
    ),
    "postgres://ann:{}@db/x": ("Sup3rS3cret$", "*Sup3rS3cret", "[Sup3rS3cret", "(S3cret%"),
    "curl -u admin:{} https://example.org": (
        "Sup3rS3cret%",
        "$up3r$S3cret",
        "<Sup3rS3cret",
        "{{S3cret",
    ),
    '{{"body": "{{\\"run\\": \\"curl -u ann:{}\\"}}"}}': ("Sup3rS3cret", "Sup3rS3cret%"),
}


@for_each("form, value", [(form, one) for form, values in UNTIL_THE_END.items() for one in values])
def test_signs_in_passwords(form: str, value: str) -> None:
    """A password with signs goes to its end, which its place decides."""
    value = value.replace("{{", "{")
    redacted = REDACTOR.redact(form.format(value)).text

    assert (
        form.format("[redacted password]").replace(
            ":[redacted password]@", ":[redacted url_password]@"
        )
        == redacted
    )


STAY = {
    "DB_PASSWORD=hunter2&user=ann": "&user=ann",
    "Password=hunter2;User Id=sa;": ";User Id=sa;",
    "https://example.org/login?password=hunter2&page=2": "&page=2",
    "Server=db;Uid=sa;Pwd=hunter2;Port=1": ";Port=1",
    "password: hunter2, user: ann": ", user: ann",
    "connect(host='x', password=hunter2, port=1)": ", port=1)",
    "{name: x, password: hunter2, port: 1}": ", port: 1}",
    "password=hunter2</td>": "</td>",
    'run("\nDB_PASSWORD=hunter2")': '")',
}


@for_each("text", STAY)
def test_ends_of_passwords(text: str) -> None:
    """What stands behind a password stays: queries, connection strings, calls, mappings, markup."""
    redacted = REDACTOR.redact(text).text

    assert redacted.endswith(f"[redacted password]{STAY[text]}")


NONE = """
PASS: tests/test_a1.py
PASS: test_foo1
PASS: gcc.dg/foo-1.c (test for excess errors)
# PASS:  12
XPASS: t/x1.sh
BYPASS=host1:8080
{"PWD": "C:\\work\\proj1"}
{"PWD": "work/proj1", "pwd": "../proj1/a"}
https://graph.example.org/v1.0/users?$skiptoken=RFNwdAIAAQAAABk6YWRhbQ12
https://graph.example.org/v1.0/me/delta?$deltatoken=R0usmcCM996atia_s2
aws s3api list-objects --starting-token JNYXJrZXIiOiBudWxsfQ12
"scroll_token": "DXF1ZXJ5QW5kRmV0Y2gBA1", continue_token: abcd1234efg, clientToken: a1b2c3d4e5f6
continuationToken=1ueGcxLPRx1Tr, idempotencyToken: a1b2c3d4e5
password = get(x1)
password: get_password(user1)
password=cfg["db1"],
    password=passwd)
password: str,
password: string|null;
password: Option<&'static str1>,
password: &'static str,
password: Map<String,Foo1>;
password: Callable[[int, str2], None],
    password: Union[bytes, str] = "",
    password: (bool, optional): Whether
token = r"[-!#$%&'*+.^_|~0-9a-zA-Z]+"
password: bytes|None = None
token: Option<[u8;32]>,
secret_key: SecretBytes<Vec<u8>>,
password: required|min:8|confirmed
password: !vault |
password: *anchor1
password: &pw1 x
PASSWORD=$(cat /run/secrets/x1)
PASSWORD=${DB_PASS1:-}
PASSWORD=$DB_PASS1
"password": "<b>Kennwort1</b>", 'password': '<unset1>', "password": "(min. 8 characters)"
"password": ["Must have 8+ characters."], 'password' => ['required', 'min:8']
<label for="password">Password1!</label>
"password": "{\"type\": 1}", "password": "[1,2]"
'{"password=":12345678,"n":1}'
  ~ password = (sensitive value) -> (sensitive value)
curl -u ann:<password1> https://example.org; curl -u "ann:${PASS1}" https://example.org; curl -u ann:%PASS1% x
mysql://root:****@db/x mysql://root:{password1}@db/x https://ann:[password1]@example.org
opaquelocktoken:927855e7-0cb6-4c22-b462-1119536e5956 lock token: 332eb00f-3c31-498d-9649-e203b0209253
Lock-Token: <urn:uuid:332eb00f-3c31-498d-9649-e203b0209253>
salt=a1b2c3d4e5f6a7b8, key: "base64:aB3xK9mQ7pL2vN8zzQ4w"
Das Passwort ist base64-kodiert, la contraseña es obligatoria
密码长度8位, 密码 8-32 位, пароль: минимум8символов, пароль OAuth2 сервера, 密码是SHA-256加密的, パスワードは8文字以上
echo "12:30:45x" | cat, listen 0.0.0.0:5432: bind1:2, ConvertTo-SecureString $Plain1 -AsPlainText, -passin pass:$PASS1 -out x, requirepass ${REDIS_PASS1}
X-Amz-SignedHeaders=host&X-Amz-Signature=..., access_token$production, ops_eyJ
TOKEN_HASH=abc12345def67890, SECRET_VERSION=a1b2c3d4e5f6
password: 12345678, PASSWORD=20260101
token: AbstractSingletonProxyFactoryBean, secret_key=InternalFrameTitlePaneMaximizeButton
"""


@for_each("text", NONE.strip().splitlines())
def test_no_passwords(text: str) -> None:
    """Test results, working directories, cursors, code, types, templates: no hits."""
    assert Redacted(text) == REDACTOR.redact(text)


@pytest.mark.timeout(20)
def test_headers_below_each_other() -> None:
    """A table of which each row names a secret is read once, and secrets below such a row are found."""
    rows = "user,password\n" * 10_000
    assert Redactor().redact(rows).text == rows
    told = "type,password,note\nlogin,Xk29!fqLmZ0p,token\nother,Qz83#kdPw1ab,9fKq2LmX8vBt3RzY7wNc5HdJ\n"
    assert dict(Redactor().redact(told).counts) == {"password": 2, "secret": 1}


@for_each(
    "name",
    [
        "password",
        "Passwort",
        "Kennwort",
        "contraseña",
        "senha",
        "密码",
        "密碼",
        "пароль",
        "Пароль",
        "パスワード",
        "비밀번호",
    ],
)
@for_each(
    "table",
    ["user,{}\nann,Xk3!vQ9zLm2p\n", "| user | {} |\n|---|---|\n| ann | Xk3!vQ9zLm2p |\n"],
)
def test_columns_in_other_languages(name: str, table: str) -> None:
    """The cells of a column are redacted under every name that is known before an assigned value."""
    assert REDACTOR.redact(table.format(name)).counts == {"password": 1}
    assert REDACTOR.redact(f"{name}: Xk3!vQ9zLm2p").counts == {"password": 1}
