"""Kubeconfigs in files, and what comes of them."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.errors import Finding, ManifestError


def kubeconfig(*, cluster: str = "server: https://api.example", user: str = "token: abc") -> str:
    """Return a kubeconfig with one context, ours, to one cluster and one user."""
    return "\n".join(
        [
            "apiVersion: v1",
            "kind: Config",
            "current-context: ours",
            "contexts:",
            "- name: ours",
            "  context: {cluster: here, user: me}",
            "clusters:",
            "- name: here",
            "  cluster:",
            indent(dedent(cluster).strip(), "    "),
            "users:",
            "- name: me",
            "  user:",
            indent(dedent(user).strip(), "    "),
        ]
    )


def written(folder: Path, text: str, name: str = "config") -> Path:
    """Write a kubeconfig into a folder, which is made, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def access_by(file: Path, environ: Mapping[str, str] | None = None, **wanted: Any) -> Access:
    """Return the access that a kubeconfig gives without a finding."""
    access, findings = found_by(file, environ, **wanted)
    assert findings == ()
    return access


def found_by(
    file: Path, environ: Mapping[str, str] | None = None, **wanted: Any
) -> tuple[Access, tuple[Finding, ...]]:
    """Return the access that a kubeconfig gives, and its warnings."""
    return find_access(Wanted(kubeconfig=str(file), **wanted), environ or {})


def problem_of(file: Path, **wanted: Any) -> str:
    """Return all that is wrong with a kubeconfig."""
    with pytest.raises(ManifestError) as problem:
        found_by(file, **wanted)
    return str(problem.value)


def token_of(access: Access) -> str | None:
    """Return the token for a request."""
    return asyncio.run(_token(access))


async def _token(access: Access) -> str | None:
    return await access.credentials.token()
