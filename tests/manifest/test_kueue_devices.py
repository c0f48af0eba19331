"""Devices without quota are reported: a Workload that claims them may not start in truth."""

import pytest

from fairlead.manifest.finding import Findings
from tests.manifest.test_assemble_kueue import assemble, documents_of, workload
from tests.manifest.test_kueue_requests import DEVICES, MAPPED, QUEUES, configuration

ALL_MAPPED = MAPPED.replace("[big.example]", "[big.example, other.example]")
CLAIM = "{spec: {resourceClaims: [{name: d, resourceClaimTemplateName: two}], "
ANY_NUMBER = DEVICES.replace("count: 2", "allocationMode: All").replace(
    "deviceClassName: other.example", "deviceClassName: other.example, allocationMode: All"
)


def claiming(name: str, admitted: str = "") -> str:
    return workload(name, admitted=admitted).replace("{spec: {", CLAIM, 1)


CASES: dict[str, tuple[tuple[str, ...], bool]] = {
    "all classes have a resource": ((configuration(ALL_MAPPED), DEVICES, claiming("w")), False),
    "a class has none": ((configuration(MAPPED), DEVICES, claiming("w")), True),
    "no class has one": ((DEVICES, claiming("w")), True),
    "the template is not there": ((configuration(ALL_MAPPED), claiming("w")), True),
    "a claim is named directly": (
        (
            configuration(ALL_MAPPED),
            DEVICES,
            claiming("w").replace("resourceClaimTemplateName", "resourceClaimName"),
        ),
        True,
    ),
    "no number is asked for": ((configuration(ALL_MAPPED), ANY_NUMBER, claiming("w")), True),
    "it is charged already": ((DEVICES, claiming("w", admitted="a f")), False),
    "nothing is claimed": ((DEVICES, workload("w")), False),
}


def told(*texts: str) -> list[str]:
    findings = Findings()
    assemble(documents_of(*QUEUES, *texts), findings)
    return [each.message for each in findings if "devices" in each.message]


@pytest.mark.parametrize(("texts", "is_told"), CASES.values(), ids=CASES)
def test_one_workload(texts: tuple[str, ...], is_told: bool) -> None:
    assert len(told(*texts)) == is_told


def test_many_workloads_are_one_remark() -> None:
    (message,) = told(*(claiming(name) for name in "lkjihgfedcba"))
    assert message.startswith("12 Workload (team/a, team/b, ")
    assert "team/j, 2 more): found claims" in message
