"""Checks who serves the name of the scheduler: no process, one installation, or several."""

from datetime import UTC, datetime
from typing import Any, Final

from fairlead.cluster.kubernetes.acting.requests import TERM
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.doctor.diagnosis import Diagnosis
from fairlead.cluster.kubernetes.doctor.objects import (
    DEPLOYMENTS,
    FENCES,
    LEASES,
    PODS,
    find,
    find_all,
)

_ALIVE_S: Final = 60.0


async def check_leaders(session: Session, scheduler_name: str, now: datetime) -> Diagnosis:
    """Look for the Leases of the scheduler, of which one at most may be held."""
    held = [
        f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        for each in await find_all(session, LEASES)
        if each["metadata"]["name"] == scheduler_name and _is_held(each, now)
    ]
    if len(held) > 1:
        return Diagnosis(
            check="leader",
            level="error",
            found=f"several installations serve the name {scheduler_name}: the Leases "
            f"{', '.join(sorted(held))} are held",
            cure="remove all installations but one, or give each its --scheduler-name",
        )
    if held:
        return Diagnosis(check="leader", level="ok", found=f"the Lease {held[0]} is held")
    return Diagnosis(
        check="leader",
        level="note",
        found=f"no replica of Fairlead leads for the name {scheduler_name}",
        cure="none if it is not installed yet; else see its log",
    )


async def check_binders(session: Session, scheduler_name: str, now: datetime) -> Diagnosis:
    """Look for pods that another scheduler has bound while a replica of ours led."""
    leases = [
        each
        for each in await find_all(session, LEASES)
        if each["metadata"]["name"] == scheduler_name and _is_held(each, now)
    ]
    check = "one scheduler for a name"
    if not leases:
        return Diagnosis(check=check, level="note", found="cannot be seen while no replica leads")
    since = min(filter(None, (_moment(each["spec"].get("acquireTime")) for each in leases)))
    others = sorted(
        f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        for each in await find_all(session, PODS)
        if each["spec"].get("schedulerName") == scheduler_name and _is_bound_by_other(each, since)
    )
    if not others:
        said = f"Fairlead alone binds pods of {scheduler_name}"
        return Diagnosis(check=check, level="ok", found=said)
    return Diagnosis(
        check=check,
        level="error",
        found=f"another scheduler has bound {len(others)} pods of {scheduler_name}, such as "
        f"{others[0]}",
        cure="stop the other scheduler, or let it serve another name: two that share a name "
        "overcommit nodes",
    )


async def check_installation(
    session: Session, scheduler_name: str, namespace: str
) -> list[Diagnosis]:
    """Look at the Deployment and at the fence."""
    prefix = "fairlead" if scheduler_name == "fairlead" else f"fairlead-{scheduler_name}"
    deployment = await find(session, DEPLOYMENTS, f"{prefix}-scheduler", namespace)
    if deployment is None:
        said = f"not in the namespace {namespace}"
        return [Diagnosis(check="installation", level="note", found=said)]
    ready = deployment.get("status", {}).get("readyReplicas", 0)
    wanted = deployment["spec"].get("replicas", 1)
    found = [
        Diagnosis(
            check="installation",
            level="ok" if ready >= wanted else "error" if not ready else "warning",
            found=f"{ready} of {wanted} replicas are ready",
            cure=""
            if ready >= wanted
            else f"kubectl -n {namespace} describe deployment {prefix}-scheduler",
        )
    ]
    if await find(session, FENCES, f"{prefix}-fence") is None:
        found.append(
            Diagnosis(
                check="fence",
                level="warning",
                found="not installed: a leader that was paused may place a pod where there is no "
                "room any more",
                cure="apply what fairlead deploy prints again, without --no-fence",
            )
        )
    else:
        found.append(Diagnosis(check="fence", level="ok", found="installed"))
    return found


def _is_held(lease: Any, now: datetime) -> bool:
    spec = lease.get("spec") or {}
    renewed = _moment(spec.get("renewTime"))
    is_alive = renewed is not None and (now - renewed).total_seconds() < _ALIVE_S
    return bool(spec.get("holderIdentity")) and is_alive


def _is_bound_by_other(pod: Any, since: datetime) -> bool:
    if TERM in (pod["metadata"].get("annotations") or {}):
        return False
    for each in pod.get("status", {}).get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("status") == "True":
            bound = _moment(each.get("lastTransitionTime"))
            # Conditions have whole seconds; what the leader itself has bound names its term.
            return bound is not None and bound >= since.replace(microsecond=0)
    return False


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except ValueError:
        return None
