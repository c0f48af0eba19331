"""Who is on a node, whether or not it has its place there.

A pod that was displaced may have a place elsewhere by now. Until it has left it is there all the
same, with the ports that it opens and the labels that others look for.
"""

from collections.abc import Iterator

from fairlead.model.node_books import PodKey
from fairlead.model.state import ClusterState


def pods_on_node(state: ClusterState, node: str) -> Iterator[tuple[PodKey, bool]]:
    """Yield each pod of ours on *node* once, and whether it is on its way out.

    Who has a reservation is there already. Cost: one look at each pod.
    """
    use, runs = state.books.use(node), state.runs
    for key in use.pods:
        name, pod = key
        yield key, runs[name].pods[pod].phase == "leaving"
    for key in use.departing:
        yield key, True
