"""What is said about a KAI job whose queue cannot run it, and where that queue is named."""

import pytest

from tests.manifest.kai_world import GROUP, member, pod, queue, stream, told

LABEL = '$.metadata.labels["kai.scheduler/queue"]'
OLD_LABEL = '$.metadata.labels["runai/queue"]'

UNLABELLED = pod("x", metadata="labels: {}")
LABELLED = "metadata: {name: g, namespace: ns, labels: {runai/queue: gone}}"

SCENARIOS = {
    "a label that names no queue": (
        [queue("a"), pod("x", metadata="labels: {kai.scheduler/queue: gone}")],
        LABEL,
        'found the queue "gone", which is not in the tree; the job waits until there is one',
    ),
    "no label at all": (
        [queue("a"), UNLABELLED],
        LABEL,
        (
            'found no label kai.scheduler/queue, so that the queue is "default-queue", '
            "which is not in the tree; the job waits until there is one"
        ),
    ),
    "a label without a value": (
        [queue("a"), pod("x", metadata="labels: {kai.scheduler/queue: ''}")],
        LABEL,
        (
            "found the label kai.scheduler/queue without a value, so that the queue is "
            '"default-queue", which is not in the tree; the job waits until there is one'
        ),
    ),
    "no label, and the default queue has queues below it": (
        [queue("default-queue"), queue("a", "default-queue"), UNLABELLED],
        LABEL,
        (
            'found no label kai.scheduler/queue, so that the queue is "default-queue", '
            "which has queues below it; only leaves run jobs"
        ),
    ),
    "an empty label beside the old one": (
        [queue("a"), pod("x", metadata="labels: {kai.scheduler/queue: '', runai/queue: gone}")],
        OLD_LABEL,
        'found the queue "gone", which is not in the tree; the job waits until there is one',
    ),
    "a group that names its queue in a label": (
        [
            queue("a"),
            GROUP.replace("metadata: {name: g, namespace: ns}", LABELLED).replace("queue: a, ", ""),
            member("x"),
        ],
        OLD_LABEL,
        'found the queue "gone", which is not in the tree; the job waits until there is one',
    ),
    "a group without a queue": (
        [queue("a"), GROUP.replace("queue: a, ", ""), member("x")],
        "$.spec.queue",
        "found no queue; the job waits until there is one",
    ),
}


@pytest.mark.parametrize(("objects", "path", "message"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_what_is_said_of_a_queue_that_runs_nothing(
    objects: list[str], path: str, message: str
) -> None:
    (finding,) = [each for each in told(stream(*objects)) if each.severity == "warning"]
    assert (finding.path, finding.message) == (path, message)


def test_a_group_without_a_queue_learns_where_to_name_one() -> None:
    labelled = member("x", more="labels: {kai.scheduler/queue: a}")
    (finding,) = told(stream(queue("a"), GROUP.replace("queue: a, ", ""), labelled))
    assert finding.message == "found no queue; the job waits until there is one"
    assert finding.fix == (
        "name one here, or in a label of the PodGroup; labels of its pods do not count"
    )
