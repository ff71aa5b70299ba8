"""Keys that their makers gave a form of their own, by which they can be told from any other text.

The forms are those that the vendors document, or that GitHub's list of secret scanning patterns names; each stands
beside its vendor. Identifiers that are no secrets (Stripe's ``pk_``, Twilio's ``AC``) are not in here.
"""

from __future__ import annotations

from memory_context._redaction._rules import END, START, Rule, rule

_WORD = "[A-Za-z0-9_-]"


def _key(kind: str, literals: str, rest: str) -> Rule:
    """A rule for a key that begins with one of the literals, `rest` after it, and is a word of its own."""
    first = "|".join(literal.replace(".", r"\.") for literal in literals.split(" "))
    return rule(kind, literals, f"{START}(?:{first}){rest}")


# Their literals are looked for only where a text has a run of 16 or more of A-Z a-z 0-9 _ -, which each of them is.
IN_RUNS = (
    _key("aws_key", "AKIA ASIA", rf"(?![A-Z0-9]{{9}}EXAMPLE)[A-Z2-7]{{16}}{END}"),
    _key("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,255}"),
    _key("github_token", "github_pat_", r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59,200}"),
    rule(
        "gitlab_token",
        "glpat- gldt- glrt- glrtr- glft- glsoat- glcbt- glptt- glagent- gloas- glimt- glffct- glwt-",
        rf"{START}gl(?:pat|dt|rtr?|ft|soat|cbt|ptt|agent|oas|imt|ffct|wt)-{_WORD}{{20,300}}"
        r"(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?",
    ),
    _key("anthropic_key", "sk-ant-", rf"[a-z]{{3,6}}[0-9]{{2}}-{_WORD}{{40,200}}"),
    rule(
        "openai_key",
        "sk-",
        rf"{START}sk-(?:(?:proj|svcacct|admin|None)-{_WORD}{{20,250}}|[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}}"
        r"|or-v1-[0-9a-f]{64}|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{32,64}" + END + ")",
    ),
    _key("google_key", "AIza", rf"{_WORD}{{35}}{END}"),
    _key("google_key", "GOCSPX-", rf"{_WORD}{{28}}{END}"),
    rule("slack_token", "xox", rf"{START}xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{{10,250}}"),
    _key("slack_token", "xapp-", r"[0-9]-[A-Z0-9]{5,20}-[0-9]{5,20}-[a-z0-9]{20,100}"),
    _key("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[A-Za-z0-9]{10,247}"),
    _key("stripe_key", "whsec_", r"[A-Za-z0-9+/]{24,100}={0,2}"),
    _key("npm_token", "npm_", rf"[A-Za-z0-9]{{36}}{END}"),
    _key("pypi_token", "pypi-AgE", rf"{_WORD}{{50,1000}}"),
    _key("huggingface_token", "hf_ api_org_", rf"(?=[A-Za-z0-9]*[A-Z])[A-Za-z0-9]{{30,40}}{END}"),
    rule("azure_key", "AZDO", rf"(?<=(?P<head>(?<![A-Za-z0-9])[A-Za-z0-9]{{76}}))AZDO[A-Za-z0-9]{{4}}{END}"),
    rule("azure_key", "JQQJ99", rf"(?<=(?P<head>(?<![A-Za-z0-9])[A-Za-z0-9]{{52}}))JQQJ99[A-Za-z0-9]{{26}}{END}"),
    _key("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", rf"[a-f0-9]{{64}}{END}"),
    _key("databricks_token", "dapi", rf"[a-f0-9]{{32}}(?:-[0-9])?{END}"),
    _key("docker_token", "dckr_pat_ dckr_oat_", rf"{_WORD}{{27,40}}"),
    _key("shopify_token", "shpat_ shpca_ shppa_ shpss_", rf"[a-fA-F0-9]{{32}}{END}"),
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
    _key("supabase_key", "sbp_ sb_secret_", r"[A-Za-z0-9_-]{30,60}"),
    _key("rubygems_key", "rubygems_", rf"[a-f0-9]{{48}}{END}"),
    _key("tailscale_key", "tskey-", rf"[a-z]{{3,10}}-{_WORD}{{20,80}}"),
    _key("heroku_key", "HRKU-AA", rf"{_WORD}{{50,70}}"),
    _key("planetscale_token", "pscale_", r"(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _key("private_key", "AGE-SECRET-KEY-1", rf"[A-Z0-9]{{58}}{END}"),
    rule(
        "jwt",
        "eyJ",
        rf"{START}(?<![_-])eyJ{_WORD}{{8,}}+(?:\.(?:eyJ|e30){_WORD}*+\.{_WORD}*+|(?:\.{_WORD}*+){{4}})",
    ),
)

# A dot or a colon cuts these into runs that are too short, or their literals stand outside.
ANYWHERE = (
    rule(
        "telegram_token",
        ":AA",
        rf"(?<=(?P<head>(?<![A-Za-z0-9])(?:bot)?[0-9]{{8,10}})):AA{_WORD}{{33}}(?!{_WORD})",
    ),
    _key("sendgrid_key", "SG.", rf"{_WORD}{{22}}\.{_WORD}{{43}}(?!{_WORD})"),
    _key("vault_token", "hvs. hvb. hvr.", rf"{_WORD}{{24,400}}"),
    _key("google_token", "ya29.", rf"{_WORD}{{20,2000}}"),
    rule("azure_key", "Q~", r"(?<=(?P<head>(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]))Q~[A-Za-z0-9_~.-]{31,34}"),
    rule("azure_key", "sig=", r"(?<=[?&;])sig=(?P<value>[A-Za-z0-9%+/_-]{40,100}={0,2})"),
    rule("slack_webhook", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]+/(?P<value>[A-Za-z0-9/]{30,100})"),
    rule("discord_webhook", "/api/webhooks/", rf"/api/webhooks/[0-9]{{15,22}}/(?P<value>{_WORD}{{60,80}})"),
)
