"""One piece of work as it comes to a simulated cluster, whatever rules it will meet.

It says what a scheduler may know (its queue, its requests, its time of submission) and what only a
simulator knows: how long it would run. `WorkloadMaker` makes it a workload of one rule set.
"""

import msgspec


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that start together, run for a time, and are done.

    The work in a job is ``pods`` times ``run_ms``: with half of its pods an elastic job takes twice
    as long, and with fewer than ``min_pods`` it makes no progress at all. ``requests`` are in base
    units, by the name of the resource, for each pod alike.
    """

    name: str
    queue: str
    user: str = ""
    kind: str = ""  # which source of work it came from; there are measures for each kind
    submit_ms: int
    run_ms: int | None  # with all of its pods; None: for ever
    pods: int = 1
    min_pods: int = 1  # as many as pods: a gang; fewer: elastic
    requests: dict[str, int]
    priority: int = 0
    preemptible: bool = True
    checkpoint_ms: int | None = None  # between two of them with all pods; None: never, 0: always
    asked_ms: int | None = None  # the run time that its owner asked for, where one did
    node_labels: dict[str, str] = {}  # which nodes it may run on: those with all of these
