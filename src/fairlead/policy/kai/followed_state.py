"""What is kept of a state from cycle to cycle, and brought up to date where the state changed."""

from fairlead.model.state import ClusterState
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from fairlead.policy.kai.followed_shares import FollowedShares
from fairlead.policy.kai.settings import KaiSettings


class FollowedState:
    """The nodes by their room and the shares of the queues, through all changes of one state."""

    def __init__(self, state: ClusterState, settings: KaiSettings) -> None:
        """Follow *state* for cycles with *settings*."""
        self.finder = _node_finder(state, settings)
        self.shares = FollowedShares(state, settings.k)


def _node_finder(state: ClusterState, settings: KaiSettings) -> NodeFinder:
    """Return what finds nodes in *state* as *settings* say, through all its changes."""
    index = NodeIndex(
        state,
        spread_gpus=settings.gpu_placement == "spread",
        spread_cpus=settings.cpu_placement == "spread",
    )
    on_devices = settings.device_placement or settings.gpu_placement
    rule = DeviceRule(spread=on_devices == "spread", wait_to_pack=settings.faithful)
    return NodeFinder(state, index, rule)
