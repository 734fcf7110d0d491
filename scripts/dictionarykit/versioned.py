"""Scripts and styles with a version in their URL: each release is the dictionary of the next."""

import html
import re
import typing
import urllib.parse

from dictionarykit import response, sources, visit

TAG = re.compile(r"<(script|link)\s[^>]*>", re.IGNORECASE)
ATTRIBUTE = re.compile(r"""\s(src|href|rel|as)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""",
                       re.IGNORECASE)
DESTINATIONS = {"js": "script", "mjs": "script", "css": "style"}
TYPES = {"script": ("text/javascript", "application/javascript", "application/x-javascript"),
         "style": ("text/css",)}

NAME = re.compile(r"(?P<stem>.+?)(?P<end>(?:\.(?:min|chunk|bundle|prod))*\.(?P<kind>js|mjs|css))\Z")
# What a version looks like at a stem's end: numbers with dots; hexadecimal digits, as webpack and
# hugo have them; eight characters of vite, which are no words.
NUMBERS = re.compile(r"(?P<before>.*?[A-Za-z].*?[-._]v?)\d+(?:\.\d+)+\Z")
DIGITS = re.compile(r"(?P<before>.*[A-Za-z0-9].*[-._])(?P<version>[0-9a-f]{6,64})\Z")
MIXED = re.compile(r"(?P<before>.*[A-Za-z].*[-.])(?P<version>[A-Za-z0-9_-]{8})\Z")
WORDS = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+|[-_][a-z]+)*\Z")
# So many digits are made of the content.
DIGITS_SURE = 8

QUERY = re.compile(r"(?P<name>v|ver|version|rev|h|hash|digest)=(?P<version>[\w.~-]+)\Z")
PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_@~%,=-][A-Za-z0-9._@~%,=-]*)+\Z")

FILES_MOST = 40  # that are looked at; pages of a site load the same ones


class Rule(typing.NamedTuple):
    location: str  # regular expression of the paths
    match: str
    dest: str
    sure: bool  # the version is made of the content
    query: str = ""  # regular expression of such a query
    has_lifetime: bool = False


def is_digest(text):
    """Whether it is made of the content, by its looks: hexadecimal digits of both kinds."""
    return (len(text) >= DIGITS_SURE and bool(re.fullmatch("[0-9a-f]+", text))
            and not text.isdigit() and not text.isalpha())


def version_of(stem):
    """(what is before the version, its regular expression, whether it is a hash); None: none."""
    found = NUMBERS.match(stem)
    if found:
        return found["before"], r"[0-9]+(\.[0-9]+)+", False
    found = DIGITS.match(stem)
    if found and re.search(r"\d", found["version"]):
        pattern = f"[0-9a-f]{{{len(found['version'])}}}"
        return found["before"], pattern, is_digest(found["version"])
    found = MIXED.match(stem)
    if found and re.search("[A-Z]", found["version"]) and not WORDS.match(found["version"]):
        return found["before"], "[A-Za-z0-9_-]{8}", False
    return None


def rule_of(url):
    """The rule for a URL of a script or a style; None where no version is in it."""
    parts = urllib.parse.urlsplit(url)
    folder, slash, name = parts.path.rpartition("/")
    found = NAME.match(name)
    if not found or not PLAIN_PATH.match(parts.path):
        return None
    dest = DESTINATIONS[found["kind"]]
    query = QUERY.match(parts.query)
    if query:
        name, version = query["name"], query["version"]
        return Rule(f"^{re.escape(parts.path)}$", f"{parts.path}?{name}=*", dest,
                    is_digest(version), f"^{name}=[0-9a-f]{{{len(version)}}}$")
    version = None if parts.query else version_of(found["stem"])
    if not version:
        return None
    before, pattern, sure = version
    begin = folder + slash + before
    return Rule(f"^{re.escape(begin)}{pattern}{re.escape(found['end'])}$",
                f"{begin}*{found['end']}", dest, sure)


def rules_of(found):
    """[(rule, URL)] of [(URL, has_lifetime)]. The rules, which become configuration, are made anew:
    of a process that has read pages only the URLs and these answers are taken."""
    made = [(rule_of(url), lasts, url) for url, lasts in found]
    return [(rule._replace(has_lifetime=bool(lasts)), url) for rule, lasts, url in made if rule]


def loaded(page_url, text):
    """URLs of the scripts and styles that a page loads."""
    found = []
    for tag in TAG.finditer(text):
        values = {name.lower(): html.unescape(one or two or three)
                  for name, one, two, three in ATTRIBUTE.findall(tag[0])}
        is_script = tag[1].lower() == "script"
        rel = values.get("rel", "").lower().split()
        if not is_script and not ("stylesheet" in rel or "modulepreload" in rel or (
                "preload" in rel and values.get("as", "").lower() in ("script", "style"))):
            continue
        target = values.get("src" if is_script else "href")
        try:
            url = urllib.parse.urljoin(page_url, target or "")
            sources.origin(url)
        except (ValueError, sources.Unusable):
            continue
        if target:
            found.append(url.partition("#")[0])
    return found


def lifetime(answer):
    """Whether the response says how long it may be used."""
    control = ",".join(answer.values("cache-control"))
    age = re.search(r"(?i)\bmax-age\s*=\s*\"?(\d+)", control)
    return int(age[1]) > 0 if age else not control and bool(answer.values("expires"))


def look(visitor, url, rule):
    """(the rule, or None; why it is left out)."""
    try:
        answer = visitor.ask(url, visit.PAGE_MOST)
    except (visit.Refused, sources.Unusable) as problem:
        return None, str(problem)
    if answer.status != 200 or answer.media_type() not in TYPES[rule.dest]:
        return None, f"has the status {answer.status} and the type {answer.media_type()}"
    reason = response.header_refusal(answer, response.Accepted())
    vary = response.directives(answer.values("vary"))
    if reason or vary & {"cookie", "authorization", "*"}:
        return None, reason or "varies by visitor"
    if lifetime(answer):
        return rule._replace(has_lifetime=True), ""
    if rule.sure and not answer.values("cache-control"):
        return rule, ""
    return None, "has no Cache-Control: max-age"


def find(visitor, pages):
    """([(rule, a URL of it)], {URL: why there is none}) of what the pages load."""
    rules, refused = {}, {}
    for page in pages:
        for url in loaded(page.url, page.body.decode("utf-8", "replace")):
            rule = rule_of(url) if sources.origin(url) == visitor.origin else None
            if not rule or rule.match in rules or len(rules) + len(refused) >= FILES_MOST \
                    or url in refused:
                continue
            found, reason = look(visitor, url, rule)
            if found:
                rules[rule.match] = (found, url)
            else:
                refused[url] = reason
    return list(rules.values()), refused
