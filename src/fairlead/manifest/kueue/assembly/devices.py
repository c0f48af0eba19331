"""Devices that the pods of Workloads claim, and that no quota is charged for."""

from fairlead.manifest.core.device_claims import template_names
from fairlead.manifest.core.objects import full_name
from fairlead.manifest.core.tree_checks import MAX_SHOWN_NAMES
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assembly.queues import KueueObjects
from fairlead.manifest.kueue.objects import KueueWorkloadObject


def warn_of_uncharged_devices(objects: KueueObjects, findings: Findings) -> None:
    """Report in one remark the pending Workloads that may get devices without quota for them.

    Cost: the Workloads, and the claims of their pods.
    """
    mapped = {device_class for device_class, _ in objects.request_rules.device_resources}
    found = [
        each
        for each in objects.unfinished_workloads()
        if each.admitted_ms is None and _has_uncharged(each, objects, mapped)
    ]
    if not found:
        return
    found.sort(key=full_name)
    shown = [full_name(each) for each in found[:MAX_SHOWN_NAMES]]
    if len(found) > MAX_SHOWN_NAMES:
        shown.append(f"{len(found) - MAX_SHOWN_NAMES} more")
    found[0].source.warn(
        findings,
        "no-effect",
        ("spec", "podSets"),
        f"{len(found)} Workload ({', '.join(shown)}): found claims for devices that are charged to "
        "no quota, so it may start on devices that it would not get",
        "claim them by ResourceClaimTemplates, and add these and the Configuration with their "
        "deviceClassMappings",
    )


def _has_uncharged(workload: KueueWorkloadObject, objects: KueueObjects, mapped: set[str]) -> bool:
    """Return whether devices are claimed that Kueue cannot count.

    A template is not there, or asks for a class without resource; or a claim is named directly,
    which pods may share.
    """
    claims = [claim for pod_set in workload.pod_sets for claim in pod_set.device_claims]
    names = template_names(claims)
    if len(names) < len(claims):
        return True
    templates = [objects.device_templates.get(f"{workload.namespace}/{name}") for name in names]
    return any(
        template is None or not template.devices or not mapped.issuperset(dict(template.devices))
        for template in templates
    )
