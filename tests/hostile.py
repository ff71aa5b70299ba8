"""Paths and ids that must not be taken: what attackers, models and other platforms write."""

from __future__ import annotations

from itertools import product

SLASHES = "/\\\uff0f\u2044\u2215\u29f8\u2571\u27cb\U0001f67c\uff3c\ufe68\u2216\u29f5\u29f9\u2572"
DOTS = (
    "..",
    "\uff0e\uff0e",
    "\u2024\u2024",
    "\u2025",
    ".\u2024",
    "\ufe52\ufe52",
    "%2e%2e",
    ".%2E",
    "%252e%252e",
)
DEVICES = (
    "con",
    "PRN",
    "Aux",
    "nul",
    "COM1",
    "com9",
    "LPT1",
    "lpt0",
    "CONIN$",
    "conout$",
    "CLOCK$",
    "COM\u00b9",
    "lpt\u00b3",
)
INVISIBLE = "\0\t\n\r\x1b\x7f\x85\u200b\u200d\u200e\u202e\u2028\u2060\ufeff\ue000\uf05c\ud800\udc2f"
TARGETS = ("etc/passwd", "secret.txt", "other-agent/notes.md")


def climbing() -> list[str]:
    """Paths that climb out, with every separator and every spelling of two dots."""
    plain = [f"{dots}{slash}{target}" for dots, slash, target in product(DOTS, SLASHES, TARGETS)]
    deep = ["../" * count + "etc/passwd" for count in (2, 5, 40)]
    inside = [
        "a/../b",
        "a/..",
        "a/../../b",
        "..",
        "../",
        "./..",
        "a/./../../b",
        ".. /x",
        "../..",
        "..././x",
        "....//x",
    ]
    return plain + deep + inside


def elsewhere() -> list[str]:
    """Absolute paths, drives, shares, devices' paths, streams, URLs and home folders."""
    return [
        *(
            "/",
            "//",
            "/etc/passwd",
            "//etc/passwd",
            "///x",
            "/memories/x.md",
            "/proc/self/root/etc/passwd",
            "/dev/null",
        ),
        *(
            "C:",
            "C:x",
            "C:/x",
            "c:\\x",
            "C:\\Windows\\win.ini",
            "\\x",
            "\\\\server\\share\\x",
            "//server/share/x",
        ),
        *(
            "\\\\?\\C:\\x",
            "\\\\.\\pipe\\x",
            "//?/C:/x",
            "//./COM1",
            "\\??\\C:\\x",
            "notes.md:stream",
            "notes.md::$DATA",
        ),
        *(
            "file:///etc/passwd",
            "http://x/y",
            "~",
            "~/x",
            "~root/.ssh/id_rsa",
            "a\\b",
            "a\\..\\b",
            "notes.md\uff1astream",
        ),
    ]


def malformed() -> list[str]:
    """What is no path to a file, and what is too long."""
    return [
        *(
            "",
            " ",
            "\t",
            ".",
            "./",
            "a/",
            "notes/",
            "a/ /b",
            "\u00a0",
            "\u3000",
        ),
        *(
            "x" * 256,
            "\u00e9" * 128,
            "a/" + "x" * 300,
            "/".join(["a"] * 33),
            "/".join(["x" * 200] * 6),
            "x" * 100_000,
        ),
    ]


def reserved() -> list[str]:
    """Names that some platform keeps for itself, or takes for others."""
    devices = [
        form.format(name)
        for name, form in product(DEVICES, ("{}", "{}.txt", "{}.tar.gz", "{} .txt", "a/{}", "{}/a"))
    ]
    endings = [
        f"{name}{end}"
        for name, end in product(
            ("a", "a/b", "notes.md"), (".", " ", "...", ". .", "\u00a0", "\u3000")
        )
    ]
    characters = [f"a{one}b.md" for one in '<>:"|?*\\']
    own = [
        ".memory-context-0123456789abcdef",
        "a/.memory-context-x",
        ".Memory-Context-x",
        "\uff0ememory-context-x",
    ]
    wide = [
        "\uff23\uff2f\uff2e",
        "\uff2e\uff35\uff2c.txt",
        "\u2026",
        "x\u2026",
        "\u2488",
        "\u2100",
        "a\u2488b",
    ]
    return devices + endings + characters + own + wide


def unseen() -> list[str]:
    """Names with characters that nobody sees, at each place."""
    return [
        form.format(one)
        for one, form in product(INVISIBLE, ("{}", "{}a", "a{}", "a{}b.md", "a/{}/b", ".{}./x"))
    ]


def encoded() -> list[str]:
    """Separators, dots and ends of strings that some layer may decode."""
    return [
        *(
            "%2e%2e/x",
            "%2E%2E%2Fx",
            "..%2fx",
            "%252e%252e%252fx",
            "a%2fb",
            "a%5Cb",
            "a%00.md",
            "%25252e%25252e/x",
        ),
        *("..%c0%af../x", "a\u0701\u0701b", "a\u2236b", "a\ua789b"),
    ]


PATHS = sorted({*climbing(), *elsewhere(), *malformed(), *reserved(), *unseen(), *encoded()})
IDS = sorted(
    {path for path in PATHS if "/" in path or len(path) < 40}
    | {".locks", ".hidden", "a/b", "agents/1"}
)
NO_TEXTS = (None, 7, b"notes.md", ["notes.md"], 0.5, True)
FINE = (
    *(
        "a",
        "notes.md",
        "notes/today.md",
        "a/b/c/d.txt",
        ".hidden",
        ".config/x",
        "a b.txt",
        " a",
        "x.tar.gz",
        "a..b",
        "a-._~b",
    ),
    *(
        "Caf\u00e9.md",
        "Cafe\u0301.md",
        "\u7cfb\u7edf/\u7b14\u8bb0.md",
        "\u30ce\u30fc\u30c8.md",
        "\u0437\u0430\u043c\u0435\u0442\u043a\u0438",
        "\U0001f600.md",
        "\u00bd cup.md",
    ),
    *(
        "console.txt",
        "com10",
        "auxiliary/nullable.md",
        "lpt",
        "com",
        "con-1",
        "a.con",
        "100%.md",
        "50%2b.md",
        "$HOME",
        "x" * 255,
    ),
    *("/".join(["a"] * 32), "a;b&c|d".replace("|", ""), "#1", "it's", "(1) [2] {3}", "a=b,c+d@e!"),
)
FINE_IDS = (
    "a",
    "planner-1",
    "3f9a2c1b-0000-4000-8000-000000000000",
    "user@example.com",
    "Planner 1",
    "\u00c9mile",
    "a.b",
    "x" * 255,
)
