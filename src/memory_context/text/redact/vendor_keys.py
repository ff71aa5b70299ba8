"""Keys that their makers gave a form of their own, by which they can be told from any other text.

The forms are those that the vendors document, or that GitHub's list of secret scanning patterns names; each stands
beside its vendor. Identifiers that are no secrets (Stripe's ``pk_``, Twilio's ``AC``) are left out.
"""

from __future__ import annotations

from memory_context.text.redact.rules import END, START, PatternRule, pattern_rule


def _key(kind: str, name: str, rest: str, *, before: str = "", ahead: str = "") -> PatternRule:
    """Compile a rule for a key with *name* in it, *before* and *rest* around it, in which a regex's word is ASCII.

    The name is the hint, so what stands before it is matched by a lookbehind. Where it stands in other texts, too, what
    comes *ahead* of it, in small letters, belongs to the hint.
    """
    start = f"(?<=(?P<head>{START}{before}))" if before else START
    return pattern_rule(kind, name.lower() + ahead, f"(?a){start}{name}{rest}")


def _bounded_key(
    kind: str, name: str, rest: str, *, before: str = "", ahead: str = ""
) -> PatternRule:
    """Compile a rule for a key that no letter or digit follows."""
    return _key(kind, name, rest + END, before=before, ahead=ahead)


# Their hints are looked for only where a text has a run of 16 or more of A-Z a-z 0-9 _ -, which each of them is.
IN_RUNS = (
    _bounded_key("aws_key", "A[KS]IA", "(?![A-Z0-9]{9}EXAMPLE)[A-Z2-7]{16}"),
    _bounded_key("aws_key", "ABIA", "[A-Z2-7]{16}"),
    _bounded_key("aws_key", "ACCA", "[A-Z2-7]{16}"),
    _key("github_token", "gh[pousr]_", "[A-Za-z0-9]{36,255}"),
    _key("github_token", "github_pat_", "[A-Za-z0-9]{22}_[A-Za-z0-9]{59,200}"),
    _key(
        "gitlab_token",
        "gl(?:pat|dt|rtr|rt|ft|soat|cbt|ptt|agent|oas|imt|ffct|wt)-",
        r"[\w-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?",
    ),
    _bounded_key("gitlab_token", "GR1348941", r"[\w-]{20}"),
    _key("anthropic_key", "sk-ant-", r"[a-z]{3,6}[0-9]{2}-[\w-]{40,200}"),
    # A project's key, one of the first kind, OpenRouter's, or any other maker's that begins alike.
    _key(
        "openai_key",
        "sk-",
        r"(?:(?:proj|svcacct|admin|None)-[\w-]{20,250}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"
        f"|or-v1-[0-9a-f]{{64}}|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{{32,64}}{END})",
    ),
    _bounded_key("google_key", "AIza", r"[\w-]{35}"),
    _bounded_key("google_key", "GOCSPX-", r"[\w-]{28}"),
    _key("slack_token", "xox[abceoprs]-", "[A-Za-z0-9-]{10,250}"),
    _key("slack_token", "xapp-", "[0-9]-[A-Z0-9]{5,20}-[0-9]{5,20}-[a-z0-9]{20,100}"),
    _key("stripe_key", "k_(?:live|test)_", "[A-Za-z0-9]{10,247}", before="[rs]"),
    _key("stripe_key", "whsec_", "[A-Za-z0-9+/]{24,100}={0,2}"),
    _bounded_key("npm_token", "npm_", "[A-Za-z0-9]{36}"),
    _key("pypi_token", "pypi-", r"AgE[\w-]{50,1000}"),
    _bounded_key("huggingface_token", "hf_", "(?=[A-Za-z0-9]*[A-Z])[A-Za-z0-9]{30,40}"),
    _bounded_key("huggingface_token", "api_org_", "(?=[A-Za-z0-9]*[A-Z])[A-Za-z0-9]{30,40}"),
    _bounded_key("azure_key", "AZDO", "[A-Za-z0-9]{4}", before="[A-Za-z0-9]{76}"),
    _bounded_key("azure_key", "JQQJ99", "[A-Za-z0-9]{26}", before="[A-Za-z0-9]{52}"),
    _bounded_key("digitalocean_token", "do[opr]_v1_", "[a-f0-9]{64}"),
    _bounded_key("databricks_token", "dapi", "[a-f0-9]{32}(?:-[0-9])?"),
    _key("docker_token", "dckr_[op]at_", r"[\w-]{27,40}"),
    _bounded_key("shopify_token", "shp(?:at|ca|pa|ss)_", "[a-fA-F0-9]{32}"),
    _bounded_key("grafana_token", "glsa_", "[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _key("grafana_token", "glc_", "[A-Za-z0-9+/]{32,400}={0,2}"),
    _bounded_key("groq_key", "gsk_", "[A-Za-z0-9]{52}"),
    _bounded_key("xai_key", "xai-", "[A-Za-z0-9]{80}"),
    _bounded_key("perplexity_key", "pplx-", "[A-Za-z0-9]{40,64}"),
    _bounded_key("replicate_token", "r8_", "[A-Za-z0-9]{37}"),
    _bounded_key("langsmith_key", "lsv2_", "(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _bounded_key("linear_key", "lin_api_", "[A-Za-z0-9]{40}"),
    _bounded_key("notion_token", "ntn_", "[A-Za-z0-9]{40,60}"),
    _key("figma_token", "figd_", r"[\w-]{40,60}"),
    _bounded_key("postman_key", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}"),
    _bounded_key("newrelic_key", "NRAK-", "[A-Z0-9]{27}"),
    _key("atlassian_token", "ATATT3", "[A-Za-z0-9_=-]{60,400}"),
    _bounded_key("sentry_token", "sntryu_", "[a-f0-9]{64}"),
    _key("sentry_token", "sntrys_", "eyJ[A-Za-z0-9+/=_]{60,400}"),
    _key("supabase_key", "sb(?:p|_secret)_", r"[\w-]{30,60}"),
    _bounded_key("rubygems_key", "rubygems_", "[a-f0-9]{48}"),
    _key("tailscale_key", "tskey-", r"[a-z]{3,10}-[\w-]{20,80}"),
    _key("heroku_key", "HRKU-", r"AA[\w-]{50,70}"),
    _key("planetscale_token", "pscale_", r"(?:tkn|pw|oauth)_[\w.=-]{32,64}"),
    _bounded_key(
        "1password_key",
        "A3-",
        "[A-Z0-9]{6}(?:-[A-Z0-9]{11}|-[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    _key("1password_token", "ops_eyJ", "[A-Za-z0-9+/]{240,2000}={0,3}"),
    _bounded_key("adobe_key", "p8e-", "[a-z0-9]{32}"),
    _bounded_key("airtable_token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}", ahead=r"[a-z0-9]{14}"),
    _bounded_key("alibaba_key", "LTAI", "[A-Za-z0-9]{20}"),
    _bounded_key("artifactory_key", "AKCp", "[A-Za-z0-9]{69}"),
    _bounded_key("brevo_key", "xkeysib-", "[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _bounded_key("buildkite_token", "bkua_", "[a-f0-9]{40}"),
    _bounded_key("cerebras_key", "csk-", "[a-z0-9]{48}"),
    _bounded_key("circleci_token", "CCIPAT_", "[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    _bounded_key("clojars_token", "CLOJARS_", "[a-z0-9]{60}"),
    _bounded_key("contentful_token", "CFPAT-", r"[\w-]{43}"),
    _bounded_key("duffel_token", "duffel_", r"(?:test|live)_[\w=-]{43}"),
    _bounded_key("easypost_key", "EZ[AT]K", "[A-Za-z0-9]{54}"),
    _bounded_key("elevenlabs_key", "sk_", "[a-f0-9]{48}", ahead=r"[a-f0-9]{12}"),
    _bounded_key("facebook_token", "EAA[MC]", "[A-Za-z0-9]{100,}"),
    _bounded_key("flutterwave_key", "FLWSECK", "(?:_TEST)?-[a-h0-9]{32}-X"),
    _key("fly_token", "fo1_", r"[\w-]{43}"),
    _key("fly_token", "fm[12][ar]?_", "[A-Za-z0-9+/]{80,2000}={0,3}"),
    _bounded_key("frameio_token", "fio-u-", r"[\w=-]{64}"),
    _bounded_key(
        "hubspot_token", "pat-", "(?:na|eu)[0-9]-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"
    ),
    _bounded_key("langfuse_key", "sk-lf-", "[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"),
    _bounded_key("netlify_token", "nfp_", "[A-Za-z0-9]{36}"),
    _bounded_key("nuget_key", "oy2", "[a-z0-9]{43}", ahead=r"[a-z0-9]{12}"),
    _bounded_key("pinecone_key", "pcsk_", "[A-Za-z0-9]{5,6}_[A-Za-z0-9]{50,70}"),
    _bounded_key(
        "plaid_token",
        "access-",
        "(?:sandbox|development|production)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}",
    ),
    _bounded_key("prefect_key", "pn[bu]_", "[A-Za-z0-9]{36}"),
    _bounded_key("pulumi_token", "pul-", "[a-f0-9]{40}"),
    _bounded_key("readme_key", "rdme_", "[a-z0-9]{70}"),
    _bounded_key(
        "resend_key", "re_", "[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", ahead=r"[a-z0-9]{8}_[a-z0-9]"
    ),
    _bounded_key("scalingo_token", "tk-us-", r"[\w-]{48}"),
    _bounded_key("shippo_token", "shippo_", "(?:live|test)_[a-fA-F0-9]{40}"),
    _bounded_key("sonar_token", "sq[apu]_", "[a-f0-9]{40}"),
    _bounded_key("sourcegraph_token", "sgp_", "(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}"),
    _bounded_key("square_token", "sq0atp-", r"[\w-]{22}"),
    _bounded_key("square_token", "sq0csp-", r"[\w-]{43}"),
    _bounded_key("square_token", "EAAA", r"[\w-]{60}"),
    _bounded_key("tavily_key", "tvly-", r"[\w-]{32,64}"),
    _bounded_key("together_key", "tgp_v1_", r"[\w-]{43}"),
    _bounded_key("twilio_key", "SK", "[a-f0-9]{32}", ahead=r"[a-f0-9]{16}"),
    _key("typeform_token", "tfp_", r"[\w.=-]{59}"),
    _bounded_key("private_key", "AGE-SECRET-KEY-", "1[A-Z0-9]{58}"),
    # Three parts if the second is JSON too (signed), five if not (encrypted); none inside a longer key (RFC 7519).
    _key(
        "jwt",
        "eyJ",
        r"(?<![_-]eyJ)[\w-]{8,}+(?:\.(?:eyJ|e30)[\w-]*+\.[\w-]*+|(?:\.[\w-]*+){4})",
    ),
)

# A dot or a colon cuts these into runs that are too short, or their hints stand outside.
ANYWHERE = (
    _key("telegram_token", ":AA", r"[\w-]{33}(?![\w-])", before="(?:bot)?[0-9]{8,10}"),
    _key("sendgrid_key", r"SG\.", r"[\w-]{22}\.[\w-]{43}(?![\w-])"),
    _key("vault_token", r"hv[bsr]\.", r"[\w-]{24,400}"),
    _bounded_key(
        "asana_token",
        "/",
        "[0-9]{15,18}(?:/[0-9]{15,18})?:[a-f0-9]{32}",
        before="[12]",
        ahead="[0-9]{15}",
    ),
    _bounded_key("cloudflare_key", r"v1\.0-", "[a-f0-9]{24}-[a-f0-9]{146}"),
    _bounded_key(
        "doppler_token",
        r"dp\.",
        r"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    _bounded_key(
        "dynatrace_token",
        "dt0",
        r"[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
        ahead=r"[a-z][0-9]{2}",
    ),
    _bounded_key("terraform_token", r"atlasv1\.", r"[\w=-]{60,70}", before=r"[A-Za-z0-9]{14}\."),
    pattern_rule(
        "teams_webhook",
        "/incomingwebhook/",
        r"(?<=\.office\.com/webhookb2/[\w@-]{60,100})/IncomingWebhook/(?P<value>[a-f0-9]{32}/[a-f0-9-]{36})",
    ),
    _key("google_token", r"ya29\.", r"[\w-]{20,2000}"),
    _key("azure_key", "Q~", r"[\w~.-]{31,34}", before=r"[\w~.-]{3}[0-9]"),
    pattern_rule("azure_key", "sig=", r"(?<=[?&;])sig=(?P<value>[A-Za-z0-9%+/_-]{40,100}={0,2})"),
    pattern_rule(
        "slack_webhook",
        r"hooks\.slack\.com/",
        r"hooks\.slack\.com/[a-z]+/(?P<value>[A-Za-z0-9/]{30,100})",
    ),
    pattern_rule(
        "discord_webhook",
        "/api/webhooks/",
        r"/api/webhooks/[0-9]{15,22}/(?P<value>[A-Za-z0-9_-]{60,80})",
    ),
)
