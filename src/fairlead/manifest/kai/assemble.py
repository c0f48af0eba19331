"""From all objects of KAI in one input to a cluster state, with advice about them."""

from collections.abc import Sequence

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.assembly_rules import OF_FILES, AssemblyRules
from fairlead.manifest.collection import Collection
from fairlead.manifest.core.tree_checks import orphans
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assemble_advice import advise_on_queues
from fairlead.manifest.kai.assemble_jobs import Job, warn_of_empty_group
from fairlead.manifest.kai.assemble_usage import advise_on_k
from fairlead.manifest.kai.family import KaiFamily
from fairlead.manifest.kai.quota_axes import KAI_AXES
from fairlead.manifest.objects import KaiPodGroupObject, KaiQueueObject, NodeObject
from fairlead.manifest.text.path import quote
from fairlead.manifest.translate.take_all import take_all
from fairlead.manifest.translate.translator import Translator


def assemble_kai(
    objects: Collection, findings: Findings, rules: AssemblyRules = OF_FILES
) -> Assembled | None:
    """Return the state that the objects describe, or None if any finding of the run is an error.

    Objects may be listed in any order. Cost: about one look at every object, and sorting.
    """
    translator = Translator("kai", rules)
    take_all(translator, objects, findings)
    translator.settle(findings)
    family = translator.family
    assert isinstance(family, KaiFamily), family
    found = [unit.found for unit in translator.units.values()]
    others = sorted(name for each in found for name in each.in_other_pools)
    nodes = list(translator.mirror.of(NodeObject).values())
    family.pool.tell_left_out(nodes, others, findings)
    jobs = sorted((job for each in found for job in each.parts), key=lambda each: each.name)
    _check_queues_of_jobs(jobs, _with_parents(translator), findings)
    _warn_of_empty_groups(translator, findings)
    if findings.has_errors:
        return None
    state = translator.state
    for event in family.demands().events(state.resources):
        state.apply(event)
    total = state.total()
    advise_on_queues(family.tree, total if state.nodes else None, findings)
    advise_on_k(family.usage_settings, family.tree, total[KAI_AXES.index("gpu")], findings)
    return Assembled(state=state, settings=translator.settings)


def _warn_of_empty_groups(translator: Translator, findings: Findings) -> None:
    for _, unit in sorted(translator.units.items()):
        if isinstance(unit.head, KaiPodGroupObject) and not unit.pods:
            warn_of_empty_group(unit.head, findings)


def _with_parents(translator: Translator) -> list[KaiQueueObject]:
    """Return the queues of the tree, and those of cycles, which are told of already."""
    queues = list(translator.mirror.of(KaiQueueObject).values())
    lost = {queue.name for line in orphans(queues) for queue in line}
    return [queue for queue in queues if queue.name not in lost]


def _check_queues_of_jobs(
    jobs: Sequence[Job], queues: Sequence[KaiQueueObject], findings: Findings
) -> None:
    """Warn about jobs that wait for ever: KAI runs nothing outside the leaves of the tree."""
    names = {queue.name for queue in queues}
    inner = {queue.parent for queue in queues}
    for job in jobs:
        if job.is_group_missing:
            continue  # that is told already
        if job.queue not in names:
            message = f"{_found_queue(job)}, which is not in the tree" if job.queue else ""
            message = f"{message or 'found no queue'}; the job waits until there is one"
            fix = "name a queue, or add it with all queues above it"
            if not job.queue:
                fix = (
                    "name one here, or in a label of the PodGroup; labels of its pods do not count"
                )
            job.source.report(
                findings, "warning", "missing-reference", job.queue_path, message, fix
            )
        elif job.queue in inner:
            message = f"{_found_queue(job)}, which has queues below it; only leaves run jobs"
            fix = "name one of the queues below it"
            job.source.report(findings, "warning", "unusable", job.queue_path, message, fix)


def _found_queue(job: Job) -> str:
    if job.is_queue_named:
        return f"found the queue {quote(job.queue)}"
    label = str(job.queue_path[-1])
    is_there = label in job.pods[0].labels
    found = f"found the label {label} without a value" if is_there else f"found no label {label}"
    return f"{found}, so that the queue is {quote(job.queue)}"
