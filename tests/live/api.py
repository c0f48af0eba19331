"""The API server as a test sees it: plain blocking requests that share no code with Fairlead's.

So what a test observes does not rest on the client that it tests.
"""

import json
import ssl
import urllib.error
import urllib.request
from typing import Any, TypeAlias
from urllib.parse import urlencode

from tools.k8s.cluster import Cluster, token

Object: TypeAlias = dict[str, Any]

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"  # JSON is YAML
_TIMEOUT_S = 20


class AnswerError(Exception):
    """The API server refused; with the status code, and its reason such as AlreadyExists."""

    def __init__(self, asked: str, code: int, body: bytes) -> None:
        self.code = code
        try:
            status = json.loads(body)
        except ValueError:
            status = {"message": body.decode(errors="replace")}
        self.reason: str = status.get("reason", "")
        self.message: str = status.get("message", "")
        super().__init__(f"{asked}: {code} {self.reason} {self.message}")


class Api:
    """Requests of one user to one cluster."""

    def __init__(self, cluster: Cluster, user: str = "admin") -> None:
        self.cluster = cluster
        self.user = user
        self._ssl = ssl.create_default_context(cafile=str(cluster.certificate))

    def get(self, path: str, **query: str) -> Object:
        return self.request("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """Return an object; None: there is none of that name."""
        try:
            return self.get(path)
        except AnswerError as problem:
            if problem.code != 404:
                raise
            return None

    def code_of(self, path: str) -> int:
        """Return the status code of a GET."""
        try:
            self.get(path)
        except AnswerError as problem:
            return problem.code
        return 200

    def items(self, path: str, **query: str) -> list[Object]:
        """Return all objects of a collection."""
        found: list[Object] = self.get(path, **query)["items"]
        return found

    def create(self, path: str, body: Object) -> Object:
        return self.request("POST", path, body=body)

    def replace(self, path: str, body: Object) -> Object:
        return self.request("PUT", path, body=body)

    def patch(self, path: str, body: Object, content_type: str = MERGE) -> Object:
        return self.request("PATCH", path, body=body, content_type=content_type)

    def delete(self, path: str, *, grace_period_s: int | None = None, **query: str) -> Object:
        """Delete an object, or a whole collection; 0 s is at once, whatever the kubelet says."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_period_s is not None:
            options["gracePeriodSeconds"] = grace_period_s
        return self.request("DELETE", path, body=options, query=query)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """Return the answer as an object. Raises AnswerError if the server refuses."""
        url = f"{self.cluster.url}{path}{'?' + urlencode(query) if query else ''}"
        headers = {"Authorization": f"Bearer {token(self.user)}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self._ssl, timeout=_TIMEOUT_S) as answer:
                found: Object = json.load(answer)
                return found
        except urllib.error.HTTPError as problem:
            with problem:
                raise AnswerError(f"{method} {path}", problem.code, problem.read()) from None
