"""Checks whether a user has the rights that the role of an installation lists."""

import asyncio
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

import msgspec
import yaml

from fairlead.cluster.kubernetes import install
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.doctor.diagnosis import Diagnosis
from fairlead.cluster.kubernetes.doctor.objects import SERVICE_ACCOUNTS, create, find
from fairlead.manifest.text.values import Mapping

Component: TypeAlias = Literal["scheduler", "shadow", "viewer"]
_AT_ONCE: Final = 8
_SHOWN: Final = 4
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_OWN_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """One verb on one resource."""

    group: str
    resource: str  # perhaps with a subresource: pods/binding
    verb: str
    namespace: str = ""  # "": in all
    name: str = ""  # "": any object

    def __str__(self) -> str:
        full = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {full}{f' in {self.namespace}' if self.namespace else ''}"

    def attributes(self) -> Mapping:
        """Return it as a review asks for it."""
        resource, _, subresource = self.resource.partition("/")
        return {
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "verb": self.verb,
            "namespace": self.namespace,
            "name": self.name,
        }


async def check_rights(
    session: Session, component: Component, *, namespace: str, scheduler_name: str
) -> Diagnosis:
    """Ask the API server whether the account of an installation has all the rights of its role.

    Where it is not installed, the user who asks is looked at.
    """
    account = f"fairlead-{component}"
    if scheduler_name != "fairlead":
        account = f"fairlead-{scheduler_name}-{component}"
    user = ""
    if await find(session, SERVICE_ACCOUNTS, account, namespace) is not None:
        user = f"system:serviceaccount:{namespace}:{account}"
    rights = list(rights_of(component, namespace, scheduler_name))
    turn = asyncio.Semaphore(_AT_ONCE)

    async def is_granted(right: Right) -> bool:
        async with turn:
            return await _is_granted(session, right, user)

    granted = await asyncio.gather(*map(is_granted, rights))
    missing = [str(right) for right, has in zip(rights, granted, strict=True) if not has]
    whose = f"the account {account}" if user else "you"
    if not missing:
        said = f"{whose} {'has' if user else 'have'} all {len(rights)} that a {component} needs"
        return Diagnosis(check="rights", level="ok", found=said)
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return Diagnosis(
        check="rights",
        level="error" if user else "note",
        found=f"{whose} may not: {', '.join(missing[:_SHOWN])}{more}",
        cure="apply what fairlead deploy prints again, with the options of this installation"
        if user
        else "none, unless you run Fairlead as yourself: the installation has its own account",
    )


def rights_of(component: Component, namespace: str, scheduler_name: str) -> Iterator[Right]:
    """Yield every right that the role of a component lists."""
    text = (files(install) / component / "role.yaml").read_text(encoding="utf-8")
    for each in yaml.safe_load_all(text):
        if each["kind"] in {"ClusterRole", "Role"}:
            within = namespace if each["kind"] == "Role" else ""
            for rule in each["rules"]:
                yield from _expanded(rule, within, scheduler_name)


def _expanded(rule: Any, namespace: str, scheduler_name: str) -> Iterator[Right]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    own = scheduler_name if name == "fairlead" else name
                    yield Right(
                        group=group, resource=resource, verb=verb, namespace=namespace, name=own
                    )


async def _is_granted(session: Session, right: Right, user: str) -> bool:
    spec: dict[str, Any] = {"resourceAttributes": right.attributes()}
    kind = "SelfSubjectAccessReview"
    if user:
        spec |= {"user": user}
        kind = "SubjectAccessReview"
    body: Mapping = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    found = await create(session, _REVIEWS if user else _OWN_REVIEWS, body)
    return bool(found.get("status", {}).get("allowed"))
