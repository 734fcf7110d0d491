"""Frequent assertions on responses."""

import warnings


WRONG_MOST = 2  # answers, before the right one
# Of all answers in a process: so many, and this share of them.
ALL_WRONG_MOST, ALL_WRONG_SHARE = 5, 1 / 8

_answers = {True: 0, False: 0}  # by whether they were right


def once(ask, is_right):
    """What `ask` returns, asked until it `is_right`: again after two wrong answers, and no more.

    For what a script makes: a busy machine may keep it from going on, or from ending, for longer
    than the filter waits for it. A module that is wrong each third time fails some test, because
    few of all answers may be wrong.
    """
    for _ in range(WRONG_MOST + 1):
        answer = ask()
        right = bool(is_right(answer))
        _answers[right] += 1
        if right:
            break
        warnings.warn("asked again", stacklevel=2)  # pytest counts them, and says where
    count = sum(_answers.values())
    assert _answers[False] <= ALL_WRONG_MOST + ALL_WRONG_SHARE * count, \
        f"{_answers[False]} of {count} answers were wrong, and asked for again: {answer}"
    return answer


def encoded(answer, coding, body, status=200):
    """The answer is `body`, whole, in `coding`, and was negotiated."""
    assert (answer.status, answer.coding) == (status, coding), answer
    assert answer.body == body
    assert answer.varies, answer
    assert "Accept-Ranges" not in answer.headers, answer
    length = answer.headers.get("Content-Length")
    assert length is None or int(length) == len(answer.raw)


def whole(answer, coding, body, status=200):
    """The answer is `body`, whole, in `coding`; ignores other fields."""
    assert (answer.status, answer.coding, answer.body) == (status, coding, body), answer


def plain(answer, body, status=200, varies=True):
    """The answer is `body`, whole and uncompressed; `varies`: another client could get a coding."""
    assert (answer.status, answer.coding) == (status, None), answer
    assert answer.body == body
    assert answer.varies == varies, answer


def negotiated(answer, coding, body):
    """encoded(), or plain() if `coding` is None."""
    if coding:
        encoded(answer, coding, body)
    else:
        plain(answer, body)


def empty(answer, status):
    """A response whose status excludes a body."""
    assert (answer.status, answer.coding, answer.raw) == (status, None, b""), answer
    assert answer.complete, answer


def not_modified(answer, tag=None):
    """A 304 to a request whose coding was negotiated; with `tag`, if given."""
    empty(answer, 304)
    assert answer.varies, answer
    assert tag is None or answer.headers.get("ETag") == tag, answer


def same_length(answers):
    return len({answer.headers.get("Content-Length") for answer in answers} - {None}) < 2


def head_of(get, head, *names):
    """`head` has the header of `get` and no body; compares the fields `names` besides the usual
    ones.

    A script's response may be whole for one of the two, and a stream without length for the other.
    """
    assert head.status == get.status and head.raw == b"" and head.complete, head
    same_header(get, head, "Content-Encoding", "Vary", "ETag", "Content-Type", *names)
    assert same_length((get, head)), (get, head)


def same_header(one, other, *names):
    for name in names:
        assert one.headers.get(name) == other.headers.get(name), (name, one, other)
