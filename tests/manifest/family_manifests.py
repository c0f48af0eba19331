"""Manifests of each family with nearly every field that is read, to be mutated and shuffled."""

from typing import Any

import yaml

CORE = """
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {zone: a, nvidia.com/gpu.memory: "81559"}}
spec: {unschedulable: false, taints: [{key: gpu, value: yes-please, effect: NoSchedule}]}
status:
  capacity: {cpu: "64", memory: 256Gi, nvidia.com/gpu: "8", pods: "110"}
  allocatable: {cpu: 63500m, memory: 250Gi, nvidia.com/gpu: "8", pods: "110"}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Node
metadata: {name: node-2}
status: {capacity: {cpu: 32, memory: 128Gi}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {color: red}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
globalDefault: true
preemptionPolicy: Never
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep, namespace: team-a}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}]}
status: {disruptionsAllowed: 1, disruptedPods: {web-0: "2026-01-01T00:00:00Z"}}
"""

OWNERS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: pages, namespace: team-a, uid: d-1, labels: {kai.scheduler/queue: team-a}}
spec:
  replicas: 2
  selector: {matchLabels: {app: pages}, matchExpressions: [{key: app, operator: Exists}]}
  template:
    metadata: {labels: {app: pages}, annotations: {gpu-fraction: "0.5"}}
    spec: {schedulerName: kai-scheduler, containers: [{name: c, resources: {requests: {cpu: 1}}}]}
status: {replicas: 0, readyReplicas: 0}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: work
  namespace: team-a
  annotations: {kai.scheduler/batch-min-member: "2"}
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, controller: true}]
spec:
  parallelism: 2
  completions: 3
  completionMode: Indexed
  suspend: false
  template: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}
status: {active: 0, succeeded: 1, conditions: [{type: Failed, status: "False"}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: team-a}
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: {containers: [{name: c}]}}}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: team-b}
spec:
  ordinals: {start: 1}
  template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: team-a, labels: {kai.scheduler/queue: team-a}}
spec:
  runPolicy: {suspend: false, schedulingPolicy: {minAvailable: 2, priorityClass: high}}
  elasticPolicy: {minReplicas: 1}
  pytorchReplicaSpecs:
    Master: {template: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}}
    Worker: {replicas: 2, template: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}}
status: {replicaStatuses: {Worker: {active: 0}}}
---
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: team-a}
spec:
  headGroupSpec: {template: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}}
  workerGroupSpecs:
  - groupName: big
    replicas: 2
    minReplicas: 1
    numOfHosts: 2
    template: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: set, namespace: team-a}
spec:
  startupPolicy: {startupPolicyOrder: InOrder}
  replicatedJobs:
  - name: lead
    replicas: 1
    template: {spec: {template: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, namespace: team-a}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}
"""

PODS = """
apiVersion: v1
kind: Pod
metadata:
  name: one
  namespace: team-a
  labels: {app: web, scheduling.x-k8s.io/pod-group: gang, kai.scheduler/queue: team-a}
  annotations: {pod-group-name: gang}
  creationTimestamp: "2026-01-01T00:00:00Z"
  uid: 4b1f
  resourceVersion: "71"
  generation: 1
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: web, uid: 8a2c, controller: true}]
spec:
  schedulerName: kai-scheduler
  priorityClassName: high
  nodeName: node-1
  nodeSelector: {zone: a}
  hostNetwork: true
  overhead: {cpu: 10m}
  resources: {requests: {cpu: 2}, limits: {memory: 3Gi}}
  initContainers:
  - {name: side, restartPolicy: Always, resources: {requests: {cpu: 100m}}}
  - {name: init, resources: {limits: {memory: 1Gi}}}
  containers:
  - name: main
    ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]
    resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {nvidia.com/gpu: 1}}
  tolerations: [{key: gpu, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: zone, operator: In, values: [a, b]}]
          matchFields: [{key: metadata.name, operator: In, values: [node-1]}]
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
status: {phase: Running, startTime: "2026-01-01T00:00:09Z"}
---
apiVersion: v1
kind: Pod
metadata:
  name: two
  namespace: team-a
  labels: {scheduling.x-k8s.io/pod-group: gang, kai.scheduler/queue: team-a}
  annotations: {pod-group-name: gang, gpu-fraction: "0.5"}
  deletionTimestamp: "2026-01-02T00:00:00Z"
spec:
  schedulerName: kai-scheduler
  nodeName: node-2
  preemptionPolicy: Never
  containers: [{name: main, resources: {requests: {cpu: 1, memory: 1Gi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: three, namespace: team-b, labels: {kai.scheduler/queue: team-b}}
spec:
  schedulerName: kai-scheduler
  priority: 5
  schedulingGates: [{name: example.com/wait}]
  containers: [{name: main, resources: {requests: {cpu: 1}}}]
status: {phase: Pending, nominatedNodeName: node-2}
"""

ELASTIC = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: quota, namespace: team-a}
spec: {min: {cpu: 4, memory: 4Gi}, max: {cpu: 6, memory: 8Gi, nvidia.com/gpu: 2}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: quota, namespace: team-b, labels: {quota.scheduling.koordinator.sh/parent: root}}
spec: {min: {cpu: 40, pods: 5}}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: gang, namespace: team-a}
spec: {minMember: 2, minResources: {cpu: 2}, scheduleTimeoutSeconds: 10}
status: {phase: Scheduling, scheduleStartTime: "2026-01-01T00:00:00Z"}
---
apiVersion: fairlead/v1
kind: Settings
spec:
  elasticQuota:
    crossNodePreemption: false
    protectMin: true
    nodeScoring: MostAllocated
    schedulerNames: [default-scheduler, kai-scheduler]
    pluginQuirks: {maxCoreZero: true}
"""

KAI = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: top, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  displayName: Everything
  priority: 100
  preemptMinRuntime: 10m
  resources:
    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    memory: {quota: -1, limit: -1, overQuotaWeight: 1}
    gpu: {quota: 4, limit: -1, overQuotaWeight: 1}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team-a}
spec:
  parentQueue: top
  reclaimMinRuntime: 1h
  resources:
    cpu: {quota: 1000, limit: 8000, overQuotaWeight: 2}
    memory: {quota: 1000, limit: 16000, overQuotaWeight: 2.5}
    gpu: {quota: 0.5, limit: 8, overQuotaWeight: 3}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team-b}
spec: {parentQueue: top, resources: {gpu: {quota: 1, overQuotaWeight: 1, limit: 2}}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: gang, namespace: team-a, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  queue: team-a
  minMember: 2
  priorityClassName: train
  preemptibility: preemptible
  subGroups: [{name: workers}, {name: leaders, minMember: 2, parent: workers}]
---
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec:
  placementStrategy: {gpu: binpack, cpu: spread}
  queueDepthPerAction: {reclaim: 10}
  minRuntime: {preemptMinRuntime: 5m, reclaimMinRuntime: 10m}
  kValue: 0.5
  usageDBConfig:
    clientType: prometheus
    connectionString: http://prometheus.example.com
    usageParams: {halfLifePeriod: 10m, windowSize: 1w, windowType: sliding}
  plugins: {minruntime: {enabled: true, arguments: {reclaimResolveMethod: lca}}}
  actions: {reclaim: {enabled: true, priority: 300}}
---
apiVersion: kai.scheduler/v1
kind: Config
metadata: {name: kai-config}
spec:
  namespace: kai
  prometheus: {enabled: true, externalPrometheusUrl: "http://prometheus.example.com"}
---
apiVersion: fairlead/v1
kind: Settings
spec:
  usage:
    k: 3
    window: {type: cron, cron: "0 0 * * 1", timeZone: Europe/Berlin}
    halfLife: 2d
    resolution: 1m
    charge: over-quota
    onStale: decay
    staleness: 5m
    store: {path: usage.db, keepRaw: 2w}
---
{totalResource: {GPU: 10, CPU: 4000}, queues: [{uid: sim, name: Sim, priority: 100,
  resourceShare: {gpu: {deserved: 1, request: 5, overQuotaWeight: 1, usage: 0.25}}}]}
"""

KUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: root}
spec: {fairSharing: {weight: "2"}}
---
apiVersion: kueue.x-k8s.io/v1alpha1
kind: Cohort
metadata: {name: research}
spec:
  parentName: root
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4, borrowingLimit: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  cohortName: research
  namespaceSelector: {matchLabels: {color: red}}
  queueingStrategy: StrictFIFO
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: any
      resources:
      - {name: cpu, nominalQuota: 4, borrowingLimit: 2, lendingLimit: 1}
      - {name: memory, nominalQuota: 4Gi}
  flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: MayStopSearch}
  preemption:
    reclaimWithinCohort: Any
    borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}
    withinClusterQueue: LowerPriority
  stopPolicy: None
  fairSharing: {weight: 500m}
  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: alone}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
spec:
  nodeLabels: {zone: a}
  nodeTaints: [{key: gpu, value: "1", effect: NoSchedule}]
  tolerations: [{key: gpu, operator: Exists}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: door, namespace: team-a}
spec: {clusterQueue: vision, stopPolicy: Hold, fairSharing: {weight: "1"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 50
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: job-1, namespace: team-a, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  queueName: door
  active: true
  priority: 5
  priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: urgent}
  maximumExecutionTimeSeconds: 60
  podSets:
  - name: main
    count: 3
    minCount: 2
    template:
      metadata: {labels: {app: job}}
      spec:
        containers: [{name: main, resources: {requests: {cpu: 1, memory: 1Gi}}}]
        tolerations: [{operator: Exists}]
status:
  admission:
    clusterQueue: vision
    podSetAssignments:
    - {name: main, count: 3, flavors: {cpu: any, memory: any}, resourceUsage: {cpu: 3, memory: 3Gi}}
  conditions:
  - {type: QuotaReserved, status: "True", lastTransitionTime: "2026-01-01T00:01:00Z"}
  - {type: Admitted, status: "True", lastTransitionTime: "2026-01-01T00:01:00Z"}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata: {name: job-2, namespace: team-a}
spec:
  queueName: door
  podSets:
  - {name: main, count: 1, template: {spec: {containers: [{name: main}]}}}
---
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 1h, usageSamplingInterval: 5m, resourceWeights: {cpu: 2}}
"""


def objects(*texts: str) -> list[Any]:
    """Return fresh plain values, one per document."""
    return [document for text in texts for document in yaml.safe_load_all(text)]
