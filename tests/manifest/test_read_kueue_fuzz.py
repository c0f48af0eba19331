"""Whatever stands in a Kueue object, it ends in findings or a sound state, never in a crash."""

from copy import deepcopy
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.path import Path
from fairlead.manifest.text.values import REFUSED, Value
from tests.manifest.test_assemble_kueue import assemble, documents_of, example
from tests.scale_examples import scale_examples

# What the example has no use for: fields without effect, what happened before, our own options.
REST = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: rest}
spec:
  admissionChecksStrategy: {admissionChecks: [{name: budget, onFlavors: [a100]}]}
  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}
  concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: rest}
spec: {topologyName: racks, resourceWeights: {cpu: 2}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: rest, namespace: vision}
spec: {clusterQueue: rest, wallTimePolicy: {wallTimeAllocatedHours: 5}}
status:
  fairSharing:
    admissionFairSharingStatus:
      consumedResources: {cpu: 2928932188n}
      lastUpdate: "2026-11-16T08:00:00Z"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: rest, namespace: vision, annotations: {kueue.x-k8s.io/priority-boost: "5"}}
spec:
  queueName: rest
  maximumExecutionTimeSeconds: 60
  preemptionGates: [{name: a}]
  podSets: [{template: {spec: {}}, topologyRequest: {preferred: rack}}]
status:
  preemptionGates: [{name: a, position: Closed}]
  requeueState: {count: 2, requeueAt: "2026-11-15T09:30:00Z"}
  conditions: [{type: QuotaReserved, status: "False", reason: WaitingForPreemptedWorkloads}]
---
apiVersion: fairlead/v1
kind: Settings
spec: {kueue: {preventPreemptionLoops: true, minRunTime: 1m, preemptionCooldown: 1h}}
"""
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: 2}}
waitForPodsReady: {blockAdmission: true, requeuingStrategy: {timestamp: Creation}}
resources: {excludeResourcePrefixes: [x], transformations: [{input: a}], quotaCheckStrategy: x}
multiKueue: {gcInterval: 1m}
featureGates: {PartialAdmission: false}
"""
EXAMPLE = [
    *(each for each in example() if each.value["kind"] != "Configuration"),
    *documents_of(REST, CONFIGURATION),
]


def places(value: Value, path: Path = ()) -> list[Path]:
    """Return the path of every value in a document, but for what says which kind it is."""
    found: list[Path] = []
    if isinstance(value, dict):
        steps: list[tuple[str | int, Value]] = list(value.items())
    elif isinstance(value, list):
        steps = list(enumerate(value))
    else:
        return found
    for key, child in steps:
        if not path and key in ("apiVersion", "kind"):
            continue
        found += [(*path, key), *places(child, (*path, key))]
    return found


PLACES = [(at, path) for at, each in enumerate(EXAMPLE) for path in places(each.value)]

junk: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "main", "vision", "institute", "a/b", "-1", "1e99", "1n", "9Ei", "True"]),
    st.text(max_size=4),
    st.just(REFUSED),
    st.sampled_from([[], {}, [None], [{}], {"name": "x"}, [[]], {"cpu": Decimal("0.1")}]),
)


def replaced(document: Document, path: Path, value: Value) -> Document:
    copy: Value = deepcopy(document.value)
    assert isinstance(copy, dict)
    at: Any = copy
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return Document(source=document.source, value=copy)


@settings(max_examples=scale_examples(150))
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), junk), min_size=1, max_size=3))
def test_junk_in_any_place_never_escapes(changes: list[tuple[tuple[int, Path], Value]]) -> None:
    """`assemble` also checks that the result is None exactly if something is an error."""
    documents, findings = list(EXAMPLE), Findings()
    changed: set[int] = set()
    for (at, path), value in changes:
        if at not in changed:  # a second change might stand below the first
            documents[at] = replaced(documents[at], path, value)
            changed.add(at)
            if value is REFUSED:  # whoever left it there has said why
                findings.add("error", "bad-number", file="kueue.yaml", message="found NaN")
    assemble(documents, findings)
