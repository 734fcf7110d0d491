"""What the tests ask of a response again and again."""


def encoded(answer, coding, body, status=200):
    """It is `body`, whole, in `coding`, and says that it was negotiated."""
    assert (answer.status, answer.coding) == (status, coding), answer
    assert answer.body == body
    assert answer.varies, answer
    assert "Accept-Ranges" not in answer.headers, answer
    length = answer.headers.get("Content-Length")
    assert length is None or int(length) == len(answer.raw)


def plain(answer, body, status=200, varies=True):
    """It is `body`, whole, as it is; `varies` says whether another client could have got a
    coding."""
    assert (answer.status, answer.coding) == (status, None), answer
    assert answer.body == body
    assert answer.varies == varies, answer


def same_header(one, other, *names):
    """Two responses agree in these fields."""
    for name in names:
        assert one.headers.get(name) == other.headers.get(name), (name, one, other)
