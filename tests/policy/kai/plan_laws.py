"""What must hold of every plan, checked on the state it was made for."""

from operator import add

from msgspec.structs import replace

from fairlead.model.device_share import WHOLE_DEVICE_E9
from fairlead.model.events import WorkloadReserved, WorkloadStarted
from fairlead.model.execution.executor import apply
from fairlead.model.plan import LeftPending, Plan, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.policy.kai.jobs.gang import Fullness, Gang
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.placement.reference_pod_spread import is_spread


def checked_plan(state: ClusterState, settings: KaiSettings, now_ms: int = 0) -> Plan:
    """Plan, and see that it changes nothing, is repeatable, and keeps every promise if done."""
    before = facts(state)
    plan = KaiPolicy(settings).plan(state, now_ms)
    assert facts(state) == before
    check_invariants(state)
    assert KaiPolicy(settings).plan(state, now_ms) == plan
    everybody_is_told(state, plan)
    if not settings.faithful:
        no_start_exceeds_a_skew(state, plan)
    with state.trial():
        apply(state, plan)
        check_invariants(state)
        nothing_is_overcommitted(state, plan)
        no_limit_is_exceeded(state, plan)
        no_gang_is_started_in_part(state, plan)
        no_room_is_promised_twice(state, plan)
    return plan


def everybody_is_told(state: ClusterState, plan: Plan) -> None:
    """Who waits has a decision, and nobody who has all places is told to wait."""
    placed = {
        (each.workload, place.pod)
        for each in plan.decisions
        if isinstance(each, Start | Reserve)
        for place in each.placements
    }
    told = {each.workload for each in plan.decisions if isinstance(each, LeftPending)}
    for name, workload in state.workloads.items():
        run = state.runs.get(name)
        missing = [
            pod
            for pod in workload.pods()
            if (run is None or pod not in run.pods) and (name, pod) not in placed
        ]
        free = [pod for pod in missing if not workload.pod_sets.of(pod).gated]
        if name in told:
            assert missing, f"{name} is told to wait with all of its pods placed"
        else:
            assert not free, f"{name} waits and is not told why"


def no_start_exceeds_a_skew(state: ClusterState, plan: Plan) -> None:
    """Each pod starts where its constraints on the spread hold at that moment."""
    with state.trial():
        for each in plan.decisions:
            if not isinstance(each, Start):
                apply(state, replace(plan, decisions=(each,)))
                continue
            workload = state.workloads[each.workload]
            for place in each.placements:
                at, node = workload.pod_sets.set_index[place.pod], state.nodes[str(place.node)]
                assert is_spread(state, workload, at, node, "now"), f"{place} exceeds maxSkew"
                state.apply(WorkloadStarted(workload=each.workload, placements=(place,), at_ms=0))


def nothing_is_overcommitted(state: ClusterState, plan: Plan) -> None:
    """A node that got a pod, and each of its devices, holds what runs there.

    Foreign pods may hold more than there is; then nothing is left for ours.
    """
    touched = {
        place.node
        for each in plan.decisions
        if isinstance(each, Start)
        for place in each.placements
    }
    for name in touched:
        assert name is not None
        offered = state.books.offered(state.nodes[name])
        use = state.books.use(name)
        opened = [1000 if held else 0 for held, _, _ in use.devices.values()]
        held = [*use.held[:2], use.held[2] + sum(opened)]
        assert all(h <= max(0, there) for h, there in zip(held, offered, strict=True)), name
        assert all(held <= WHOLE_DEVICE_E9 for held, _, _ in use.devices.values()), name


def no_limit_is_exceeded(state: ClusterState, plan: Plan) -> None:
    """Queues that were charged for a start stay within their ceiling where it asked for some."""
    for each in plan.decisions:
        if not isinstance(each, Start):
            continue
        sets = state.workloads[each.workload].pod_sets
        asked = [sets.of(place.pod).requests for place in each.placements]
        axes = [at for at in range(3) if any(requests[at] for requests in asked)]
        for queue in each.charged:
            ceiling, held = state.queues[queue].ceiling, state.sums[queue].allocated
            for at in axes:
                limit = ceiling[at]
                assert limit is None or held[at] <= limit, f"{queue} is over its limit"


def no_gang_is_started_in_part(state: ClusterState, plan: Plan) -> None:
    """Who starts anything has every minimum afterwards."""
    for each in plan.decisions:
        if isinstance(each, Start):
            gang = Gang(state.workloads[each.workload])
            assert gang.fullness(state.runs[each.workload]) != Fullness.BELOW, each.workload


def no_room_is_promised_twice(state: ClusterState, plan: Plan) -> None:
    """With the reservations kept and everybody gone who is leaving, the nodes hold what is left."""
    reserved = [each for each in plan.decisions if isinstance(each, Reserve)]
    for each in reserved:
        state.apply(WorkloadReserved(workload=each.workload, placements=each.placements, at_ms=0))
    check_invariants(state)
    for name in {place.node for each in reserved for place in each.placements}:
        assert name is not None
        books, use = state.books, state.books.use(name)
        free = map(add, books.offered(state.nodes[name]), books.occupied(name).leaving)
        later = [
            held - leaving + kept
            for held, leaving, kept in zip(use.held, use.leaving, use.reserved, strict=True)
        ]
        parts = [held - leaving + kept for held, leaving, kept in use.devices.values()]
        later[2] += sum(1000 for part in parts if part)
        assert all(h <= max(0, there) for h, there in zip(later, free, strict=True)), name
        assert all(part <= WHOLE_DEVICE_E9 for part in parts), name
