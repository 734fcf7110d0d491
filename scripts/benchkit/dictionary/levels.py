"""What each level of a difference gives, for which pages: bytes beside brotli 5, and CPU time of
the codecs alone, by turns with gzip 6."""

from benchkit import stats
from benchkit.dictionary.cases import LARGE
from codeckit import dictionaries
from dictionarykit import judge

LEVELS = (1, 3, 5, 9)
ALL, THIRDS = "all", ("the shortest third", "the middle third", "the longest third")
OWN = "its own text alone, br 5"


def parts(steps):
    """{which: steps}: all of them, and thirds by their bytes with brotli 5."""
    ordered = sorted(steps, key=lambda step: dictionaries.brotli_size(step.body))
    third = len(ordered) / len(THIRDS)
    return {ALL: ordered, **{name: ordered[round(place * third):round((place + 1) * third)]
                             for place, name in enumerate(THIRDS)}}


def ways(content):
    """{name: prepared dictionary}."""
    found = {f"dcz {level}": dictionaries.Dcz(content, level) for level in LEVELS}
    if dictionaries.Dcb in dictionaries.available():
        found["dcb"] = dictionaries.Dcb(content)
    return found


def measure(case, own):
    """Rows of a site's pages; `own` has the texts of those that were written by themselves, by
    their paths."""
    rows = []
    with_dictionary = [step for step in case.steps if step.dictionary((LARGE,))]
    prepared = ways(with_dictionary[0].dictionary((LARGE,)).content)
    for which, steps in parts(with_dictionary).items():
        plain = [dictionaries.brotli_size(step.body) for step in steps]
        for name, dictionary in prepared.items():
            sizes = [dictionary.size(step.body) for step in steps]
            rows.append(row(case, which, name, sizes, plain, cpu(dictionary, steps)))
        if own:
            texts = [dictionaries.brotli_size(own[step.path]) for step in steps]
            rows.append(row(case, which, OWN, texts, plain, ""))
    for dictionary in prepared.values():
        dictionary.close()
    return rows


def cpu(dictionary, steps):
    """CPU time, of that of gzip 6."""
    used = [(judge.cpu_of(dictionary.frame, step.body), judge.cpu_of(judge.gzip_raw, step.body))
            for step in steps]
    return round(stats.ratio(*map(sum, zip(*used))), 3)


def row(case, which, name, sizes, plain, share):
    middle, low, high = stats.drawn_anew(zip(sizes, plain), of_all)
    return {"case": case.name, "pages": which, "way": name, "of_br_5": round(middle, 3),
            "low": round(low, 3), "high": round(high, 3), "cpu_of_gzip_6": share}


def of_all(pairs):
    """What the sizes come to, of the others."""
    return stats.ratio(*map(sum, zip(*pairs)))
