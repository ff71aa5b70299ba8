"""Redaction: the share of keys that is taken out, of forms that a scanner publishes and nobody here has looked up.

    pip install kingfisher-secret-scanner
    python benchmarks/redaction_recall.py [--each 20] [--missed]

The package's rules are regular expressions; keys are made of them by chance, and put into the surroundings below. A rule
is of the first sort if the key has a form of its own, of the second if only a name beside it tells that it is one.
"""

from __future__ import annotations

import argparse
import importlib
import random
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from memory_context import Redactor
from sampled import sampled

NAMED = {
    "settings": "{name}_TOKEN={key}\n",
    "JSON": '{{\n  "{name}_token": "{key}",\n  "user": "ann"\n}}',
    "JSON in JSON": '{{"body": "{{\\"{name}_token\\": \\"{key}\\"}}"}}',
    "XML": "<{name}Token>\n  {key}\n</{name}Token>",
    "YAML": "{name}_token: {key}\n",
    "YAML, folded": "{name}_token: >\n  {key}\nnext: 1\n",
    "Go": 'var {name}Token string = "{key}"',
    "make": '{name}_TOKEN ?= "{key}"\n',
    "make, at once": '{name}_TOKEN :::= "{key}"\n',
    "PHP": '${name}Token .= "{key}";',
    "Java": 'System.setProperty("{name}_TOKEN", "{key}");',
    "CSV": "{name}Token,{key},",
    "log": "Using Key={key}",
}
ALONE = {
    "prose": "The deployment of {name} printed {key} and went on.",
    "argument": 'client = Client("{key}", timeout=3)',
    "table": "| {name} | {key} | 12 |",
    "list": '["{name}", "{key}"]',
}
# Behind such a name stands a key without a form; or the rule is of something else than a secret.
_BY_NAME = re.compile(
    r"\[\\s\\S\]\{0|\(\?i:AWS|=\|>\|:\{1,3\}=|\(\?:\.\|\[|\.\{0,\d+\}?\??|\\s\*\[?[=:]|\[=:"
)
_NO_SECRETS = re.compile(
    "(?i)-(?:id|url|host|username|domain|name|identifier|address)\\b|pub(?:lic)?-|project-api-key|client-sdk|mobile-sdk|application-key|-repository|client-?id"
)
# A file, or a text with several parts, of which the rule's expression is not the key.
_NOT_ONE_KEY = re.compile(
    "[.]jwt$|temporal|private-key|kubernetes|curl-|gcp-(?:app|serv)|connection|credential|uri|url$|webhook|password|freemius"
)


def rules() -> tuple[dict[str, str], dict[str, str]]:
    """The expressions by the rule's name: of keys with a form, and of those with a name beside them."""
    # No dependency of the library.
    catalog = importlib.import_module("kingfisher_sdk").Rules(confidence="low")
    forms, names = dict[str, str](), dict[str, str]()
    for about in catalog.metadata():
        name = about["id"]
        if _NO_SECRETS.search(name) or _NOT_ONE_KEY.search(name):
            continue
        pattern = catalog.detail(name)["pattern"]
        (names if _BY_NAME.search(pattern) else forms)[name] = pattern
    return forms, names


def measure(
    title: str, patterns: dict[str, str], places: dict[str, str], each: int
) -> Counter[str]:
    """Print the share of keys of these forms that is gone, by place; return what was missed, by rule."""
    chosen, redactor = random.Random(19), Redactor()
    gone, missed, made = Counter[str](), Counter[str](), 0
    for name, pattern in patterns.items():
        vendor = name.partition(".")[2].partition("-")[0]
        try:
            group = 0 if "(?P<" in pattern else 1
            keys = [sampled(pattern, chosen, group) for _ in range(each)]
        except (re.error, ValueError) as error:
            print(f"  left out: {name}: {error!s:.80}")
            continue
        made += each
        for key in keys:
            for place, text in places.items():
                if key in redactor.redact(text.format(name=vendor, key=key)).text:
                    missed[f"{name} in {place}"] += 1
                else:
                    gone[place] += 1
    total = sum(gone.values()) / (made * len(places))
    print(f"{title}: {made} keys of {made // each} rules in {len(places)} places: {total:.1%} gone")
    for place in places:
        print(f"  {place:15} {gone[place] / made:.1%}")
    return missed


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=20, help="keys of each rule")
    parser.add_argument("--missed", action="store_true", help="show what was missed")
    arguments = parser.parse_args()
    forms, names = rules()
    missed = measure("a form of its own", forms, NAMED | ALONE, arguments.each)
    missed += measure("a name beside it", names, NAMED, arguments.each)
    if arguments.missed:
        for rule, count in missed.most_common():
            print(f"  {count:4} {rule}")


if __name__ == "__main__":
    main()
