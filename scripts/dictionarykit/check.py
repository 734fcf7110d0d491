"""`check`: what a browser, a shared cache and a CDN in front make of a page and its dictionary."""

import argparse
import secrets
import typing
import urllib.parse

from codeckit import decoders, dictionaries
from dictionarykit import fields, report, sources
from dictionarykit.browser import DECODERS, ENCODINGS, Browser

HELP = "ask for a page as a browser does, and say what keeps its dictionary from being used"
OK, ADVICE, PROBLEM = "ok", "advice", "problem"
DAY = 86400
WORTH_MOST = 0.8  # of a page's bytes: with more, the server may well prefer another coding
COMPRESSED_LEAST = 2000  # bytes; the server leaves what fits into a packet or two

DIFFERENCES = {"dcz": decoders.zstd, "dcb": decoders.brotli}
# What a browser calls a use of a media type; all others are asked for as a document.
DESTINATIONS = {"text/css": "style", "text/javascript": "script",
                "application/javascript": "script", "application/json": "empty"}
# Fields by which caches and CDNs show themselves.
IN_FRONT = ("via", "cf-ray", "cf-cache-status", "x-cache", "x-served-by", "cdn-cache", "age")
ASK_ORIGIN = "with --resolve ADDRESS the origin is asked itself, past a CDN"
HONOUR_VARY = "let caches in front honour Vary, and proxies change no bodies; " + ASK_ORIGIN
MAX_AGE = 'Header set Cache-Control "public, max-age=2592000"'


class Finding(typing.NamedTuple):
    verdict: str
    subject: str
    seen: str
    change: str = ""


def check_secure(answer):
    scheme, host, _ = sources.origin(answer.url)
    is_local = host in ("localhost", "::1") or host.endswith(".localhost") \
        or host.startswith("127.")
    if scheme == "https" or is_local:
        return Finding(OK, "https", answer.url)
    return Finding(PROBLEM, "https", answer.url, "serve it by https: browsers use dictionaries "
                   "with nothing else")


def check_status(subject, answer):
    status = answer.response.status
    if status == 200:
        return Finding(OK, subject, f"{answer.url}, {len(answer.response.body):,} bytes, "
                       + (answer.coding() or "not compressed"))
    return Finding(PROBLEM, subject, f"{answer.url} has the status {status}",
                   "check a URL that a visitor without a password gets")


def unnamed(body, plain):
    """The coding of a body that was sent without naming one; None: it has none."""
    for coding, head in dictionaries.HEADS.items():
        if body.startswith(head):
            return coding
    for coding, decode in DECODERS.items():
        try:
            if body != plain and decode(body) == plain:
                return coding
        except ValueError:
            pass
    return None


def check_coding(subject, answer, plain, change):
    """Whether the body decodes to what is sent without a coding, which `plain` is, or None: that
    changes with each request. `change`: what to do where it is another."""
    coding = answer.coding()
    removed = None if coding else unnamed(answer.response.body, plain)
    if removed:
        return Finding(PROBLEM, subject, f"it is {removed}, and no Content-Encoding says so",
                       "a proxy in front removes Content-Encoding: let it through; " + ASK_ORIGIN)
    try:
        body = answer.body()
    except ValueError as problem:
        return Finding(PROBLEM, subject, str(problem), HONOUR_VARY)
    if plain is not None and body != plain:
        return Finding(PROBLEM, subject, f"what comes as {coding or 'identity'} is not what comes "
                       "without codings", change)
    if not coding and len(body) >= COMPRESSED_LEAST:
        return Finding(ADVICE, subject, f"{ENCODINGS} were asked for, and identity came",
                       "set Elastic On; a proxy must let Accept-Encoding through: " + ASK_ORIGIN)
    return Finding(OK, subject, coding or "identity")


def link_of(page, destination):
    """(the URL of the page's dictionary or None, how it is named, policies in the page)."""
    body = page.body_or_none() if destination == "document" else None
    elements = fields.Elements((body or b"").decode("utf-8", "replace"))
    links = fields.linked(page.response.values("link"))
    if links:
        return urllib.parse.urljoin(page.url, links[0]), "a Link field", elements.policies
    if elements.links:
        base = urllib.parse.urljoin(page.url, elements.base)
        return urllib.parse.urljoin(base, elements.links[0]), "a <link>", elements.policies
    if page.response.values("use-as-dictionary"):
        return page.url, "the file is a dictionary itself", []
    return None, "", []


def check_reachable(url, page, policies):
    """Whether the page may fetch its dictionary, and may use it."""
    is_same = sources.origin(url) == sources.origin(page.url)
    yield Finding(OK, "same origin", fields.origin_text(url)) if is_same else Finding(
        PROBLEM, "same origin", f"the dictionary is at {fields.origin_text(url)}",
        f"serve it at {fields.origin_text(page.url)}: it is for URLs of its own origin only")
    forbidding = fields.forbidding(
        page.response.values("content-security-policy") + policies, url, page.url)
    yield Finding(OK, "connect-src", "no policy forbids to fetch it") if forbidding is None \
        else Finding(PROBLEM, "connect-src", f"the policy permits {forbidding} only",
                     "add " + ("'self'" if is_same else fields.origin_text(url))
                     + " to connect-src in Content-Security-Policy")


def check_cors(answer, page):
    if sources.origin(answer.url) != sources.origin(page.url):
        allowed = "".join(answer.response.values("access-control-allow-origin"))
        is_allowed = allowed in ("*", fields.origin_text(page.url))
        yield Finding(OK if is_allowed else PROBLEM, "CORS",
                      f"Access-Control-Allow-Origin: {allowed or '(none)'}", "" if is_allowed else
                      "the browser may not read a dictionary of another origin: move it")


def why_no_dictionary(response):
    """What keeps ElasticDictionary from making one of it, or else how to set it."""
    control = fields.cache_control(response)
    reasons = [f"Cache-Control: {name}" for name in ("private", "no-store", "no-cache")
               if name in control]
    reasons += ["Set-Cookie"] * bool(response.values("set-cookie"))
    reasons += [f"Vary: {name}" for name in ("cookie", "authorization", "*")
                if name in fields.names(response.values("vary"))]
    if reasons:
        return "remove what says that it is not for everyone: " + ", ".join(reasons)
    if not fields.lifetime(response):
        return "say for how long it may be kept: " + MAX_AGE
    return "set ElasticDictionary for this URL, and ElasticDictionaryStore; " + ASK_ORIGIN


def check_use(answer, url, destination):
    """Use-As-Dictionary. Returns its id, None where there is none or a browser ignores it."""
    subject, values = "Use-As-Dictionary", answer.response.values("use-as-dictionary")
    text = ", ".join(values)
    if not values:
        yield Finding(PROBLEM, subject, "is missing", why_no_dictionary(answer.response))
        return None
    try:
        found = fields.members(text)
    except fields.Malformed as problem:
        yield Finding(PROBLEM, subject, f"is no structured field: {problem}",
                      'write it as match="/*", match-dest=("document")')
        return None
    kinds = {"match": "string", "match-dest": "list", "id": "string", "type": "token"}
    wrong = [key for key, kind in kinds.items() if key in found and found[key].kind != kind]
    if wrong or "match" not in found:
        yield Finding(PROBLEM, subject, f"{text}: {wrong[0] if wrong else 'match'} is "
                      + ("of another type" if wrong else "missing"), "a browser ignores it: "
                      "correct it, or leave it to ElasticDictionary")
        return None
    pattern = found["match"].content
    wanted = [item.content for item in found.get("match-dest", fields.Value("list", [])).content]
    identifier = found.get("id", fields.Value("string", "")).content
    is_covered = fields.covers(pattern, answer.url, url)
    if is_covered is False:
        yield Finding(PROBLEM, subject, f'match="{pattern}" does not match {url}',
                      "change match, or check a page that it is for")
    if wanted and destination not in wanted:
        yield Finding(PROBLEM, subject, f"match-dest has no \"{destination}\"",
                      f"add {destination} to match-dest, or check a URL that it is for")
    if len(identifier) > 1024:
        yield Finding(PROBLEM, subject, "the id is longer than 1024 characters", "shorten it")
    if found.get("type", fields.Value("token", "raw")).content != "raw":
        yield Finding(PROBLEM, subject, f"type={found['type'].content}", "browsers know raw only")
    if is_covered is None:
        yield Finding(ADVICE, subject, f'match="{pattern}" has more than text and *, and was not '
                      "compared", "use * only")
    elif is_covered:
        yield Finding(OK, subject, text)
    return identifier


def check_lifetime(answer):
    seconds = fields.lifetime(answer.response)
    if not seconds:
        return Finding(PROBLEM, "lifetime", "a browser may not keep the dictionary" if seconds == 0
                       else "nothing says for how long the dictionary may be kept", MAX_AGE)
    seen = f"a browser keeps the dictionary for {seconds / DAY:,.1f} days"
    return Finding(OK, "lifetime", seen) if seconds >= DAY else Finding(
        ADVICE, "lifetime", seen, "visitors who come back later fetch it again: " + MAX_AGE)


def could_save(dictionary, page):
    """Whether a difference would be far smaller than what was sent."""
    body = page.body_or_none()
    with dictionaries.Dcz(dictionary) as coding:
        return body is None or coding.size(body) < WORTH_MOST * len(page.response.body)


def check_difference(answer, page, dictionary, plain):
    """What came of a request that names the dictionary; `plain` as in check_coding()."""
    coding, body = answer.coding(), answer.response.body
    if not coding and body.startswith(tuple(dictionaries.HEADS.values())):
        return check_coding("difference", answer, plain, "")
    if coding not in DIFFERENCES:
        seen = f"with the dictionary the page comes as {coding or 'identity'} all the same"
        if not could_save(dictionary, page):
            return Finding(ADVICE, "difference", seen, "the page shares too little with the "
                           "dictionary: make one that is more like it")
        return Finding(PROBLEM, "difference", seen, "the note elastic-dictionary in httpd's log "
                       "says why; a CDN must let Available-Dictionary and dcb, dcz in "
                       "Accept-Encoding through: " + ASK_ORIGIN)
    head = dictionaries.head(coding, dictionary)
    try:
        if not body.startswith(head):
            raise ValueError("of another dictionary than the request named")
        decoded = DIFFERENCES[coding](body[len(head):], dictionary)
        if plain is not None and decoded != plain:
            raise ValueError("decodes to another page than comes without a dictionary")
    except ValueError as problem:
        return Finding(PROBLEM, "difference", f"{coding}: {problem}", HONOUR_VARY)
    return Finding(OK, "difference", f"{coding}, {len(body):,} bytes instead of "
                   f"{len(page.response.body):,} ({page.coding() or 'identity'})")


def check_vary(answers):
    """That every answer of the page names what it depends on."""
    lacking = {}
    for which, answer in answers.items():
        found = fields.names(answer.response.values("vary"))
        missing = [] if "*" in found else [name for name in ("Accept-Encoding",
                                                             "Available-Dictionary")
                                           if name.lower() not in found]
        if missing:
            lacking.setdefault(", ".join(missing), []).append(which)
    if not lacking:
        return Finding(OK, "Vary", "names Accept-Encoding and Available-Dictionary on all answers")
    seen = "; ".join(f"{missing} is missing {' and '.join(which)}"
                     for missing, which in lacking.items())
    is_kept = any(may_share(answer.response) for answer in answers.values())
    return Finding(PROBLEM if is_kept else ADVICE, "Vary", seen, "a shared cache would give one "
                   "answer to all browsers: let it through from httpd, or Header merge Vary "
                   '"Accept-Encoding, Available-Dictionary"')


def may_share(response):
    return not {"private", "no-store"} & set(fields.cache_control(response))


def check_others(answers):
    """That browsers get no coding that they did not ask for: {which: (answer, codings)}."""
    for which, (answer, codings) in answers.items():
        if answer.coding() not in codings:
            return Finding(PROBLEM, "other browsers", f"{which} get {answer.coding()}",
                           "a cache in front does not honour Vary: correct it, or send pages with "
                           "Cache-Control: private")
    return Finding(OK, "other browsers", "get codings that they know")


def check_caches(page):
    text = ", ".join(page.response.values("cache-control"))
    if not may_share(page.response):
        return Finding(OK, "shared caches", f"keep no page: Cache-Control: {text}")
    if fields.lifetime(page.response) is None and "s-maxage" not in text:
        return Finding(ADVICE, "shared caches", "nothing says for how long they may keep the page",
                       "say it: Cache-Control: no-cache, private or max-age")
    return Finding(OK, "shared caches", f"keep an answer for each coding and dictionary: {text}")


def check_front(answer):
    seen = [f"{name}: {value}" for name in IN_FRONT for value in answer.response.values(name)]
    if not seen:
        return Finding(OK, "in front", "no cache or CDN that says so")
    is_cloudflare = any(name.startswith("cf-") for name, _ in answer.response.fields)
    return Finding(ADVICE, "in front", "; ".join(seen), "if the difference does not come: "
                   + ("turn shared dictionaries (passthrough) on in Cloudflare" if is_cloudflare
                      else "let the fields of RFC 9842 and dcb, dcz through"))


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def examine_difference(browser, page, plainly, dictionary, identifier, plain):
    """The page for who has the dictionary, and for who has not."""
    def ask(content):
        more = {"Dictionary_ID": quoted(identifier)} if identifier else {}
        return browser.ask(page.url, browser.codings,
                           Available_Dictionary=dictionaries.field(content), **more)

    found, other = ask(dictionary), ask(secrets.token_bytes(32))
    yield check_difference(found, page, dictionary, plain)
    yield check_others({"those without codings": (plainly, ("", "identity")),
                        "those without a dictionary": (browser.ask(page.url), DECODERS),
                        "those with another dictionary": (other, DECODERS)})
    yield check_vary({"without a dictionary": page, "with it": found, "with another": other})


def examine_dictionary(browser, url, page, destination):
    """The dictionary of a page. Returns its content and id, None where it is of no use."""
    answer = browser.ask_dictionary(url, page.url)
    yield check_status("dictionary", answer)
    if answer.response.status != 200:
        return None, None
    yield from check_cors(answer, page)
    identifier = yield from check_use(answer, page.url, destination)
    content = browser.ask_dictionary(url, page.url, "identity").body_or_none()
    yield check_coding("dictionary coding", answer, content,
                       "a dictionary must be the same for everyone, each time: make it a file")
    yield check_lifetime(answer)
    return content or None, identifier


def examine(browser, url):
    """All findings, until one leaves nothing to ask for."""
    page = browser.ask(url)
    yield check_secure(page)
    yield check_status("page", page)
    if page.response.status != 200:
        return
    destination = DESTINATIONS.get(page.response.media_type(), "document")
    browser.become(destination)
    plainly, again = browser.ask(page.url, "identity"), browser.ask(page.url, "identity")
    is_same = plainly.response.body == again.response.body and not plainly.coding()
    plain = plainly.response.body if is_same else None
    yield check_coding("page coding", page, plain,
                       "look for what makes pages by Accept-Encoding; " + HONOUR_VARY)
    named, how, policies = link_of(page, destination)
    if not named:
        yield Finding(PROBLEM, "link", "the page names no dictionary", "set ElasticDictionaryLink "
                      "and ElasticDictionaryStore; it is for HTML with the status 200")
        return
    yield Finding(OK, "link", f"{how}: {named}")
    yield from check_reachable(named, page, policies)
    content, identifier = yield from examine_dictionary(browser, named, page, destination)
    if content and identifier is not None:
        yield from examine_difference(browser, page, plainly, content, identifier, plain)
    yield check_caches(page)
    yield check_front(page)


def page_url(text):
    try:
        sources.origin(text)
    except sources.Unusable as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return text


def address(text):
    """(host, port or 0)."""
    try:
        parts = urllib.parse.urlsplit("//" + text)
        if parts.hostname and not parts.path:
            return parts.hostname, parts.port or 0
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{text}': give an address, with a port if need be")


def add_arguments(parser):
    parser.add_argument("url", type=page_url, metavar="URL",
                        help="a page, or a file that is a dictionary for its next release")
    parser.add_argument("--cafile", metavar="FILE",
                        help="certificates of authorities to trust, in place of the system's")
    parser.add_argument("--resolve", type=address, metavar="ADDRESS[:PORT]",
                        help="ask this address for the URL's host: the origin past a CDN, or one "
                             "server of many")


def run(args):
    found = []
    for finding in examine(Browser(args.url, args.cafile, args.resolve), args.url):
        change = f". Change: {finding.change}" if finding.change else ""
        print(report.plain(f"{finding.verdict:<8} {finding.subject:<18} {finding.seen}{change}"),
              flush=True)
        found.append(finding.verdict)
    print(f"{found.count(PROBLEM)} problems, {found.count(ADVICE)} pieces of advice")
    return int(PROBLEM in found)
