"""Runs all checks of one cluster, each by itself: one that fails leaves the others their answer."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final

import msgspec

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.discovery import find_resources
from fairlead.cluster.kubernetes.client.errors import RefusedError, UnreachableError
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.doctor.api_server import check_clock, check_version
from fairlead.cluster.kubernetes.doctor.diagnosis import Diagnosis
from fairlead.cluster.kubernetes.doctor.rights import Component, check_rights
from fairlead.cluster.kubernetes.doctor.schedulers import (
    check_binders,
    check_installation,
    check_leaders,
)
from fairlead.cluster.kubernetes.doctor.webhooks import check_webhooks
from fairlead.cluster.kubernetes.live_rule_sets import LIVE_POLICIES
from fairlead.cluster.kubernetes.watching.kinds import kinds_to_watch, missing_kinds
from fairlead.errors import ClusterError
from fairlead.policy.contract import PolicyName

_CONNECTIONS: Final = 8
_DEADLINE_S: Final = 20.0

_Check = Callable[[], Awaitable[Diagnosis | list[Diagnosis]]]


class Patient(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be examined: which installation, under which rule set."""

    policy: PolicyName
    component: Component = "scheduler"
    namespace: str
    scheduler_name: str


async def examine(access: Access, patient: Patient) -> list[Diagnosis]:
    """Return what was found, in the order of the checks.

    Raises ClusterError where the API server cannot be reached, or does not know the user.
    """
    await access.credentials.token()
    session = Session(access, connections=_CONNECTIONS, deadline_s=_DEADLINE_S)
    try:
        found = [await check_version(session)]
        for name, check in _checks(session, patient).items():
            found += await _examined(name, check)
        return found
    finally:
        await session.close()


def _checks(session: Session, patient: Patient) -> dict[str, _Check]:
    name, namespace = patient.scheduler_name, patient.namespace
    now = datetime.now(UTC)
    checks: dict[str, _Check] = {
        "clock": lambda: check_clock(session),
        "kinds": lambda: _check_kinds(session, patient.policy),
        "rights": lambda: check_rights(
            session, patient.component, namespace=namespace, scheduler_name=name
        ),
        "webhooks": lambda: check_webhooks(session),
    }
    if patient.component == "scheduler":
        checks |= {
            "installation": lambda: check_installation(session, name, namespace),
            "leader": lambda: check_leaders(session, name, now),
            "one scheduler for a name": lambda: check_binders(session, name, now),
        }
    return checks


async def _examined(name: str, check: _Check) -> list[Diagnosis]:
    try:
        found = await check()
    except UnreachableError:
        raise
    except RefusedError as problem:
        cure = "run it as a user who may, such as an administrator"
        said = f"cannot be checked: {problem}"
        return [Diagnosis(check=name, level="note", found=said, cure=cure)]
    except ClusterError as problem:
        return [Diagnosis(check=name, level="warning", found=f"cannot be checked: {problem}")]
    return found if isinstance(found, list) else [found]


async def _check_kinds(session: Session, policy: PolicyName) -> Diagnosis:
    """Look whether the API server serves what decisions rest on."""
    wanted = kinds_to_watch(policy)
    served = await find_resources(session, wanted)
    missing = missing_kinds(policy, frozenset(served))
    if not missing:
        said = f"all that {policy} needs are served"
        return Diagnosis(check="kinds", level="ok", found=said)
    return Diagnosis(
        check="kinds",
        level="error",
        found=f"the API server does not serve {', '.join(sorted(missing))}",
        cure="create their definitions: kubectl create -k deploy/crds"
        if policy in LIVE_POLICIES
        else "install the definitions of the scheduler whose objects they are, or name its rules "
        "with --policy",
    )
