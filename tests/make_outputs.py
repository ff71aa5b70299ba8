"""Makes `tests/data/outputs/`: what real tools print about a small project. Run by hand; the files are kept.

    python tests/make_outputs.py

Tools that the machine has not are left out; the files that are there stay.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).parent / "data" / "outputs"
LONGEST = 6_000
SHELL = "/bin/sh"

PROJECT = {
    "shop/__init__.py": '"""A shop."""\n',
    "shop/models.py": '"""Models."""\n\nfrom dataclasses import dataclass\nimport os\n\n\n@dataclass\nclass Item:\n    """A thing."""\n\n    name: str\n    price: float\n\n    def total(self, count: int) -> float:\n        return self.price * count\n\n\nclass Cart:\n    def __init__(self) -> None:\n        self.items = []\n\n    def add(self, item: Item) -> None:\n        self.items.append(item)\n\n    def total(self) -> float:\n        return sum(item.price for item in self.items)\n',
    "shop/broken.py": "def broken(:\n    pass\n",
    "shop/boom.py": "import json\n\n\ndef user(session):\n    return session['user_id']\n\n\ndef main():\n    print('starting')\n    user(json.loads('{}'))\n\n\nmain()\n",
    "shop/nested.py": "try:\n    open('missing.txt')\nexcept OSError as error:\n    raise RuntimeError('cannot start') from error\n",
    "shop/typed.py": "def f(x: int) -> str:\n    return x\n\n\nf('a')\n",
    "tests/test_models.py": "import pytest\nfrom shop.models import Cart, Item\n\n\ndef test_total():\n    assert Item('a', 2).total(3) == 6\n\n\n@pytest.mark.parametrize('n', range(5))\ndef test_many(n):\n    assert n < 4\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n\n\ndef test_add():\n    cart = Cart()\n    cart.add(Item('a', 2))\n    assert cart.total() == 3\n",
    "tests/test_unit.py": "import unittest\n\n\nclass TestUnit(unittest.TestCase):\n    def test_good(self):\n        self.assertEqual(1, 1)\n\n    def test_bad(self):\n        self.assertEqual(1, 2)\n\n    def test_error(self):\n        raise ValueError('x')\n",
    "main.c": '#include <stdio.h>\n\nint main(void) {\n    int unused = 3;\n    y = 4;\n    printf("%d\\n", z);\n    return 0;\n}\n',
    "Main.java": 'public class Main {\n    static void deep(int n) {\n        if (n == 0) throw new IllegalStateException("too deep");\n        deep(n - 1);\n    }\n    public static void main(String[] args) { deep(2); }\n}\n',
    "Bad.java": "public class Bad {\n    int f() { return missing; }\n    void g() { int x = 3 }\n}\n",
    "main.rs": 'fn main() {\n    let items = vec![1];\n    let other = items;\n    println!("{:?}", items);\n}\n',
    "panic.rs": 'fn main() {\n    let items: Vec<i32> = Vec::new();\n    println!("{}", items[3]);\n}\n',
    "lib_test.rs": "#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n#[test]\nfn fails() { assert_eq!(1, 2); }\n",
    "boom.js": "function user(session) {\n  return session.user.name;\n}\nuser({});\n",
    "cart.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => assert.equal(1, 1));\ntest('totals', () => assert.equal(1, 2));\n",
    "README.md": "# Shop\n\nSells [things](https://example.org).\n\n## Install\n\n    pip install shop\n\n## Usage\n\n- start\n- stop\n",
    "data.csv": "id,name,price\n" + "".join(f"{n},item {n},{n}.50\n" for n in range(120)),
    "orders.json": "[\n" + ",\n".join(f'  {{"id": {n}, "customer": "c{n}", "total": {n}.5}}' for n in range(40)) + "\n]\n",
    "setup.cfg": "[metadata]\nname = shop\nversion = 1.0\n\n[options]\npackages = shop\n",
    "compose.yaml": "services:\n  web:\n    image: shop:1\n    ports:\n      - 8000:8000\n  db:\n    image: postgres:16\n",
    "Makefile": "all: build\n\nbuild:\n\t@echo building\n\tfalse\n",
    "run.sh": '#!/bin/sh\nset -eu\nNAME=shop\nif [ -d dist ]; then\n  rm -rf dist\nfi\necho "$NAME"\n',
    "schema.sql": "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, total REAL);\nCREATE TABLE items (id INTEGER PRIMARY KEY, order_id INTEGER);\n",
}  # fmt: skip

_FILL = "sqlite3 shop.db < schema.sql; sqlite3 shop.db \"INSERT INTO orders SELECT value, 'c' || value, value * 1.5 FROM generate_series(1, 30)\""
_LOGS = (
    "import logging; logging.basicConfig(level=10, format='%(asctime)s %(levelname)s %(name)s %(message)s')\n"
    "log = logging.getLogger('shop')\n"
    "for n in range(30): log.info('order %d paid', n)\n"
    "log.error('card declined')"
)

COMMANDS: dict[str, str] = {
    "git_log": "git log", "git_log_oneline": "git log --oneline", "git_log_stat": "git log --stat", "git_show": "git show HEAD",
    "git_diff": "git diff HEAD~1", "git_diff_stat": "git diff --stat HEAD~2", "git_status": "git status", "git_status_short": "git status --short",
    "git_blame": "git blame shop/models.py", "git_branch": "git branch -a", "diff_u": "diff -u shop/models.py shop/typed.py", "diff_plain": "diff shop/models.py shop/typed.py",
    "ls": "ls", "ls_l": "ls -l", "ls_la": "ls -la", "ls_R": "ls -R", "ls_lR": "ls -lR shop tests", "ls_full": "ls -l --full-time", "find": "find . -name '*.py'", "find_all": "find . -not -path './.git/*' -type f",
    "find_ls": "find shop -ls", "du": "du -a shop tests", "df": "df -h /", "wc": "wc -l shop/*.py", "stat": "stat README.md", "file": "file README.md main.c",
    "grep_n": "grep -rn 'def ' shop tests", "grep_r": "grep -r 'import' shop tests", "grep_c": "grep -rc 'def ' shop", "grep_l": "grep -rl 'def ' shop tests", "grep_context": "grep -n -C2 'return' shop/models.py",
    "cat_python": "cat shop/models.py", "cat_n": "cat -n shop/models.py", "cat_markdown": "cat README.md", "cat_yaml": "cat compose.yaml", "cat_ini": "cat setup.cfg", "cat_shell": "cat run.sh",
    "cat_sql": "cat schema.sql", "cat_csv": "cat data.csv", "cat_json": "cat orders.json", "cat_c": "cat main.c", "cat_java": "cat Main.java", "cat_js": "cat boom.js cart.test.js", "cat_rust": "cat main.rs",
    "cat_make": "cat Makefile", "head_two": "head -n 5 README.md setup.cfg", "sed_lines": "sed -n 10,20p shop/models.py", "nl": "nl -ba shop/typed.py", "base64": "base64 data.csv", "base64_one": "base64 -w0 data.csv", "xxd": "xxd README.md", "od": "od -A x -t x1z README.md",
    "pytest": "{python} -m pytest -p no:cacheprovider tests", "pytest_q": "{python} -m pytest -q -p no:cacheprovider tests", "pytest_v": "{python} -m pytest -v -p no:cacheprovider tests/test_models.py", "pytest_collect": "{python} -m pytest --collect-only -q -p no:cacheprovider tests",
    "pytest_one": "{python} -m pytest -q -p no:cacheprovider tests/test_models.py::test_total", "pytest_none": "{python} -m pytest -p no:cacheprovider tests -k nothing", "unittest": "{python} -m unittest tests.test_unit", "unittest_v": "{python} -m unittest -v tests.test_unit",
    "traceback": "{python} -m shop.boom", "traceback_chained": "{python} -m shop.nested", "syntax_error": "{python} shop/broken.py", "python_missing": "{python} nothing.py", "import_error": "{python} -c 'import nothing_such'",
    "importtime": "{python} -X importtime -c 'import json' 2>&1", "python_help": "{python} --help", "pydoc": "{python} -m pydoc textwrap.dedent", "dis": "{python} -m dis shop/typed.py", "ast": "{python} -m ast shop/typed.py", "compileall": "{python} -m compileall shop", "json_tool": "{python} -m json.tool orders.json",
    "tokenize": "{python} -m tokenize shop/typed.py", "timeit": "{python} -m timeit 1+1", "logging": '{python} -c "{logs}"', "repr": "{python} -c \"print([dict(id=n, name='x%d' % n) for n in range(50)])\"", "repr_rows": "{python} -c \"print([(n, 'x', None) for n in range(50)])\"",
    "jsonl": "{python} -c \"import json; [print(json.dumps(dict(id=n, event='click'))) for n in range(60)]\"", "pprint": "{python} -c \"import pprint; pprint.pprint([dict(id=n, name='x' * 40, other='y' * 30) for n in range(20)])\"", "tree_py": '{python} -c "import sys; print(sys.version_info)"',
    "pip_list": "{python} -m pip list --exclude-editable --disable-pip-version-check 2>/dev/null | head -60", "pip_list_json": "{python} -m pip list --exclude-editable --format json --disable-pip-version-check 2>/dev/null", "pip_freeze": "{python} -m pip freeze --disable-pip-version-check 2>/dev/null | grep == | head -40", "pip_show": "{python} -m pip show pytest --disable-pip-version-check", "pip_satisfied": "{python} -m pip install pytest --no-index --disable-pip-version-check 2>&1",
    "pip_missing": "{python} -m pip install no-such-distribution-anywhere --no-index --disable-pip-version-check 2>&1", "pip_help": "{python} -m pip install --help",
    "gcc": "gcc -Wall main.c -o main 2>&1", "javac": "javac Bad.java 2>&1", "java": "javac Main.java && java Main 2>&1",
    "node": "node boom.js 2>&1", "node_test": "node --test cart.test.js", "node_tap": "node --test --test-reporter tap cart.test.js", "node_spec": "node --test --test-reporter spec cart.test.js",
    "mypy": "{python} -m mypy --cache-dir /dev/null shop/typed.py shop/models.py", "ruff": "{python} -m ruff check --isolated --no-cache shop tests", "ruff_concise": "{python} -m ruff check --isolated --no-cache --output-format concise shop tests", "ruff_diff": "{python} -m ruff format --isolated --no-cache --diff shop/boom.py tests",
    "make": "make 2>&1", "make_n": "make -n", "shell_missing": "nothing_such --version 2>&1", "shell_trace": "sh -x run.sh 2>&1", "env": "env -i HOME=/srv/ann LANG=C PATH=/usr/bin sh -c env", "ps": "ps -o pid,stat,time,comm -p 1", "uname": "uname -s", "date": "date -u -d @0",
    "sqlite_json": f"{_FILL}; sqlite3 -json shop.db 'SELECT * FROM orders'", "sqlite_csv": "sqlite3 -csv -header shop.db 'SELECT * FROM orders'", "sqlite_column": "sqlite3 -column -header shop.db 'SELECT * FROM orders'", "sqlite_box": "sqlite3 -box shop.db 'SELECT * FROM orders'",
    "sqlite_list": "sqlite3 -header shop.db 'SELECT * FROM orders'", "sqlite_markdown": "sqlite3 -markdown shop.db 'SELECT * FROM orders'", "sqlite_table": "sqlite3 -table shop.db 'SELECT * FROM orders'", "sqlite_line": "sqlite3 -line shop.db 'SELECT * FROM orders LIMIT 5'", "sqlite_html": "sqlite3 -html shop.db 'SELECT * FROM orders LIMIT 5'",
    "sqlite_schema": "sqlite3 shop.db .schema", "sqlite_dump": "sqlite3 shop.db .dump", "sqlite_tables": "sqlite3 shop.db .tables", "sqlite_error": "sqlite3 shop.db 'SELECT * FROM nothing' 2>&1",
}  # fmt: skip


def main() -> None:
    """Write one file for each tool that is there."""
    DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "shop"
        _make(project)
        for name, command in COMMANDS.items():
            line = command.replace("{python}", sys.executable).replace("{logs}", _LOGS)
            text = _run(line, project)
            if (
                text.strip()
                and "not found" not in text[:200]
                and "No module named" not in text[:200]
            ) or name in (
                "shell_missing",
                "import_error",
            ):
                (DATA / f"{name}.txt").write_text(_plain(text, project)[:LONGEST], encoding="utf-8")


def _make(project: Path) -> None:
    for name, text in PROJECT.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git = "git -c user.name=Ann -c user.email=ann@example.org"
    dated = "GIT_AUTHOR_DATE=2024-03-04T10:00:00Z GIT_COMMITTER_DATE=2024-03-04T10:00:00Z"
    for line in ("git init -q -b main .", f"git add README.md data.csv && {dated} {git} commit -qm 'First commit'",
                 f"git add shop && {dated} {git} commit -qm 'Add the shop'", f"git add tests main.c && {dated} {git} commit -qm 'Add tests: they fail'"):  # fmt: skip
        _run(line, project)
    (project / "shop" / "models.py").write_text(
        PROJECT["shop/models.py"].replace("count", "number"), encoding="utf-8"
    )


def _run(line: str, project: Path) -> str:
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(project.parent),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [SHELL, "-c", line],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        errors="replace",
    )
    return done.stdout + done.stderr


def _plain(text: str, project: Path) -> str:
    """The text without the folders and names of the machine that made it."""
    for folder, name in (
        (str(project), "/srv/shop"),
        (str(project.parent), "/srv"),
        (str(Path(sys.executable).parent.parent), "/usr"),
        (str(Path.home()), "/srv/ann"),
    ):
        text = text.replace(folder, name)
    return re.sub(r"\broot\b", "ann", text)


if __name__ == "__main__":
    main()
