"""Whatever bytes come, the client gives an answer or an ApiError, never another exception."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cluster.kubernetes.client.errors import ApiError, UnreadableAnswerError, answer_error
from fairlead.cluster.kubernetes.client.objects import read_object
from fairlead.cluster.kubernetes.client.watch import Bookmark, Changed, _read_event

ASKED = "GET /api/v1/pods"
EVENT = b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"6"},"a":%b}}'

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["kind", "code", "reason", "message", "details", "retryAfterSeconds", "metadata"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)
statuses = st.dictionaries(st.sampled_from(["code", "reason", "message", "details"]), values).map(
    lambda fields: {"kind": "Status", **fields}
)
events = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["ADDED", "BOOKMARK", "ERROR", "NEWS"]) | values,
        "object": statuses | values,
    }
)


@pytest.mark.parametrize(
    "piece",
    [b'"\xff"', b'"\\ud800"', b"1" * 5000, b"[" * 5000, b"NaN", b""],
    ids=["no UTF-8", "half a character", "a long number", "too deep", "no JSON", "nothing"],
)
def test_an_object_that_cannot_be_read_is_an_api_error(piece: bytes) -> None:
    line = EVENT % piece
    for read in (_read_event, read_object):
        with pytest.raises(UnreadableAnswerError) as raised:
            read(line, ASKED)
        assert raised.value.retry_after_s == 0


@given(line=st.binary() | events.map(lambda each: json.dumps(each).encode()))
def test_a_line_is_an_event_or_an_api_error(line: bytes) -> None:
    try:
        found: object = _read_event(line, ASKED)
    except ApiError as error:
        found = error
    assert isinstance(found, Changed | Bookmark | ApiError)
    assert not isinstance(found, ApiError) or str(found).isprintable()


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (404, "404 page not found\n", "404 page not found"),
        (404, "nothing here", "404 nothing here"),
        (
            401,
            '{"kind":"Status","reason":"Unauthorized","message":"Unauthorized"}',
            "401 Unauthorized",
        ),
        (
            401,
            '{"kind":"Status","reason":"Unauthorized","message":"expired"}',
            "401 Unauthorized expired",
        ),
        (502, "", "502"),
    ],
)
def test_a_failure_says_nothing_twice(code: int, body: str, said: str) -> None:
    error = answer_error(ASKED, code, body.encode())
    assert str(error).partition(";")[0] == f"{ASKED}: {said}"


@given(
    code=st.integers(300, 599),
    body=st.binary() | statuses.map(lambda each: json.dumps(each).encode()),
)
def test_a_failure_is_told_in_one_printable_line(code: int, body: bytes) -> None:
    error = answer_error(ASKED, code, body)
    assert str(error).startswith(f"{ASKED}: {code}")
    assert str(error).isprintable()
    assert len(str(error)) < 1200
    assert error.retry_after_s is None or 0 <= error.retry_after_s <= 600
