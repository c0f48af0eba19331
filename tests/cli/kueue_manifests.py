"""Small inputs of Kueue for tests of the command line: amounts of one resource, whole cores."""

FLAVOR = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: {name}}}
spec: {{nodeLabels: {{kind: {name}}}}}
"""

QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  {cohort}
  {more}
  resourceGroups: [{{coveredResources: [cpu], flavors: [{flavors}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{namespace: team, name: {name}-jobs}}
spec: {{clusterQueue: {name}}}
"""

WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{namespace: team, name: {name}, creationTimestamp: "2026-11-16T08:{minute:02}:00Z"}}
spec:
  queueName: {queue}-jobs
  priority: {priority}
  {more}
  podSets:
    - name: main
      count: {pods}
      {least}
      template:
        spec: {{{where} containers: [
          {{name: main, image: x, resources: {{requests: {{cpu: 1}}}}}}]}}
"""

STATUS = """
status:
  conditions:
    - {{type: QuotaReserved, status: "True", reason: QuotaReserved,
       lastTransitionTime: "2026-11-16T08:30:00Z"}}
  admission:
    clusterQueue: {queue}
    podSetAssignments: [{{name: main, count: {pods}, flavors: {{cpu: {flavor}}},
       resourceUsage: {{cpu: {pods}}}}}]
"""

FAIR = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
"""


def flavor(name: str) -> str:
    return FLAVOR.format(name=name)


def queue(name: str, cohort: str = "", more: str = "", **quotas: int) -> str:
    """Return a ClusterQueue with *quotas* by flavor, and the LocalQueue NAME-jobs for it."""
    flavors = ", ".join(
        f"{{name: {each}, resources: [{{name: cpu, nominalQuota: {amount}}}]}}"
        for each, amount in quotas.items()
    )
    belongs = f"cohortName: {cohort}" if cohort else ""
    return QUEUE.format(name=name, cohort=belongs, more=more, flavors=flavors)


def workload(
    name: str,
    queue: str,
    pods: int,
    *,
    minute: int = 0,
    priority: int = 0,
    least: int | None = None,
    more: str = "",
    where: str = "",
    has: str = "",
) -> str:
    """Return a workload of *pods* pods with one core each; *has* is the flavor that it runs on."""
    fewest = "" if least is None else f"minCount: {least}"
    text = WORKLOAD.format(
        name=name,
        queue=queue,
        pods=pods,
        minute=minute,
        priority=priority,
        least=fewest,
        more=more,
        where=where,
    )
    return text + STATUS.format(queue=queue, pods=pods, flavor=has) if has else text
