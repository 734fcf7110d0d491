"""What two visits to one page have in common: nothing else of it may be in a dictionary."""

import difflib
import re

# Of a page of which more differs, the rest is no typical text either.
COMMON_LEAST = 0.5  # of its bytes
# Tokens that are compared one by one; the time grows with their square.
TOKENS_MOST = 20_000


def tokens(body):
    """An element's tag with the text behind it is one."""
    return re.findall(rb"<?[^<]+|<", body)


def ends(first, second):
    """(tokens that both begin with, tokens that both end with)."""
    most = min(len(first), len(second))
    begin = 0
    while begin < most and first[begin] == second[begin]:
        begin += 1
    end = 0
    while end < most - begin and first[-1 - end] == second[-1 - end]:
        end += 1
    return begin, end


def common(first, second):
    """The tokens of `first` that `second` has, too, in the same order."""
    if first == second:
        return first
    one, other = tokens(first), tokens(second)
    begin, end = ends(one, other)
    middle, others = one[begin:len(one) - end], other[begin:len(other) - end]
    kept = []
    if len(middle) <= TOKENS_MOST and len(others) <= TOKENS_MOST:
        matcher = difflib.SequenceMatcher(None, middle, others, autojunk=False)
        for block in matcher.get_matching_blocks():
            kept += middle[block.a:block.a + block.size]
    return b"".join(one[:begin] + kept + one[len(one) - end:])
