"""Kubernetes' own objects count once, whatever the rule set."""

import io
import json

import pytest

from fairlead.manifest.load import load
from fairlead.manifest.registry import BUNDLES
from tests.manifest.family_manifests import CORE, ELASTIC, KAI, KUEUE, PODS, objects

QUEUES = {"kai": KAI, "kueue": KUEUE, "elastic-quota": ELASTIC}


@pytest.mark.parametrize("policy", BUNDLES)
@pytest.mark.parametrize(
    "kind", ["Node", "Pod", "Namespace", "PriorityClass", "PodDisruptionBudget"]
)
def test_a_core_object_that_is_there_twice_is_refused(policy: str, kind: str) -> None:
    own = objects(CORE, PODS, QUEUES[policy])
    own.append(next(each for each in own if each.get("kind") == kind))
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": own}).encode()
    result = load(["-"], stdin=io.BytesIO(content))
    errors = [each for each in result.findings if each.severity == "error"]
    assert [each.code for each in errors] == ["duplicate-object"]
    assert errors[0].message.startswith(f"found the {kind} ")
