"""Outputs of each kind, in the forms that the tools print, and the line that each is described by.

    python tests/described.py

writes `data/descriptions.txt` again, for a person to read.
"""

from __future__ import annotations

import json
from pathlib import Path

from memory_context.text.describe import describe

DATA = Path(__file__).parent / "data"
ORDERS = [{"id": 7, "customer": "ann", "total": 12.5}, {"id": 8, "customer": "bob", "total": 3.0}]
ROWS = [{"track_id": n, "name": f"Song {n}", "unit_price": 0.99} for n in range(40)]


def mcp(text: str) -> str:
    """A result of a tool of the Model Context Protocol, as JSON."""
    content = [{"type": "text", "text": text, "annotations": None}]
    return json.dumps({"_meta": None, "content": content, "isError": False}, indent=2)


def mcp_repr(text: str) -> str:
    """The same as Python writes it."""
    return f"meta=None content=[TextContent(type='text', text={text!r}, annotations=None)] isError=False"


PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.12.1, pytest-8.3.2, pluggy-1.5.0
rootdir: /srv/shop
collected 415 items

tests/test_auth.py F..F                                                  [  0%]
tests/test_cart.py .......................................F              [100%]

=================================== FAILURES ===================================
__________________________________ test_login __________________________________
    def test_login():
>       assert login("ann") == 200
E       assert 401 == 200
tests/test_auth.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_auth.py::test_login - assert 401 == 200
FAILED tests/test_auth.py::test_logout[admin] - KeyError: 'session'
FAILED tests/test_cart.py::TestTotal::test_vat - AssertionError
================== 3 failed, 412 passed, 2 warnings in 12.31s ==================
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/shop/app/main.py", line 12, in <module>
    run()
  File "app/auth.py", line 88, in user
    return session['user_id']
           ~~~~~~~^^^^^^^^^^^
KeyError: 'user_id'
"""
JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: cannot start
\tat com.shop.App.start(App.java:31)
\tat com.shop.App.main(App.java:12)
Caused by: java.net.ConnectException: Connection refused
\tat java.base/sun.nio.ch.Net.connect0(Native Method)
\tat com.shop.Db.open(Db.java:77)
\t... 2 more
"""
NODE = """\
/srv/shop/server.js:14
    const name = user.name;
                      ^

TypeError: Cannot read properties of undefined (reading 'name')
    at handler (/srv/shop/server.js:14:23)
    at Layer.handle (/srv/shop/node_modules/express/lib/router/layer.js:95:5)
    at node:internal/process/task_queues:140:7

Node.js v20.11.0
"""
UNITTEST = """\
.F.E
======================================================================
ERROR: test_open (test_db.TestDb.test_open)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/srv/test_db.py", line 4, in test_open
OSError: no file
======================================================================
FAIL: test_close (test_db.TestDb.test_close)
----------------------------------------------------------------------
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 4 tests in 0.003s

FAILED (failures=1, errors=1)
"""
JEST = """\
PASS src/sum.test.js
FAIL src/cart.test.js
  ● cart › adds an item

    expect(received).toBe(expected)

      at Object.<anonymous> (src/cart.test.js:5:17)

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 6 passed, 7 total
Snapshots:   0 total
Time:        1.02 s
"""
VITEST = """\
 FAIL  src/cart.test.ts > cart > adds an item
AssertionError: expected 3 to be 4

 Test Files  1 failed | 2 passed (3)
      Tests  1 failed | 119 passed (120)
   Duration  512ms
"""
MOCHA = """\
  cart
    ✔ is empty at first
    1) adds an item

  40 passing (1s)
  2 pending
  1 failing

  1) cart
       adds an item:
     AssertionError: 3 == 4
"""
DOTNET = """\
  Failed Shop.CartTests.AddsAnItem [12 ms]
  Error Message:
   Assert.Equal() Failure

Failed!  - Failed:     1, Passed:    11, Skipped:     0, Total:    12, Duration: 51 ms - Shop.Tests.dll (net8.0)
"""
CARGO_TEST = """\
running 3 tests
test tests::adds ... ok
test tests::subtracts ... FAILED
test tests::divides ... ignored

failures:
    tests::subtracts

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
GIT_DIFF = """\
diff --git a/app/auth.py b/app/auth.py
index 1a2b3c4..5d6e7f8 100644
--- a/app/auth.py
+++ b/app/auth.py
@@ -86,3 +86,4 @@ def user(session):
-    return session['user_id']
+    if 'user_id' not in session:
+        raise LoginRequired
+    return session['user_id']
diff --git a/app/cart.py b/app/cart.py
--- a/app/cart.py
+++ b/app/cart.py
@@ -1 +1 @@
-x = 1
+x = 2
"""
UNIFIED = "--- old.txt\t2024-01-01\n+++ new.txt\t2024-01-02\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n"
LS = """\
total 24
drwxr-xr-x 2 ann ann 4096 Mar  4 10:00 app
-rw-r--r-- 1 ann ann  120 Mar  4 10:00 setup.py
-rw-r--r-- 1 ann ann 8001 Mar  4 10:00 README.md
"""
FIND = "./app/auth.py\n./app/cart.py\n./app/templates/base.html\n./setup.py\n"
TREE = ".\n├── app\n│   ├── auth.py\n│   └── cart.py\n└── setup.py\n\n2 directories, 3 files\n"
GREP = "app/auth.py:88:    return session['user_id']\napp/auth.py:91:user_id = 3\napp/cart.py:7:def total(user_id):\n"
PYTHON = '''\
"""Models."""

from dataclasses import dataclass


@dataclass
class User:
    """A person."""

    name: str

    def greet(self) -> str:
        return f"hello {self.name}"


class Cart:
    def __init__(self):
        self.items = []

    def total(self):
        return sum(self.items)


def main():
    print(User("ann").greet())
'''
JAVASCRIPT = """\
const express = require('express');

export class Cart {
  constructor() { this.items = []; }
}

function total(cart) {
  return cart.items.reduce((a, b) => a + b, 0);
}

const add = (cart, item) => {
  cart.items.push(item);
};

module.exports = { Cart, total, add };
"""
TYPESCRIPT = """\
import { Item } from './item';

export interface Cart {
  items: Item[];
  total: number;
}

export async function load(id: string): Promise<Cart> {
  const response = await fetch(`/carts/${id}`);
  return response.json();
}
"""
GO = """\
package main

import (
\t"fmt"
)

type Cart struct {
\tItems []int
}

func (c *Cart) Total() int {
\tsum := 0
\tfor _, x := range c.Items {
\t\tsum += x
\t}
\treturn sum
}

func main() {
\tfmt.Println((&Cart{}).Total())
}
"""
RUST = """\
use std::collections::HashMap;

pub struct Cart {
    items: HashMap<String, u32>,
}

impl Cart {
    pub fn total(&self) -> u32 {
        self.items.values().sum()
    }
}

fn main() {
    let cart = Cart { items: HashMap::new() };
    println!("{}", cart.total());
}
"""
JAVA_SOURCE = """\
package com.shop;

import java.util.List;

public class Cart {
    private final List<Integer> items;

    public int total() {
        return items.stream().mapToInt(i -> i).sum();
    }
}
"""
C_SOURCE = """\
#include <stdio.h>
#include <stdlib.h>

static int total(const int *items, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += items[i];
    return sum;
}

int main(void) {
    printf("%d\\n", total(NULL, 0));
    return 0;
}
"""
CAT_N = "".join(f"{number:6}\t{line}\n" for number, line in enumerate(PYTHON.splitlines(), 1))
CAT_RESULT = f"Here's the result of running `cat -n` on /srv/shop/app/models.py:\n{CAT_N}"
C_OF_TYPES = """\
/* Reads and closes. */
ssize_t shop_read(shop *s, char *buf, size_t size) {
    struct iovec iov = {.iov_base = buf};
    return readv(s->fd, &iov, 1);
}

shop *shop_open(void) {
    return calloc(1, sizeof(shop));
}
"""
PSQL = """\
 id | name | total
----+------+-------
  1 | ann  |  12.5
  2 | bob  |   3.0
(2 rows)
"""
MYSQL = """\
+----+------+-------+
| id | name | total |
+----+------+-------+
|  1 | ann  |  12.5 |
|  2 | bob  |   3.0 |
+----+------+-------+
2 rows in set (0.00 sec)
"""
SQLITE_COLUMNS = "id  name  total\n--  ----  -----\n1   ann   12.5\n2   bob   3.0\n"
MARKDOWN_TABLE = "| id | name |\n|----|------|\n| 1 | ann |\n| 2 | bob |\n| 3 | cat |\n"
NPM = """\
npm WARN deprecated inflight@1.0.6: This module is not supported
npm ERR! code ERESOLVE
npm ERR! ERESOLVE unable to resolve dependency tree
npm ERR! Could not resolve dependency
"""
PIP = """\
Collecting requests
  Downloading requests-2.31.0-py3-none-any.whl (62 kB)
Collecting idna<4,>=2.5
  Using cached idna-3.6-py3-none-any.whl (61 kB)
Installing collected packages: idna, requests
Successfully installed idna-3.6 requests-2.31.0
"""
APP_LOG = """\
2024-03-04 10:00:01,123 INFO shop.web started on port 8000
2024-03-04 10:00:02,001 WARNING shop.db slow query: 512 ms
2024-03-04 10:00:03,456 ERROR shop.pay card declined for order 17
2024-03-04 10:00:04,000 INFO shop.web stopped
"""
SYSLOG = "Mar  4 10:00:01 web1 sshd[211]: Accepted publickey for ann\nMar  4 10:00:07 web1 kernel: eth0 up\n"
HTML = (
    "<!DOCTYPE html>\n<html><head><title>Orders &amp; carts</title></head><body>"
    + '<a href="/x">x</a>' * 14
    + "</body></html>"
)
XML = (
    "<?xml version='1.0'?>\n<catalog>"
    + "<book><title>a</title><price>1</price></book>" * 12
    + "</catalog>"
)
MARKDOWN = (
    "# Install\n\nRun `pip install shop`.\n\n## Usage\n\n- start\n- stop\n\n## Licence\n\nMIT\n"
)
PROSE = (
    "The cart holds what a person wants to buy, and nothing else. It is emptied when the order is placed. "
    "A cart that nobody has touched for a month is thrown away, because the prices in it are no longer right. "
    "Nobody has complained about that so far, though one person asked why it was empty."
)
YAML = """\
version: "3"
services:
  web:
    image: shop:1
    ports:
      - "8000:8000"
  db:
    image: postgres:16
"""
YAML_LIST = "users:\n- name: ann\n  age: 3\n- name: bob\n  age: 4\n- name: cat\n  age: 5\n"
WEB = """\
Title: How to total a cart
URL: https://shop.org/total
Description: Sums the items.

Title: Carts in Python
URL: https://shop.org/python
Description: A class.
"""
ENV = "HOME=/srv/ann\nPATH=/usr/bin:/bin\nLANG=C.UTF-8\n"

KUBERNETES = "apiVersion: v1\nitems:\n" + "".join(
    f"- kind: Deployment\n  metadata:\n    name: web-{n}\n  spec:\n    replicas: {n}\n"
    for n in range(20)
)
PIPELINE = "on: [push]\njobs:\n" + "".join(
    f"  job{n}:\n    steps:\n      - run: |\n          make test-{n}\n          make lint\n"
    for n in range(8)
)
KUBECTL = "NAME        READY   STATUS             AGE\n" + "".join(
    f"web-{n:<6}  1/1     {'CrashLoopBackOff' if n == 31 else 'Running         '}   {n}d\n"
    for n in range(10, 50)
)
DF = "Filesystem      Size  Used Avail Use% Mounted on\n" + "".join(
    f"/dev/nvme{n}n1p1  252G  {n}G   {252 - n}G  {n}% /mnt/disk{n}\n" for n in range(9)
)
LINTER = "".join(
    f"src/part{n}.ts({n},7): error TS2322: A string is not assignable to a number.\n"
    for n in range(30)
)
LINTER += "\nFound 30 errors in 30 files.\n"
TERRAFORM = "".join(
    f'  # aws_instance.web[{n}] will be created\n  + resource "aws_instance" "web" {{\n'
    f'      + ami = "ami-{n}"\n    }}\n\n'
    for n in range(15)
)
TERRAFORM += "Plan: 15 to add, 0 to change, 0 to destroy.\n"
MYPY = "".join(
    f'src/part{n}.py:{n}: error: Incompatible return value type (got "str", expected "int")\n'
    for n in range(25)
)
MYPY += "Found 25 errors in 25 files (checked 120 source files)\n"
ANSIBLE = "TASK [Gathering facts] ***\n" + "".join(f"ok: [web-{n}]\n" for n in range(20))
SHELL = "#!/usr/bin/env bash\nset -e\n\n# Build it.\nbuild() {\n  make\n}\n\n# Ship it.\nbuild\n"
SETTINGS = "".join(f"# Whether {name} may log in.\n{name} yes\n\n" for name in "abcdef")


SAMPLES: list[tuple[str, str, dict[str, str]]] = [
    ("JSON list", json.dumps(ORDERS), {}),
    ("JSON under a key", json.dumps({"orders": ORDERS * 107, "next": None}), {}),
    (
        "JSON of a page",
        json.dumps({"status": "ok", "data": {"total": 1204, "customers": ORDERS * 10}}),
        {},
    ),
    (
        "SQL rows as JSON",
        json.dumps(ROWS),
        {"arguments": json.dumps({"query": "SELECT * FROM tracks WHERE unit_price < 1"})},
    ),
    ("SQL rows as repr", "[(1, 'ann', 12.5), (2, 'bob', None)]", {}),
    (
        "JSON object",
        json.dumps({"order_id": "A17", "customer": "ann", "items": [{"sku": "x"}, {"sku": "y"}]}),
        {},
    ),
    ("JSON error", json.dumps({"error": {"code": 404, "message": "no such order"}}), {}),
    ("JSON lines", "".join(json.dumps(order) + "\n" for order in ORDERS * 60), {}),
    (
        "JSON log",
        '{"level":"info","msg":"up"}\n{"level":"error","msg":"disk full"}\n',
        {},
    ),
    ("objects in a row", "\n".join(json.dumps(order, indent=1) for order in ORDERS), {}),
    ("JSON that is cut", json.dumps({"orders": ORDERS * 50}, indent=2)[:2000], {}),
    ("repr that is cut", str(ORDERS * 50)[:1990], {}),
    ("JSON cut in a text", '{"name": "ann", "note": "a long \\', {}),
    ("lists of records", json.dumps([ORDERS, ORDERS, ORDERS]), {}),
    ("numbers", "[3, 1, 4, 1, 5, 9]", {}),
    ("MCP around JSON", mcp(json.dumps({"orders": ORDERS})), {}),
    ("MCP as a repr around MCP", mcp_repr(mcp(PSQL)), {}),
    ("MCP as a repr, cut", mcp_repr(mcp(json.dumps({"orders": ORDERS * 60}, indent=1)))[:3000], {}),
    ("MCP that failed", mcp("no such table: carts").replace("false", "true"), {}),
    ("run as JSON", json.dumps({"stdout": PYTEST, "stderr": "", "exit_code": 1}), {}),
    ("pytest", PYTEST, {}),
    ("pytest, no failure", "....\n4 passed in 0.02s\n", {}),
    ("unittest", UNITTEST, {}),
    ("jest", JEST, {}),
    ("vitest", VITEST, {}),
    ("mocha", MOCHA, {}),
    ("dotnet test", DOTNET, {}),
    ("jest, one to do", "Tests:       1 failed, 2 todo, 3 total\n", {}),
    ("a sentence about tests", "Some text.\n\n8 examples in 2.5s\n", {}),
    (
        "a log with the sum of a test run",
        "[INFO] started\n" * 9 + "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n",
        {},
    ),
    (
        "addresses with ports",
        "".join(f"10.0.0.{n}:8080: connection refused\n" for n in range(9)),
        {},
    ),
    (
        "records below headings",
        "# Orders\n\n" + "\n".join(f"## Order {n}\n\nname: n{n}\nstate: open\n" for n in range(5)),
        {},
    ),
    ("code below comments like headings", f"# Shop\n\n## Models\n\nimport os\n\n{PYTHON}", {}),
    ("cargo test", CARGO_TEST, {}),
    ("traceback", TRACEBACK, {}),
    ("traceback behind output", f"loading\nready\n{TRACEBACK}", {}),
    ("Java", JAVA, {}),
    ("Node", NODE, {}),
    ("git diff", GIT_DIFF, {}),
    ("unified diff", UNIFIED, {}),
    ("ls -l", LS, {}),
    ("find", FIND, {}),
    ("tree", TREE, {}),
    ("folders of a tool", "[DIR] app\n[FILE] setup.py\n[FILE] README.md\n", {}),
    ("grep -n", GREP, {}),
    ("Python", PYTHON, {"arguments": '{"path": "app/models.py"}'}),
    ("JavaScript", JAVASCRIPT, {}),
    ("TypeScript", TYPESCRIPT, {}),
    ("Go", GO, {}),
    ("Rust", RUST, {}),
    ("Java source", JAVA_SOURCE, {}),
    ("C", C_SOURCE, {}),
    ("cat -n", CAT_RESULT, {}),
    ("C with types of its own", C_OF_TYPES, {}),
    ("fenced code", f"```python\n{PYTHON}```\n", {}),
    ("psql", PSQL, {}),
    ("mysql", MYSQL, {}),
    ("sqlite columns", SQLITE_COLUMNS, {}),
    (
        "Markdown with few headings",
        "# Shop\n\n" + "One sentence.\n" * 60 + "\n## Install\n\nrun `pip`\n",
        {},
    ),
    (
        "Markdown with a table and code",
        f"# Shop\n\n## Keys\n\n| key | type |\n|---|---|\n| id | int |\n\n## Use\n\n```python\n{PYTHON}```\n",
        {},
    ),
    ("Markdown with an error", f"# Shop\n\n## Known errors\n\n```\n{TRACEBACK}```\n", {}),
    (
        "table below headings",
        "# Shop\n\n## Keys\n\n| key | type |\n|---|---|\n" + "| id | int |\n" * 9,
        {},
    ),
    ("Markdown table", MARKDOWN_TABLE, {}),
    ("CSV", "id,name,total\n" + "".join(f"{n},ann,{n}.5\n" for n in range(1204)), {}),
    ("CSV with quotes", 'id,note\n1,"a, b\nc"\n2,"d"\n', {}),
    ("TSV", "id\tname\n1\tann\n", {}),
    ("npm", NPM, {"arguments": '{"command": "cd shop && npm install"}'}),
    ("pip", PIP, {}),
    ("application log", APP_LOG, {}),
    ("syslog", SYSLOG, {}),
    ("log with a traceback", APP_LOG + TRACEBACK, {}),
    ("HTML", HTML, {}),
    ("XML", XML, {}),
    ("Markdown", MARKDOWN, {}),
    ("prose", PROSE, {}),
    ("YAML", YAML, {}),
    ("YAML list", YAML_LIST, {}),
    ("YAML documents", f"---\n{YAML}---\n{YAML}", {}),
    ("Kubernetes", KUBERNETES, {}),
    ("pipeline", PIPELINE, {}),
    ("kubectl get", KUBECTL, {}),
    ("df", DF, {}),
    ("linter", LINTER, {}),
    ("terraform plan", TERRAFORM, {}),
    ("mypy", MYPY, {}),
    ("ansible", ANSIBLE, {}),
    ("shell script", SHELL, {}),
    ("commented settings", SETTINGS, {}),
    ("web search", WEB, {}),
    ("environment", ENV, {}),
    ("data URL", "data:image/gif;base64,R0lGODlhAQABAAAAACw=", {}),
    ("lead before JSON", "Found 2 orders:\n" + json.dumps(ORDERS), {}),
    ("error", "Error: no such table: carts\n", {}),
    ("words", "done", {}),
    ("two lines", "Dear Ann,\nall is well", {}),
]


def described() -> str:
    """Return a line for each sample."""
    return "".join(f"{name:26} {describe(text, **hint)}\n" for name, text, hint in SAMPLES)


if __name__ == "__main__":
    (DATA / "descriptions.txt").write_text(described(), encoding="utf-8")
