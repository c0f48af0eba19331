"""Answers as Prometheus gives them, for series that a test writes down as functions of time."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal

from tests.store.loopback_server import Request, Response

Value = Callable[[int], object]  # at a moment in milliseconds; None: absent
Series = Mapping[tuple[tuple[str, str], ...], Value]  # by labels


def labels(**names: str) -> tuple[tuple[str, str], ...]:
    return tuple(names.items())


def success(data: object, **more: object) -> Response:
    return Response(json.dumps({"status": "success", "data": data, **more}).encode())


def failure(kind: str, error: str, status: int) -> Response:
    text = json.dumps({"status": "error", "errorType": kind, "error": error})
    return Response(text.encode(), status)


def moments_ms(fields: Mapping[str, str]) -> range:
    """The moments that a range query asks for."""
    begin_ms, end_ms, step_ms = (int(Decimal(fields[name]) * 1000) for name in _RANGE)
    return range(begin_ms, end_ms + 1, step_ms)


_RANGE = ("start", "end", "step")


def range_of(series: Series, request: Request, **more: object) -> Response:
    """What the server says of *series* at the moments that were asked for."""
    result = []
    for names, value_at in series.items():
        told = [
            [at_ms / 1000, str(value)]
            for at_ms in moments_ms(request.fields)
            if (value := value_at(at_ms)) is not None
        ]
        if told:
            result.append({"metric": dict(names), "values": told})
    return success({"resultType": "matrix", "result": result}, **more)
