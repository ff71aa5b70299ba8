"""The redactor: what it finds, what it leaves, and that no text makes it slow or breaks what is around a secret."""

from __future__ import annotations

import base64
import json
import pickle
import random
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
import regex
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

import clean_texts
from examples import examples
from for_each import first_quick, for_each
from growth import assert_linear
from memory_context import Redacted, RedactionPattern, Redactor
from memory_context.exceptions import InvalidArgumentError, RedactionTimeoutError
from memory_context.text.redact import Redaction, secret_columns, without_pieces
from memory_context.text.redact.kinds_of_rules import Rule, Runs
from memory_context.text.redact.redactor import KINDS, RULES
from memory_context.text.redact.vendor_keys import VENDOR_KEYS
from planted import CONTEXTS, HEX, LETTERS, MIXED, TOKENS, WORD, pem, planted, some
from sources import SOURCES

REDACTOR = Redactor()


def spoiled(text: str, redacted: Redacted) -> list[str]:
    """What redaction did to the text that it must not do."""
    wrong = []
    if REDACTOR.redact(redacted.text) != Redacted(redacted.text):
        wrong.append("not the same a second time")
    if [line_break for line_break in text if line_break in "\r\n"] != [
        c for c in redacted.text if c in "\r\n"
    ]:
        wrong.append("line breaks")
    try:
        json.loads(text)
    except ValueError:
        return wrong
    try:
        json.loads(redacted.text)
    except ValueError:
        wrong.append("no JSON any more")
    return wrong


class TestFinds:
    """Everything that was planted is found, in every kind of place, and called what it is."""

    @pytest.mark.parametrize("seed", first_quick(range(2)))
    @pytest.mark.long
    def test_every_kind_in_every_context(self, seed: int) -> None:
        """All of 6,000 samples: the secret is gone, one of its kind is counted, what stands around it is as it was."""
        samples = planted(seed)
        missed = [
            (place, sample.kind, redacted)
            for place, sample in samples
            for redacted in [REDACTOR.redact(sample.text)]
            if sample.secret in redacted.text
            or {sample.kind: 1} != redacted.counts
            or spoiled(sample.text, redacted)
        ]

        assert [] == missed
        assert len(samples) > 1500

    def test_every_kind_is_planted(self) -> None:
        """No kind is without a sample; private keys and Kubernetes' secrets have tests of their own."""
        assert set(KINDS) - {"kubernetes_secret"} == {sample.kind for _, sample in planted(7)}

    @pytest.mark.long
    def test_many_in_one_text(self) -> None:
        """A text full of secrets loses all of them, and what stands between them stays."""
        text = "\n".join(
            f"# {number}\n{sample.text}" for number, (_, sample) in enumerate(planted(7))
        )
        redacted = REDACTOR.redact(text)

        assert [] == [sample for _, sample in planted(7) if sample.secret in redacted.text]
        assert [f"# {number}" for number in range(len(planted(7)))] == regex.findall(
            "^# [0-9]+", redacted.text, regex.M
        )
        assert [] == spoiled(text, redacted)

    @for_each(
        "name",
        [
            "RSA PRIVATE KEY",
            "PRIVATE KEY",
            "EC PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        ],
    )
    @for_each(
        "form",
        [
            "{}",
            "a\n{}\nb",
            "\t{}\n",
            "key: |\n  {}\nnext: 1\n",
            '{{"k": {j}, "n": 1}}',
            '{{"b": {jj}}}',
            "'{r}'",
            "{crlf}",
            "> {}",
        ],
    )
    def test_private_keys(self, name: str, form: str) -> None:
        """Blocks of every name: indented, quoted, inside JSON and JSON inside JSON, with any line breaks."""
        block = pem(random.Random(1), name)
        inner = json.dumps(block + "\n")
        margin = form.partition("{")[0].rpartition("\n")[2]
        shown = block.replace("\n", f"\n{margin if margin.strip() in ('', '>') else ''}")
        text = form.format(
            shown,
            j=inner,
            jj=json.dumps(json.dumps({"k": block})),
            r=block.replace("\n", "\\n"),
            crlf=block.replace("\n", "\r\n"),
        )
        redacted = REDACTOR.redact(text)

        assert {"private_key": 1} == redacted.counts
        assert not regex.search("[A-Za-z0-9+/]{20}", redacted.text)
        assert [] == spoiled(text, redacted)

    @pytest.mark.parametrize(
        "header",
        ["Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF00FF00FF\n\n", "Version: GnuPG v2\n\n"],
    )
    def test_private_keys_with_headers(self, header: str) -> None:
        """What stands before the base64 belongs to the block."""
        first, _, rest = pem(random.Random(2)).partition("\n")
        redacted = REDACTOR.redact(f"{first}\n{header}{rest}\nafter")

        assert {"private_key": 1} == redacted.counts
        assert redacted.text.startswith("[redacted private_key]\n")
        assert redacted.text.endswith("\nafter")

    @for_each("cut", [100, 200, 333, 1000])
    @for_each("escaped", [False, True])
    def test_private_keys_cut_short(self, cut: int, escaped: bool) -> None:
        """A block that is cut off at its end or at its beginning is found by what is left of it."""
        block = pem(random.Random(3))
        block = block.replace("\n", "\\n") if escaped else block
        for text in (f"see {block[:cut]}", f"{block[-cut:]} after"):
            redacted = REDACTOR.redact(text)

            assert {"private_key": 1} == redacted.counts
            assert not regex.search("[A-Za-z0-9+/]{30}", redacted.text)
            assert [] == spoiled(text, redacted)

    def test_putty(self) -> None:
        """PuTTY's files name their private lines."""
        lines = pem(random.Random(4)).split("\n")[1:4]
        text = "Public-Lines: 1\nAAAA\nPrivate-Lines: 3\n" + "\n".join(lines) + "\nPrivate-MAC: 00"

        assert {"private_key": 1} == REDACTOR.redact(text).counts
        assert lines[1] not in REDACTOR.redact(text).text

    def test_what_stays(self) -> None:
        """Only the secret goes: scheme, user and host of a URL stay, names and quotes of an assignment."""
        password = "hunter" + "2"
        shown = {
            f"postgresql://ann:{password}@db:5432/x": "postgresql://ann:[redacted url_password]@db:5432/x",
            f'{{"password": "{password}"}}': '{"password": "[redacted password]"}',
            f"DB_PASSWORD={password}\nA=1": "DB_PASSWORD=[redacted password]\nA=1",
        }

        assert shown == {text: REDACTOR.redact(text).text for text in shown}


class TestLeaves:
    """What is no secret stays as it is."""

    @for_each("name", clean_texts.KINDS)
    def test_clean_texts(self, name: str) -> None:
        """Logs, lock files, hashes, ids, code, settings with places to fill in, documentation: not one false hit."""
        text = clean_texts.KINDS[name](500)

        assert Redacted(text) == REDACTOR.redact(text)

    def test_what_only_looks_assigned(self) -> None:
        """Formats, constants, names of code, an empty password before the next setting, and the end of a hash stay."""
        digest = "sha512-6XJFClyCgFKetdowBg5bKxyp/u" + "+CDBJG4Mpp0m3HLZl9w=="
        text = (
            f"user_pass = '%s:%s' % pair\nhost=db password= dbname=x\nintegrity: {digest}\n"
            "readonly STENCIL_BACK_PASS_DEPTH_PASS: 0x8803;\nresumptionToken: notificationsToolLastEventId,\n"
            "type LiteralToken = NoSubstitutionTemplateLiteral | PseudoLiteralToken;"
        )

        assert Redacted(text) == REDACTOR.redact(text)

    def test_this_library(self) -> None:
        """Its own sources have nothing that is taken for a secret."""
        found = {
            path.name: counts
            for path in SOURCES
            if (counts := REDACTOR.redact(path.read_text("utf-8")).counts)
        }

        assert {} == found
        assert len(SOURCES) > 200

    @given(st.text())
    def test_any_text_is_whole(self, text: str) -> None:
        """Where nothing is found, the very text comes back."""
        redacted = REDACTOR.redact(text)

        assert redacted.counts or text == redacted.text

    def test_kinds_that_are_left_out(self) -> None:
        """A kind that a user does not want is left alone; the others are still found."""
        samples = {sample.kind: sample.text for place, sample in planted(7) if place == "line"}
        text = samples["jwt"] + samples["npm_token"]

        assert {"npm_token": 1} == Redactor(without=["jwt"]).redact(text).counts
        with pytest.raises(InvalidArgumentError, match="no kind 'cookies'"):
            Redactor(without=["cookies"])


@for_each(
    "wrong, said",
    [
        ({"x": 5}, "the pattern of 'x' must be a string"),
        (["x"], "a mapping of names"),
        ({"x": RedactionPattern("a", 5)}, "must be a string"),  # type: ignore[arg-type] # wrong on purpose
    ],
)
def test_no_patterns(wrong: Any, said: str) -> None:
    """Patterns of a wrong type are refused with what they should be."""
    with pytest.raises(InvalidArgumentError, match=said):
        Redactor(wrong)


CUT_KEY = pem(random.Random(5), lines=3)[:150]
PIECES = st.deferred(lambda: st.sampled_from(
    [
        *(sample.text for _, sample in planted(7)[::23]),
        *(" ", "\n", "\x1b[1m", "\x1b]0;\r", "\x07", "\\n", '"', "\\", "=", ":", "password", "token=", "://", "@", "[redacted ", "[redacted jwt]", "]", "-----", "eyJ"),
        pem(random.Random(5), lines=3),
        CUT_KEY,
    ]
))  # fmt: skip


def shape(value: object) -> object:
    """How lists and objects lie in each other; names of an object that were the same secret are one afterwards."""
    if isinstance(value, list):
        return [shape(one) for one in value]
    return {} if isinstance(value, dict) else type(value)


@for_each(
    "between",
    [r"\t" * 10, r"\n", r" \name ", r" \text ", r"\r\n\t"],
)
def test_escapes_between_a_name_and_its_key(between: str) -> None:
    """In JSON, tabs and ends of lines are escapes; elsewhere a backslash may stand before a word."""
    key = "Q7zkP2mX9vLr4TnB8wYdA3s"
    assert f"token:{between}[redacted token]" == Redactor().redact(f"token:{between}{key}").text


@for_each(
    "text, redacted",
    [
        ('\x1b[2mpassword\x1b[0m: "S3cr3tValue77xQ"', 'password: "[redacted password]"'),
        ("key AKIA\x1b[1mIOSFODNN7\x1b[0mEXAMPL2 of ann", "key [redacted aws_key] of ann"),
        (
            "\x1b[32mtoken:\x1b[0m Q7zkP2mX9vLr4TnB8wYdA3s",
            "token: [redacted token]",
        ),
        ("\x1b[32mdone\x1b[0m in 3 s", "\x1b[32mdone\x1b[0m in 3 s"),
    ],
)
def test_colours_hide_no_secret(text: str, redacted: str) -> None:
    """A secret is found through the colours of a terminal, which then go; without one they stay."""
    assert redacted == Redactor().redact(text).text


def test_tags_of_a_page_hide_no_secret() -> None:
    """A secret is found through the tags of an HTML page, of which the words stay then; without one the page stays."""
    page = "<html><p>The key <b>AKIA</b>IOSFODNN7<wbr>EXAMPL2 is old.</p></html>"
    log = "\n* Closing connection 0" * 20
    harmless = "<html><p>The <b>key</b> is old.</p></html>"
    behind = "<html><p>Old.</p></html>\n<p>The key <b>AKIA</b>IOSFODNN7<wbr>EXAMPL2 is old.</p>"

    assert "The key [redacted aws_key] is old." == Redactor().redact(page).text
    assert "The key [redacted aws_key] is old.\n" + log == Redactor().redact(page + log).text
    assert harmless == Redactor().redact(harmless).text
    assert Redactor().redact(behind).text.endswith("The key [redacted aws_key] is old.")


KEY_BEHIND_A_TAB = "sm_sat_adLu6HulCNUnzf7m"


class TestLaws:
    """What holds for every text."""

    @given(st.lists(PIECES | st.text(max_size=12), max_size=8).map("".join))
    @example("[redacted x][redacted x]")
    @examples(300)
    def test_again_changes_nothing(self, text: str) -> None:
        """What was redacted is redacted for good, and no line moves."""
        redacted = REDACTOR.redact(text)

        assert Redacted(redacted.text) == REDACTOR.redact(redacted.text)
        assert [c for c in text if c in "\r\n"] == [c for c in redacted.text if c in "\r\n"]

    @given(
        st.recursive(
            PIECES | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PIECES, inner, max_size=3),
            max_leaves=6,
        )
    )
    @examples(200)
    @example({"password": '\x1f"'})
    @example({"password=": 12345678})
    @example({CUT_KEY: "AKIAUJZDEGXDNCF32EPF"})
    @example([[CUT_KEY], "AKIAUJZDEGXDNCF32EPF"])
    @example([{"a": CUT_KEY}, {"AKIAUJZDEGXDNCF32EPF": 1}])
    @example(["password", f"name\t{KEY_BEHIND_A_TAB}\tvalue"])
    def test_json_stays_json(self, value: object) -> None:
        """A JSON text is one afterwards, of the same shape, however often it is JSON inside JSON."""
        compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        texts = json.dumps(value), json.dumps(value, indent=1), compact
        for text in (*texts, *map(json.dumps, texts)):
            redacted = json.loads(REDACTOR.redact(text).text)
            assert shape(json.loads(text)) == shape(redacted)

    @for_each("rule", RULES)
    def test_hints_begin_with_a_literal(self, rule: Rule) -> None:
        """Otherwise `re` would look at every character."""
        assert regex.match(r"[a-z0-9:_~/|!.=> -]|\\[-|!.+]", rule.hint)

    @pytest.mark.long
    @for_each("place", CONTEXTS)
    def test_a_look_at_the_words_loses_nothing(self, place: str) -> None:
        """Wherever a key stands, its rule is not passed over."""
        chosen = random.Random(5)
        for _, make in TOKENS:
            text = CONTEXTS[place].format(make(chosen))
            flat = text.encode("ascii", "replace").lower()
            runs = Runs.of(flat)
            passed_over = [rule for rule in RULES if not rule.may_find(runs)]
            assert [] == [span for rule in passed_over for span in rule.find_all(text, flat)]

    def test_every_form_names_its_source(self) -> None:
        """No form stands twice, and each has a page of its vendor; a note says who states the form."""
        source = regex.compile(r"https://\S+ \((?:form: vendor|(?:form|lengths): scanners)\)")
        assert len({key.form for key in VENDOR_KEYS}) == len(VENDOR_KEYS)
        assert [] == [key for key in VENDOR_KEYS if not source.fullmatch(key.source)]


BY_CHANCE = random.Random(11)
# What the makers' generators, validators and pages state; in pieces, so that no scanner takes them for real ones.
STATED = {
    "aikido_key": "AIK_" + "RUNTIME_12_345_US_" + some(BY_CHANCE, MIXED, 48),
    "azure_key": some(BY_CHANCE, MIXED, 52) + "JQQ" + "J99" + some(BY_CHANCE, MIXED, 28) + "==",
    "buildkite_token": "bkj" + "at_eyJ" + ".".join(some(BY_CHANCE, WORD, 300) for _ in range(3)),
    "cartesia_key": "sk_" + "car_" + some(BY_CHANCE, MIXED, 22) + "." + some(BY_CHANCE, MIXED, 36),
    "cerebras_key": "cs" + "k_" + some(BY_CHANCE, MIXED, 48),
    "crates_io_token": "cio" + "_tp_" + some(BY_CHANCE, MIXED, 32),
    "cursor_key": "cr" + "sr_" + some(BY_CHANCE, HEX, 64),
    "docker_token": "SWM" + "TKN-2-0-" + some(BY_CHANCE, "abcdefgh189", 50) + "-" + "0ab9c" * 5,
    "doppler_token": "dp" + ".said." + some(BY_CHANCE, MIXED, 43),
    "dropbox_token": "s" + "l.u." + some(BY_CHANCE, WORD, 1800),
    "fly_token": "fm" + "2_" + some(BY_CHANCE, WORD, 3000),
    "github_token": "gh" + "s_1234567_eyJ" + ".".join(some(BY_CHANCE, WORD, 160) for _ in range(3)),
    "google_token": "ya" + "29.c." + some(BY_CHANCE, WORD, 200),
    "langsmith_key": "ls" + "__" + some(BY_CHANCE, HEX, 32),
    "lichess_token": "li" + "o_" + "abcdefgh" * 4,
    "logfire_token": "pyl" + f"f_v2_eu_{UUID(int=9**35)}_" + some(BY_CHANCE, MIXED, 43),
    "mailersend_token": "mls" + "n.a-b_c." + some(BY_CHANCE, MIXED, 56),
    "mapbox_token": "tk" + ".eyJ" + some(BY_CHANCE, WORD, 700) + "." + some(BY_CHANCE, WORD, 22),
    "newrelic_key": "eu01xx" + some(BY_CHANCE, HEX, 26) + "FFFF" + "NRAL",
    "npm_token": "np" + "ms_" + some(BY_CHANCE, MIXED, 48),
    "onesignal_key": "os_v2" + "_app_" + some(BY_CHANCE, "abcdefgh189", 60),
    "packagist_token": "packagist" + "_cut_" + some(BY_CHANCE, HEX, 68),
    "posthog_key": "ph" + "a_" + some(BY_CHANCE, MIXED, 43),
    "runpod_key": "rp" + "a_" + some(BY_CHANCE, MIXED, 60),
    "salesforce_token": "00" + "D" + some(BY_CHANCE, MIXED, 15) + "!" + some(BY_CHANCE, MIXED, 90),
    "sentry_token": "sntr" + "ya_" + some(BY_CHANCE, HEX, 64),
    "slack_token": "xw" + "fp-" + some(BY_CHANCE, MIXED, 60),
    "stripe_key": "sk_" + "org_live_" + some(BY_CHANCE, MIXED, 60),
    "supabase_key": "sb_" + f"secret_{some(BY_CHANCE, WORD, 22)}_{some(BY_CHANCE, WORD, 8)}",
    "thunderstore_token": "ts" + "s_" + some(BY_CHANCE, LETTERS, 36),
    "unkey_key": "un" + "key_" + some(BY_CHANCE, MIXED, 8) + "unkeyv1" + some(BY_CHANCE, MIXED, 42),
    "voyage_key": "al-" + "eu-" + some(BY_CHANCE, MIXED, 43),
    "workato_token": "wrka" + "trial-eyJ" + ".".join(some(BY_CHANCE, WORD, 90) for _ in range(3)),
    "xai_key": "xa" + "i-token-" + some(BY_CHANCE, MIXED, 40),
}


@for_each("kind", STATED)
def test_forms_that_their_makers_state(kind: str) -> None:
    """A key of the shape that a vendor's own code or page states is gone to its last character."""
    assert Redacted(f"with [redacted {kind}]\n", {kind: 1}) == REDACTOR.redact(
        f"with {STATED[kind]}\n"
    )


BASE64 = MIXED + "+/"
# How many characters stand before and after the signature of a kind of Azure's keys, and which end it may have.
AZURE = {
    "+ASt": (BASE64, 76, "", 5, "g=="),
    "+ABa": (BASE64, 76, "", 5, "A=="),
    "+AMC": (BASE64, 76, "", 5, "Q=="),
    "ACDb": (BASE64, 76, "", 5, "w=="),
    "APIM": (BASE64, 76, "", 5, "g=="),
    "+ASb": (BASE64, 33, "A", 5, "="),
    "+AEh": (BASE64, 33, "B", 5, "="),
    "+ARm": (BASE64, 33, "O", 5, "="),
    "AIoT": (BASE64, 33, "P", 5, "="),
    "AzCa": (BASE64, 33, "C", 5, "="),
    "AZEG": (BASE64, 33, "D", 5, "="),
    "+ACR": (BASE64, 42, "D", 5, ""),
    "AzFu": (WORD, 44, "", 5, "A=="),
    "AzSe": (MIXED, 42, "A", 5, ""),
}


@for_each("signature", AZURE)
def test_azure_keys_with_a_signature_in_them(signature: str) -> None:
    """`az storage account keys list` prints such keys under the name `value`, by which nobody would know them."""
    chosen = random.Random(signature)
    characters, before, sign, after, end = AZURE[signature]
    key = (
        some(chosen, characters, before) + signature + sign + some(chosen, characters, after) + end
    )
    assert Redacted('"value": "[redacted azure_key]"\n', {"azure_key": 1}) == REDACTOR.redact(
        f'"value": "{key}"\n'
    )


LINES = pem(random.Random(5), lines=3).splitlines()
IN_STRINGS = {
    "list": json.dumps({"key": LINES, "next": "ABCDEFGHIJKLMNOPQRST"}),
    "indented": json.dumps({"key": LINES, "next": "ABCDEFGHIJKLMNOPQRST"}, indent=2),
    "plus": " +\n    ".join(f'"{line}\\n"' for line in LINES),
    "dot": " .\n".join(f"'{line}\\n'" for line in LINES),
    "below": "\n".join(f"'{line}\\n'" for line in LINES),
    "comma": ",\n".join(f"`{line}`" for line in LINES),
}


@for_each("name", IN_STRINGS)
@for_each("part", [slice(None), slice(3), slice(2, None)])
@for_each("nested", [0, 1, 2])
def test_keys_whose_lines_are_strings(name: str, part: slice, nested: int) -> None:
    """Of a key whose lines are strings of their own each one is emptied, in JSON too; what stands around them stays."""
    text, gone = IN_STRINGS[name], LINES[part]
    for line in LINES:
        text = text if line in gone else text.replace(line, "")
    expected = text.replace(gone[0], "[redacted private_key]")
    for line in gone:
        expected = expected.replace(line, "")
    for _ in range(nested):
        text, expected = json.dumps(text), json.dumps(expected)

    assert Redacted(expected, {"private_key": 1}) == REDACTOR.redact(text)


@for_each(
    "password", ['12!x"rest-of-it', "12!x'rest-of-it", "12!x\\", '"12!x', "\\12!x\\\\", '12!x`\\"']
)
@for_each("nested", range(4))
def test_passwords_with_quotes(password: str, nested: int) -> None:
    """Quotes and backslashes in a password are part of it, however often it is JSON inside JSON."""
    text, expected = (
        json.dumps({"password": one, "user": "x"}) for one in (password, "[redacted password]")
    )
    for _ in range(nested):
        text, expected = json.dumps(text), json.dumps(expected)

    assert Redacted(expected, {"password": 1}) == REDACTOR.redact(text)


@for_each(
    "inner",
    [["sk-ant-api03-" + "aB3" * 20, "token"], [{"password": "12!xyz"}], {"pwd": '["x9!abc'}],
)
def test_json_in_a_field_of_a_password(inner: object) -> None:
    """A field with the name of a password that holds JSON stays JSON, too; only the secrets in it go."""
    redacted = json.loads(REDACTOR.redact(json.dumps({"password": json.dumps(inner)})).text)

    assert shape(inner) == shape(json.loads(redacted["password"]))


COLOUR = "\x1b[32m{}\x1b[0m"
MARGINS = {
    "removed in a diff": "-{}",
    "added in a diff": "+{}",
    "log": "2026-01-01T00:00:{number:02}Z app[1]: {}",
    "log of a cluster": "[pod/web-7d9f/app] {number:06}.25 INFO  {}",
    "docker compose": "web_1  | {}",
    "comment": "// {}",
    "comment without a blank": "//{}",
    "comment of SQL": "-- {}",
    "comment of INI": "; {}",
    "colour": COLOUR,
    "colours of a diff": COLOUR.format("-{}"),
    "colour before a name": COLOUR.format("web_1 | ") + "{}",
}


def printed(margin: str, block: str) -> str:
    """A block with something before each line."""
    return "\n".join(
        margin.format(line, number=number) for number, line in enumerate(block.splitlines(), 8)
    )


@for_each("margin", MARGINS)
@for_each("name", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"])
@for_each("nested", range(3))
@for_each("header", ["", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n"])
def test_keys_with_something_before_each_line(
    margin: str, name: str, nested: int, header: str
) -> None:
    """Keys in diffs, logs, comments and colours go whole; what stands around them stays, also inside JSON."""
    first, _, rest = pem(random.Random(6), name).partition("\n")
    text = "before\n" + printed(MARGINS[margin], f"{first}\n{header}{rest}") + "\nafter, and more"
    for _ in range(nested):
        text = json.dumps({"text": text})
    redacted = REDACTOR.redact(text)

    assert {"private_key": 1} == redacted.counts
    assert not regex.search("[A-Za-z0-9+/]{20}", redacted.text)
    assert "PRIVATE KEY" not in redacted.text
    assert "before" in redacted.text
    assert "after, and more" in redacted.text
    assert [] == spoiled(text, redacted)


@for_each("margin", ["-{}", "app[1] {number}: {}", "app {number} {}", COLOUR])
def test_printed_keys_cut_short(margin: str) -> None:
    """A printed key whose end is cut off goes as far as it is there."""
    block = pem(random.Random(7))
    text = printed(margin, block[:-300])

    assert not regex.search("[A-Za-z0-9+/]{20}", REDACTOR.redact(text).text)


def test_keys_that_are_replaced_in_a_diff() -> None:
    """The first and the last line of two keys are the same, and only what is between them has marks."""
    old, new = (pem(random.Random(number)).splitlines() for number in (8, 9))
    lines = [
        f" {old[0]}",
        *(f"-{line}" for line in old[1:-1]),
        *(f"+{line}" for line in new[1:-1]),
        f" {old[-1]}",
    ]
    redacted = REDACTOR.redact("@@ -1,9 +1,9 @@\n" + "\n".join(lines) + "\n other")

    assert not regex.search("[A-Za-z0-9+/]{20}", redacted.text)
    assert redacted.text.endswith("\n other")


@for_each("between", ["", "<br>", "<br/>\n", "&#10;", "%0A"])
def test_keys_in_one_line(between: str) -> None:
    """Keys without line breaks, and with those of HTML and of URLs, go whole."""
    block = pem(random.Random(10))
    redacted = REDACTOR.redact(f"key: {between.join(block.splitlines())} and more")

    assert not regex.search("[A-Za-z0-9+/]{20}", redacted.text)
    assert "PRIVATE KEY" not in redacted.text
    assert redacted.text.endswith(" and more")


@for_each(
    "text",
    [
        "# -----BEGIN PRIVATE KEY-----\nfrom somewhere import SomethingWithALongName\n",
        "if line == -----BEGIN PRIVATE KEY-----\n    raise SomethingWithALongNameAsAnError\n",
        "1: -----BEGIN PRIVATE KEY-----\n2: the key stands here\n3: SomethingWithALongNameAsAnError\n",
        "head: -----BEGIN PRIVATE KEY-----\n\nSee https://example.org/" + "A" * 64 + "/it",
        "-----BEGIN PUBLIC KEY-----\n" + "A" * 64 + "\n-----END PUBLIC KEY-----",
    ],
)
def test_what_is_no_key(text: str) -> None:
    """What only speaks of keys stays: a line has to begin as the first one does, and to follow it."""
    assert Redacted(text) == REDACTOR.redact(text)


@for_each("margin", ["{}", "# {}", COLOUR])
@for_each(
    "below",
    [
        "from somewhere import SomethingWithALongName",
        "(cut)\ncommit " + "a1b2" * 10,
        "    --hash=sha256:" + "a1b2" * 16 + " \\",
        "-----BEGIN CERTIFICATE-----\n" + "A" * 64,
    ],
)
@for_each("nested", range(2))
def test_what_stands_below_a_key_cut_short(margin: str, below: str, nested: int) -> None:
    """Only its own lines go with a key whose end is missing, whatever stands below them."""
    rest = f"{below}\nthe end"
    text = printed(margin, "\n".join(LINES[:3])) + f"\n{rest}"
    for _ in range(nested):
        text, rest = json.dumps(text), json.dumps(rest)[1:]

    assert REDACTOR.redact(text).text.endswith(rest)


HOSTILE = [
    *("-----BEGIN PRIVATE KEY-----", "# -----BEGIN PRIVATE KEY-----\n# ", "-----BEGIN PRIVATE KEY-----\\n\\n", "<br>-----BEGIN PRIVATE KEY-----" + " " * 500),
    *("-----BEGIN PRIVATE KEY-----\nA: b\n", "1 2 3 4 5 6 7 8 9 -----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\x1b[1m" * 99 + "\n", "\n" * 500 + "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----" + "%0A" * 130, "-----BEGIN PRIVATE KEY-----\\n" + '","' * 80, "-----BEGIN PRIVATE KEY-----" + "A" * 99),
    *("password=", "password: ", '"password": "', "token:", "api_key='", "secret: ${", "-----BEGIN PRIVATE KEY-----\n", "pass", "key="),
    *("-----END PRIVATE KEY-----", "eyJ", "eyJaaaaaaaaa.", "://", "://a:", "://a:b@", "@", ":AA", "Bearer ", "Basic YTpi ", "sk-", "xoxb-"),
    *("ghp_", "AKIA", "SG.", "Q~", "sig=", "login a password ", "--password ", "\\", '\\"', "\\n", "A" * 63 + "\n", "a1", "=", " ", "\x1b[32m"),
    *("[redacted ", "[redacted jwt]", "curl -u ", "-u a:", "A+/", "password: str = ", "value: ", 'password", ', '<password a="b" ', "password: |\n ", '-> "', 'password = "a" -> "', "A=1;password='a\"b", "https://a.b:80/", "\u001b[1m", '{"password":'),
    *("kind: Secret\n", "kind: Secret\ndata:\n  a: |\n", " kind: Secret\n  data:\n   a: b\n", "- kind: Secret\n", '"kind":"Secret",', '{"kind":"Secret",', '{"kind":"Secret"}', '"kind":"Secret","data":{'),
    *("token ", "token(", "token = a(", 'getenv("token", "', "token is the ", "password is ", "password for a", "authorization: a ", "bearer(", " -p", "curl -u", "mysql -pa1 ", "auth=", "https://" + "a" * 19),
    *("A_KEY", "A_KEY=" + "a" * 20, "key key ", 'token": "' + "a1" * 9, "token " + "- " * 9, "token" + "</a>" * 5, "(token", "secrets: ", 'setpassword("', "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0t"),
    *("BUNDLE_", "BUNDLE_A=a:b", "token,", "token," + "a" * 16, "Using Key=", "ZXlK-", "glpat-", "xapp-1-", "1000.", ".abcdef.", "MTIz", "|", "==:", "-us1", "!", "AAAA", "sl.", "00"),
]  # fmt: skip


@pytest.mark.long
class TestTime:
    """No text is slow: what would take quadratic time on these does not end within a test's time limit."""

    @for_each("piece", HOSTILE)
    def test_hostile_repetitions(self, piece: str) -> None:
        """A fifth of a megabyte of what begins a secret again and again is done within the time limit of a test."""
        redacted = REDACTOR.redact(piece * (200_000 // len(piece)))

        assert Redacted(redacted.text) == REDACTOR.redact(redacted.text)

    @for_each(
        "middle",
        ["A" * 200_000, ("A" * 64 + "\n") * 3000, "\\n" * 100_000, " " * 200_000, "a1" * 100_000],
    )
    @for_each(
        "first",
        [
            "-----BEGIN PRIVATE KEY-----\n",
            "password=",
            "eyJaaaaaaaaa.eyJ",
            "https://a:",
            "Bearer ",
            "AKIA",
            "",
        ],
    )
    @for_each("last", ["-----END PRIVATE KEY-----", "@host", "Q~" + "a" * 34, '"', ""])
    def test_long_runs_between(self, first: str, middle: str, last: str) -> None:
        """A fifth of a megabyte between a beginning and an end."""
        text = first + middle + last
        assert text.count("\n") == REDACTOR.redact(text).text.count("\n")


@for_each("unit", ["abcdef: -----BEGIN PRIVATE KEY-----\n", "bearer+"])
def test_beginnings_of_secrets_are_read_once(unit: str) -> None:
    """What begins a secret again and again is not read to its end from each beginning."""
    assert_linear(REDACTOR.redact, unit)


class TestUsersPatterns:
    """What users want to have redacted beside."""

    def test_found_and_counted(self) -> None:
        """By the name that they give; of a group `value` only that; with a literal only where it stands."""
        redactor = Redactor(
            {
                "employee": r"\bE-\d{5}\b",
                "iban": RedactionPattern(
                    r"IBAN\s*:\s*(?P<value>[A-Z]{2}\d{2}[A-Z0-9]{11,30})", literal="IBAN"
                ),
                "never": RedactionPattern("E-.", literal="not there"),
            }
        )
        redacted = redactor.redact("E-12345 has IBAN: DE02120300000000202051, E-99999 has none")

        assert (
            "[redacted employee] has IBAN: [redacted iban], [redacted employee] has none"
            == redacted.text
        )
        assert {"employee": 2, "iban": 1} == redacted.counts
        assert {"employee", "iban", "never"} < set(redactor.kinds)

    def test_they_come_first(self) -> None:
        """Where a user's pattern and one of ours meet, it is called what the user calls it."""
        [key] = [
            sample.text
            for place, sample in planted(7)
            if (place, sample.kind) == ("alone", "npm_token")
        ]

        assert {"ours": 1} == Redactor({"ours": "npm_[A-Za-z0-9]+"}).redact(key).counts

    @for_each(
        "text, expected",
        [
            ('{"card": 4111111111111111, "n": 1}', '{"card": "[redacted card]", "n": 1}'),
            ("[4111111111111111, true]", '["[redacted card]", true]'),
            (' {"a": [1,\n4111111111111111\n]}', ' {"a": [1,\n"[redacted card]"\n]}'),
            ('{"a": 4111111111111111.5}', '{"a": "[redacted card]"}'),
            ('{"a": "x: 4111111111111111, y"}', '{"a": "x: [redacted card], y"}'),
            ('{"\\"": "\\\\", "b": 4111111111111111}', '{"\\"": "\\\\", "b": "[redacted card]"}'),
            ("[INFO] card 4111111111111111 read", "[INFO] card [redacted card] read"),
        ],
    )
    def test_numbers_of_json(self, text: str, expected: str) -> None:
        """Where a pattern finds a number of JSON, or some of it, a string takes the number's place."""
        redactor = Redactor({"card": r"\b\d{16}\b"})

        assert Redacted(expected, {"card": 1}) == redactor.redact(text)
        assert Redacted(expected) == redactor.redact(expected)

    def test_line_breaks_stay(self) -> None:
        """A pattern over several lines leaves their breaks."""
        redacted = Redactor({"block": r"(?s)<secret>.*?</secret>"}).redact(
            "a\n<secret>\r\nx\ny\n</secret>\nb"
        )

        assert "a\n[redacted block]\r\n\n\n\nb" == redacted.text

    def test_markers_are_left_alone(self) -> None:
        """A pattern that matches what stands in the place of secrets does not redact that again."""
        redactor = Redactor({"word": "redacted|[a-z]+_x"})
        once = redactor.redact("this is redacted and a_x")

        assert "this is [redacted word] and [redacted word]" == once.text
        assert Redacted(once.text) == redactor.redact(once.text)

    @for_each(
        "name, pattern, problem",
        [
            ("x", "(", "not a regular expression"),
            ("x", "a*", "matches an empty text"),
            ("x", "(?P<value>", "not a regular expression"),
            ("X", "a", "a kind's name must be"),
            ("", "a", "a kind's name must be"),
            ("a b", "a", "a kind's name must be"),
            ("jwt", "a", "a kind's name must be"),
            ("x" * 41, "a", "a kind's name must be"),
        ],
    )
    def test_checked_when_given(self, name: str, pattern: str, problem: str) -> None:
        """A name or a pattern that cannot be one is an error at once, and says what is wrong."""
        with pytest.raises(InvalidArgumentError, match=problem):
            Redactor({name: pattern})

    def test_bounded_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A pattern that explodes is stopped, and is an error: the text is not taken for clean."""
        monkeypatch.setattr("memory_context.text.redact.user_patterns.SECONDS", 0.3)
        redactor = Redactor({"slow": r"(a+)+b"})

        with pytest.raises(RedactionTimeoutError, match="'slow' took too long"):
            redactor.redact("a" * 5000 + " b")


class TestPieces:
    """Pieces of secrets, where a line was made of a text and cut short."""

    @for_each("kind", sorted({kind for kind, _ in TOKENS}))
    def test_cut_anywhere(self, kind: str) -> None:
        """A description that holds the beginning or the end of a secret loses it."""
        make = next(make for name, make in TOKENS if name == kind)
        secret = make(random.Random(9))
        _, found = REDACTOR.cleared(CONTEXTS["line"].format(secret))
        for piece in (secret[:20], secret[-15:], secret[5:18]):
            cleared = without_pieces(f"log, 3 lines: it says {piece}…", found)
            rest = cleared.replace(f"[redacted {kind}]", "")
            assert piece[:6] not in rest
            assert piece[-6:] not in rest
            assert cleared.startswith("log, 3 lines: it says ")

    def test_nothing_is_told(self) -> None:
        """A secret does not say what it is when it is printed, in a traceback or a log."""
        _, [secret] = REDACTOR.cleared("password=" + "hunter" + "2")

        assert "hunter" not in repr(secret)


def test_a_value_in_one_branch_only() -> None:
    """Where the group `value` took no part in a match, all of the match is redacted."""
    redactor = Redactor({"code": r"code=(?P<value>\d+)|pin-\d+"})

    assert redactor.redact("code=12 pin-34").text == "code=[redacted code] [redacted code]"


@pytest.mark.long
@for_each("pattern", ["(?R)", "a|(?R)", "(?R)a", "(?P<x>(?&x))"])
def test_patterns_that_call_themselves(pattern: str) -> None:
    """One that never ends is refused, or found to take too much on a text; nothing but the library's errors is raised."""
    with pytest.raises((InvalidArgumentError, RedactionTimeoutError)):
        Redactor({"x": pattern}).redact("aaa bbb")


def test_a_pattern_that_calls_itself_and_ends() -> None:
    """Recursion that ends is what the package `regex` offers."""
    assert Redactor({"x": r"<(?:[^<>]|(?R))*>"}).redact("a <b <c> d> e").text == "a [redacted x] e"


def test_line_breaks_are_nothing_to_take_out() -> None:
    """A user's pattern that finds line breaks alone changes nothing: they stay in any case, and nothing grows."""
    redactor = Redactor({"x": r"\W+"})

    assert "\n" == redactor.redact("\n").text
    assert "a[redacted x]\nb" == redactor.redact("a?\nb").text
    assert Redacted("a[redacted x]\nb") == redactor.redact("a[redacted x]\nb")


COLUMNS = (
    ("Access key ID,Secret access key\nid7,{}\n", "A1b2C3d4E5f6G7h8"),
    ('name,password,note\nann,{},"a, b"\n', "s3cr3t-P4ss"),
    ('name,password,note\nbob,"x","two\nlines"\nann,"{}",x\n', "q,W9!x7"),
    (" login | password  | age\n-------+-----------+----\n ann   | {} | 3\n(1 row)\n", "Xk9#mmQ2"),
    ("| user | api_token |\n|---|---|\n| ann | {} |\n", "a8f3K2m9Qx7Lp0Zr"),
    ("user\tclient_secret\nann\t{}\n", "A1b2C3d4E5f6G7h8"),
    (
        "Timestamp,What is your full name please,Password\n2026-01-01,Ann,{}\n",
        "Xk29dLq8Zt4Wm7Pb",
    ),
    (
        "| user | what the key is used for here | api_key |\n|---|---|---|\n| ann | ci | {} |\n",
        "Xk29dLq8Zt4Wm7Pb",
    ),
)


class TestColumns:
    """Tables, whose values stand below their names."""

    @for_each("table, secret", COLUMNS)
    def test_below_its_name(self, table: str, secret: str) -> None:
        """The cell is gone, and nothing else."""
        redacted = REDACTOR.redact(table.format(secret))
        assert redacted.text in (
            table.format("[redacted password]"),
            table.format("[redacted secret]"),
        )

    @for_each(
        "text",
        [
            "def f(user, token, password):\n    return g(a, 'x1y2z3w4', h)\n",
            "token,count\nHello2,5\nfoo_bar1,4\n",
            "| name | password |\n|---|---|\n| required | string |\n",
            'NAMES = [\n    "password",\n    "a1B2c3D4e5",\n]\n',
            "password, the server must protect the endpoint against\nbrute force attacks (e.g., limits)",
        ],
    )
    def test_no_table_of_secrets(self, text: str) -> None:
        """Code, tokens of a language, a table of types: nothing is taken out."""
        assert REDACTOR.redact(text).counts == {}

    def test_a_line_of_many_names(self) -> None:
        """The line of a name is looked up once, however many names it holds: code may be one line of a megabyte."""
        finds = list[object]()

        class Searched(str):
            __slots__ = ()

            def find(self, *arguments: Any) -> int:
                finds.append(arguments)
                return super().find(*arguments)

        text = "token,secret;" * 100
        [rule] = secret_columns.COLUMNS
        assert [] == list(rule.find_all(Searched(text), text.encode()))
        assert len(finds) < 5


@for_each(
    "text",
    [
        "Passwort: s3cr3tP4ss",
        "contraseña=s3cr3tP4ss",
        "Mot de passe : s3cr3tP4ss",
        "app.keystore.pass=s3cr3tP4ss",
        "bindpw s3cr3tP4ss",
        "export DB_PASSWORD=0xe7dd0bf3",
        "run --secret 0xa8ca3f7e",
        'psk="s3cr3tP4ss"',
        "secret_id=6f1c0b1e-3a4d-4f9e-9a7b-0c1d2e3f4a5b",
    ],
)
def test_names_of_other_languages_and_tools(text: str) -> None:
    """What stands behind them is gone."""
    assert 1 == sum(REDACTOR.redact(text).counts.values())


def test_the_name_of_a_secret_is_none() -> None:
    """An address of AWS's Secrets Manager says where a secret is kept, and an agent needs it."""
    arn = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:prod/payments/api-key-4f7a9C"
    assert REDACTOR.redact(f'valueFrom: {arn}\n{{"ARN": "{arn}"}}').counts == {}


class TestKubernetes:
    """The values of a secret of Kubernetes go, whatever their names; those of other objects stay."""

    @staticmethod
    def base64_of(text: str) -> str:
        """What stands in the place of a value."""
        return base64.b64encode(text.encode()).decode()

    @for_each("order", ["kind", "data"])
    def test_yaml(self, order: str) -> None:
        """With the kind before the values or behind them, in one line or several, beside other documents."""
        value, other = self.base64_of("what the database asks for"), self.base64_of("a colour")
        kind = "kind: Secret\nmetadata:\n  name: db\n"
        data = (
            f"data:\n  user: {value}\n  cert.pem: |\n    {value}\n    {value}\n  from: ${{VALUE}}\n"
        )
        secret = kind + data if order == "kind" else data + kind
        config = f"kind: ConfigMap\ndata:\n  colour: {other}\n"
        text = f"{config}---\napiVersion: v1\n{secret}---\n{config}"
        redacted = REDACTOR.redact(text)

        assert text.replace(value, "[redacted kubernetes_secret]") == redacted.text
        assert {"kubernetes_secret": 3} == redacted.counts

    def test_yaml_list(self) -> None:
        """Of a list's items only the secrets."""
        value, other = self.base64_of("what the database asks for"), self.base64_of("a colour")
        text = "items:\n" + "".join(
            f"- apiVersion: v1\n  data:\n    it: {one}\n  kind: {kind}\n"
            for kind, one in [("ConfigMap", other), ("Secret", value), ("ConfigMap", other)]
        )

        assert text.replace(value, "[redacted kubernetes_secret]") == REDACTOR.redact(text).text

    @for_each("nested", range(3))
    @for_each("note", ["{", "}", '"{', "\\"])
    @for_each("first", ["kind", "data"])
    def test_json_with_a_brace_in_a_string(self, note: str, first: str, nested: int) -> None:
        """A brace in a string opens and closes nothing, whatever comes first, also inside JSON."""
        value = self.base64_of("what the database asks for")
        members = {"kind": "Secret", "data": {"it": value}}
        text = json.dumps({first: members[first], "note": note, **members})
        for _ in range(nested):
            text = json.dumps(text)

        assert text.replace(value, "[redacted kubernetes_secret]") == REDACTOR.redact(text).text

    @for_each("value", ["several words", '{"a": 1}', "joe"])
    @for_each(
        "write",
        [json.dumps, lambda secret: json.dumps({"log": json.dumps(secret)}), yaml.safe_dump],
    )
    def test_plain_text(self, value: str, write: Callable[[object], str]) -> None:
        """What a person writes instead of base64 goes, too: words, JSON, short names."""
        config = {"kind": "ConfigMap", "data": {"note": value}}
        secret = {"kind": "Secret", "stringData": {"note": value, "a": "b"}}
        text = f"{write(config)}\n---\n{write(secret)}"
        redacted = REDACTOR.redact(text).text

        assert write(config) in redacted
        assert 2 == redacted.count("[redacted kubernetes_secret]")

    @for_each("order", list(permutations(["kind", "data", "stringData", "metadata"])))
    def test_json_in_any_order(self, order: Sequence[str]) -> None:
        """The values of both members go, wherever the kind is, and whatever kind a nested object has."""
        owner = {"ownerReferences": [{"kind": "Secret", "name": "a"}], "note": "two\nlines"}
        members: dict[str, Any] = {
            "kind": "Secret",
            "data": {"it": self.base64_of("what the database asks for")},
            "stringData": {"it": "several words", "in": {"it": "deep"}},
            "metadata": owner,
        }
        text = json.dumps({name: members[name] for name in order}).replace("\\n", "\n")

        found = REDACTOR.redact(text).text
        for value in (members["data"]["it"], "several words", "deep"):
            assert value not in found
        assert '"name": "a"' in found

    @for_each(
        "line, redacted",
        [
            ('k: "abc def" # why', 'k: "[…]" # why'),
            ("k: 'it''s' ", "k: '[…]' "),
            ('k: it\'s "x"', "k: […]"),
            ('"user": "joe",', '"user": "[…]",'),
            ("k: abc#def", "k: […]"),
            ('k: "abc\n    def"', 'k: "[…]\n    […]"'),
            ("k: !!binary |", "k: !!binary |"),
            ("k: &a abc", "k: &a […]"),
            ('"a b": abc', '"a b": […]'),
            ('k: \'{"a": "b",\n    "c": "d"}\'', 'k: \'[…]\n    "c": "[…]'),
            ('k: |\n    {"a": "b",\n     "c": "d"}', 'k: |\n    […]\n     "c": "[…]'),
            ('k: ""', 'k: ""'),
            ("k: |\n    !abc\n    a # b", "k: |\n    […]\n    […]"),
            ("k: |-", "k: |-"),
        ],
    )
    def test_yaml_stays_yaml(self, line: str, redacted: str) -> None:
        """Quotes, commas, comments and tags around a value stay."""
        text = f"kind: Secret\nstringData:\n  {line}\ntype: Opaque\n"
        expected = redacted.replace("[…]", "[redacted kubernetes_secret]")

        assert text.replace(line, expected) == REDACTOR.redact(text).text

    def test_a_quote_in_the_prose_before_an_object(self) -> None:
        """It is none of the object's quotes."""
        value = self.base64_of("what the database asks for")
        text = 'a screen of 5": ' + json.dumps({"data": {"it": value}, "kind": "Secret"})

        assert text.replace(value, "[redacted kubernetes_secret]") == REDACTOR.redact(text).text

    def test_json_in_an_annotation(self) -> None:
        """`kubectl apply` keeps what it was given in an annotation, as text; its values go as well."""
        value = self.base64_of("what the database asks for")
        given = {"kind": "Secret", "stringData": {"it": "several words"}}
        annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(given)}
        secret = {"data": {"it": value}, "kind": "Secret", "metadata": {"annotations": annotations}}
        redacted = REDACTOR.redact(json.dumps(secret))

        assert {"kubernetes_secret": 2} == redacted.counts

    @for_each("cut", [slice(20, None), slice(-20)])
    def test_json_cut_short(self, cut: slice) -> None:
        """Objects that are cut off at either end are understood as far as they are there."""
        value = self.base64_of("what the database asks for")
        names = {"annotations": {"a": "b"}, "labels": {"a": "b"}}
        secret = {"metadata": names, "data": {"it": value}, "kind": "Secret", "more": names}
        text = json.dumps({"items": [secret]})[cut]

        assert text.replace(value, "[redacted kubernetes_secret]") == REDACTOR.redact(text).text

    @for_each("nested", range(3))
    @for_each("indent", [None, 2])
    def test_json(self, nested: int, indent: int | None) -> None:
        """As `kubectl get -o json` prints them, also inside JSON."""
        value, other = self.base64_of("what the database asks for"), self.base64_of("a colour")
        items = [
            {"apiVersion": "v1", "data": {"it": one, "b": one}, "kind": kind}
            for kind, one in [("ConfigMap", other), ("Secret", value), ("ConfigMap", other)]
        ]
        text = json.dumps({"items": items, "kind": "List"}, indent=indent)
        for _ in range(nested):
            text = json.dumps(text)

        assert text.replace(value, "[redacted kubernetes_secret]") == REDACTOR.redact(text).text


@for_each(
    "text, secret",
    [
        ("BUNDLE_GEMS__CONTRIBSYS__COM={}", "cafe" + "babe:dead" + "beef"),
        ('export BUNDLE_GEMS__CONTRIBSYS__COM="{}"', "cafe" + "babe:dead" + "beef"),
        ("id,token,user\n7,x,y\ntoken,{},ann\n", "aB3dE5fG7h" * 3),
        ('{{"auths": {{"example.org": {{"auth": "{}"}}}}}}', base64.b64encode(b"ann:hunter" + b"2").decode()),
        ("//registry.example.org/:_auth={}\n", base64.b64encode(b"ann:hunter" + b"2").decode()),
        ("git clone https://{}@git.example.org/a/b.git", "0a9f" * 10),
        ("users:\n- name: ann\n  user:\n    client-key-data: {}\n", base64.b64encode(pem(random.Random(9)).encode()).decode()),
        ("curl -u ann:{} https://example.org", "correct" + "horse"),
        ("log in as {} now", base64.b64encode(b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl").decode()),
    ],
)  # fmt: skip
def test_other_places(text: str, secret: str) -> None:
    """Bundler's credentials for a host of gems, a row of a table, Docker's and npm's, a token for a user, a private key and a JWT in base64."""
    assert secret not in REDACTOR.redact(text.format(secret)).text


class TestFunctions:
    """A kind that a function finds, as an analyzer of personal data does."""

    @staticmethod
    def names(text: str) -> list[tuple[int, int]]:
        """Where capitalised words stand, and an empty place."""
        return [(0, 0), *(match.span() for match in regex.finditer("[A-Z][a-z]+", text))]

    def test_found_and_counted(self) -> None:
        """Like a pattern: by its name, beside the library's own kinds, and again nothing."""
        redactor = Redactor({"person": self.names})
        redacted = redactor.redact("log in as Ann, password=" + "hunter" + "2, or as Bo")

        expected = (
            "log in as [redacted person], password=[redacted password], or as [redacted person]"
        )
        assert Redacted(expected, {"person": 2, "password": 1}) == redacted
        assert Redacted(expected) == redactor.redact(expected)
        assert "person" in redactor.kinds
        assert not redactor.is_default

    def test_in_json_each_text_by_itself(self) -> None:
        """JSON stays JSON: a function sees texts, not the quotes around them."""
        redaction = Redaction(Redactor({"all": lambda text: [(0, len(text))]}))

        assert {"[redacted all]": ["[redacted all]"]} == redaction.value({"a": ["b"]})


def _seats(text: str) -> list[tuple[int, int]]:
    """Find the seats in a text."""
    return [match.span() for match in regex.finditer(r"\b\d\dF\b", text)]


def test_a_redactor_with_a_function_goes_to_other_processes() -> None:
    """A redactor whose function is a module's can be pickled, as its other settings can."""
    redactor = pickle.loads(pickle.dumps(Redactor({"seat": _seats})))
    assert "row [redacted seat]" == redactor.redact("row 14F").text


@for_each("mark", ["", "\ufeff"])
def test_numbers_of_json_become_texts(mark: str) -> None:
    """A number of JSON that a pattern of one's own matches becomes a string, also behind a byte order mark."""
    redactor = Redactor({"number": r"\b\d{5}\b"})
    text = redactor.redact(mark + '{"a": 12345}').text
    assert text == mark + '{"a": "[redacted number]"}'
