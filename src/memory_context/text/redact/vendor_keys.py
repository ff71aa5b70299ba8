"""Keys that their makers gave a form of their own, by which they can be told from any other text.

The forms are those that the vendors document, or that GitHub's list of secret scanning patterns names; each stands
beside its vendor. Identifiers that are no secrets (Stripe's ``pk_``, Twilio's ``AC``) are not in here.
"""

from __future__ import annotations

from memory_context.text.redact.rules import END, START, Rule, rule

_WORD = "[A-Za-z0-9_-]"


def _key(kind: str, first: str, rest: str) -> Rule:
    """A rule for a key that begins with `first`, `rest` after it, and is a word of its own."""
    return rule(kind, first.lower(), f"{START}{first}{rest}")


# Their hints are looked for only where a text has a run of 16 or more of A-Z a-z 0-9 _ -, which each of them is.
IN_RUNS = (
    _key("aws_key", "A[KS]IA", rf"(?![A-Z0-9]{{9}}EXAMPLE)[A-Z2-7]{{16}}{END}"),
    _key("github_token", "gh[pousr]_", r"[A-Za-z0-9]{36,255}"),
    _key("github_token", "github_pat_", r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59,200}"),
    _key(
        "gitlab_token",
        "gl(?:pat|dt|rtr|rt|ft|soat|cbt|ptt|agent|oas|imt|ffct|wt)-",
        rf"{_WORD}{{20,300}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?",
    ),
    _key("anthropic_key", "sk-ant-", rf"[a-z]{{3,6}}[0-9]{{2}}-{_WORD}{{40,200}}"),
    _key(
        "openai_key",
        "sk-",
        rf"(?:(?:proj|svcacct|admin|None)-{_WORD}{{20,250}}|[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}}"
        r"|or-v1-[0-9a-f]{64}|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{32,64}" + END + ")",
    ),
    _key("google_key", "AIza", rf"{_WORD}{{35}}{END}"),
    _key("google_key", "GOCSPX-", rf"{_WORD}{{28}}{END}"),
    _key("slack_token", "xox[abceoprs]-", r"[A-Za-z0-9-]{10,250}"),
    _key("slack_token", "xapp-", r"[0-9]-[A-Z0-9]{5,20}-[0-9]{5,20}-[a-z0-9]{20,100}"),
    rule(
        "stripe_key",
        "k_(?:live|test)_",
        rf"(?<=(?P<head>{START}[rs]))k_(?:live|test)_[A-Za-z0-9]{{10,247}}",
    ),
    _key("stripe_key", "whsec_", r"[A-Za-z0-9+/]{24,100}={0,2}"),
    _key("npm_token", "npm_", rf"[A-Za-z0-9]{{36}}{END}"),
    _key("pypi_token", "pypi-", rf"AgE{_WORD}{{50,1000}}"),
    _key("huggingface_token", "hf_", rf"(?=[A-Za-z0-9]*[A-Z])[A-Za-z0-9]{{30,40}}{END}"),
    _key("huggingface_token", "api_org_", rf"(?=[A-Za-z0-9]*[A-Z])[A-Za-z0-9]{{30,40}}{END}"),
    rule("azure_key", "azdo", rf"(?<=(?P<head>{START}[A-Za-z0-9]{{76}}))AZDO[A-Za-z0-9]{{4}}{END}"),
    rule(
        "azure_key",
        "jqqj99",
        rf"(?<=(?P<head>{START}[A-Za-z0-9]{{52}}))JQQJ99[A-Za-z0-9]{{26}}{END}",
    ),
    _key("digitalocean_token", "do[opr]_v1_", rf"[a-f0-9]{{64}}{END}"),
    _key("databricks_token", "dapi", rf"[a-f0-9]{{32}}(?:-[0-9])?{END}"),
    _key("docker_token", "dckr_[op]at_", rf"{_WORD}{{27,40}}"),
    _key("shopify_token", "shp(?:at|ca|pa|ss)_", rf"[a-fA-F0-9]{{32}}{END}"),
    _key("grafana_token", "glsa_", rf"[A-Za-z0-9]{{32}}_[A-Fa-f0-9]{{8}}{END}"),
    _key("grafana_token", "glc_", r"[A-Za-z0-9+/]{32,400}={0,2}"),
    _key("groq_key", "gsk_", rf"[A-Za-z0-9]{{52}}{END}"),
    _key("xai_key", "xai-", rf"[A-Za-z0-9]{{80}}{END}"),
    _key("perplexity_key", "pplx-", r"[A-Za-z0-9]{40,64}" + END),
    _key("replicate_token", "r8_", rf"[A-Za-z0-9]{{37}}{END}"),
    _key("langsmith_key", "lsv2_", r"(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}" + END),
    _key("linear_key", "lin_api_", rf"[A-Za-z0-9]{{40}}{END}"),
    _key("notion_token", "ntn_", r"[A-Za-z0-9]{40,60}" + END),
    _key("figma_token", "figd_", rf"{_WORD}{{40,60}}"),
    _key("postman_key", "PMAK-", rf"[a-f0-9]{{24}}-[a-f0-9]{{34}}{END}"),
    _key("newrelic_key", "NRAK-", rf"[A-Z0-9]{{27}}{END}"),
    _key("atlassian_token", "ATATT3", r"[A-Za-z0-9_=-]{60,400}"),
    _key("sentry_token", "sntryu_", rf"[a-f0-9]{{64}}{END}"),
    _key("sentry_token", "sntrys_", r"eyJ[A-Za-z0-9+/=_]{60,400}"),
    _key("supabase_key", "sb(?:p|_secret)_", r"[A-Za-z0-9_-]{30,60}"),
    _key("rubygems_key", "rubygems_", rf"[a-f0-9]{{48}}{END}"),
    _key("tailscale_key", "tskey-", rf"[a-z]{{3,10}}-{_WORD}{{20,80}}"),
    _key("heroku_key", "HRKU-", rf"AA{_WORD}{{50,70}}"),
    _key("planetscale_token", "pscale_", r"(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _key("private_key", "AGE-SECRET-KEY-", rf"1[A-Z0-9]{{58}}{END}"),
    _key(
        "jwt",
        "eyJ",
        rf"(?<![_-]eyJ){_WORD}{{8,}}+(?:\.(?:eyJ|e30){_WORD}*+\.{_WORD}*+|(?:\.{_WORD}*+){{4}})",
    ),
)

# A dot or a colon cuts these into runs that are too short, or their hints stand outside.
ANYWHERE = (
    rule(
        "telegram_token",
        ":aa",
        rf"(?<=(?P<head>{START}(?:bot)?[0-9]{{8,10}})):AA{_WORD}{{33}}(?!{_WORD})",
    ),
    _key("sendgrid_key", r"SG\.", rf"{_WORD}{{22}}\.{_WORD}{{43}}(?!{_WORD})"),
    _key("vault_token", r"hv[bsr]\.", rf"{_WORD}{{24,400}}"),
    _key("google_token", r"ya29\.", rf"{_WORD}{{20,2000}}"),
    rule(
        "azure_key",
        "q~",
        rf"(?<=(?P<head>{START}[A-Za-z0-9_~.-]{{3}}[0-9]))Q~[A-Za-z0-9_~.-]{{31,34}}",
    ),
    rule("azure_key", "sig=", r"(?<=[?&;])sig=(?P<value>[A-Za-z0-9%+/_-]{40,100}={0,2})"),
    rule(
        "slack_webhook",
        r"hooks\.slack\.com/",
        r"hooks\.slack\.com/[a-z]+/(?P<value>[A-Za-z0-9/]{30,100})",
    ),
    rule(
        "discord_webhook",
        "/api/webhooks/",
        rf"/api/webhooks/[0-9]{{15,22}}/(?P<value>{_WORD}{{60,80}})",
    ),
)
