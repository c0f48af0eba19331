"""A session to no server: a test sees each request, and says what becomes of it and when."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

import msgspec

from fairlead.cluster.kubernetes.client.errors import (
    ApiError,
    LateError,
    UnreachableError,
    answer_error,
)
from fairlead.cluster.kubernetes.client.session import Session

Answer = bytes | Exception
OK: Answer = b'{"kind":"Status","status":"Success"}'


class Request(msgspec.Struct):
    """A request that was sent, and its answer once there is one."""

    method: str
    path: str
    body: Any
    answer: asyncio.Future[Answer]

    def __str__(self) -> str:
        name, _, subresource = self.path.partition("/pods/")[2].partition("/")
        return f"{subresource or self.method} {name}"

    def gets(self, answer: Answer) -> None:
        """Let the request end."""
        self.answer.set_result(answer)


class ScriptedSession:
    """Requests in their order; those that no rule answers wait for the test."""

    def __init__(self, rule: Callable[[Request], Answer | None] = lambda _: None) -> None:
        self.requests: list[Request] = []
        self.rule = rule

    @property
    def session(self) -> Session:
        """What is handed to the code under test."""
        return cast("Session", self)

    async def ask(
        self, method: str, path: str, *, body: bytes | None = None, **_options: object
    ) -> bytes:
        """Note a request, and wait for its answer."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        sent = None if body is None else json.loads(body)
        request = Request(method=method, path=path, body=sent, answer=future)
        self.requests.append(request)
        given = self.rule(request)
        if given is not None:
            request.gets(given)
        answer = await future
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sent(self) -> list[str]:
        """Return what was asked for so far, such as ``binding p``."""
        return [str(each) for each in self.requests]

    def open(self) -> list[Request]:
        """Return the requests that have no answer yet."""
        return [each for each in self.requests if not each.answer.done()]


def error(code: int, *, retry_after_s: int | None = None, cause: str = "") -> ApiError:
    """Return the error of an answer with a status, as the client makes it."""
    details: dict[str, Any] = {"causes": [{"reason": cause}]} if cause else {}
    said = {"kind": "Status", "code": code, "message": "because", "details": details}
    return answer_error("POST pods", code, json.dumps(said).encode(), retry_after_s=retry_after_s)


def broken(*, is_sent: bool) -> ApiError:
    """Return the error of a connection that broke, or could not be made."""
    return UnreachableError("POST pods", "it broke", retry_after_s=0, is_unknown=is_sent)


def late() -> ApiError:
    """Return the error of an answer that did not come in time."""
    return LateError("POST pods", "no answer", retry_after_s=0, is_unknown=True)


def pod(name: str, *, node: str = "", version: str = "7", **metadata: str) -> Answer:
    """Return the answer that shows a pod."""
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": "lab",
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": version,
            **metadata,
        },
        "spec": {"nodeName": node} if node else {},
    }
    return json.dumps(value).encode()
