"""Plan after plan for one small world, until nothing happens any more or all begins again."""

from collections.abc import Hashable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadStopped
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.execution.executor import apply
from fairlead.model.plan import Decision, Evict, Plan, Reason, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.policy.changes import changes_of
from tests.policy.kueue.loops.small_world import SmallWorld
from tests.policy.kueue.plan_world import NOW_MS, add, memory_of

AssignmentMode: TypeAlias = Literal["faithful", "own", "no-loops"]
FAITHFUL: Final[AssignmentMode] = "faithful"  # as Kueue decides
OWN: Final[AssignmentMode] = "own"  # the room is kept, and nothing else
NO_LOOPS: Final[AssignmentMode] = "no-loops"  # with the option against loops
MODES: Final[tuple[AssignmentMode, ...]] = (FAITHFUL, OWN, NO_LOOPS)
MOST_PLANS: Final = 200
_NOT_TOLD: Final = Reason(code="NotTold")


class Course(NamedTuple):
    """What was decided, plan by plan; the last plan of one that came to rest is empty."""

    plans: list[list[Decision]]
    loops_from: int | None  # the plan that would come next again; None: it came to rest
    state: ClusterState
    anybody_left: list[bool]  # after each plan

    def evictions(self) -> list[Evict]:
        """Return all of them, in their order."""
        return [each for plan in self.plans for each in plan if isinstance(each, Evict)]

    def loop(self) -> list[list[Decision]]:
        """Return the plans that are repeated for ever."""
        return [] if self.loops_from is None else self.plans[self.loops_from :]

    def needs_a_nudge(self) -> bool:
        """Return whether it loops only because plans look at everybody again, whatever happened.

        Kueue does so when somebody has left. In such a loop somebody is evicted although since the
        plan before has none.
        """
        left = self.anybody_left[len(self.plans) - len(self.loop()) :]
        before = [*left[-1:], *left[:-1]]  # what comes before the first plan is the last one
        return any(
            not has_left and any(isinstance(each, Evict) for each in plan)
            for has_left, plan in zip(before, self.loop(), strict=True)
        )


def settings_in(mode: AssignmentMode, settings: KueueSettings) -> KueueSettings:
    """Return *settings* in that mode; only if loops are prevented its other options are on.

    No workload cools down: within the half hour that would hide every loop.
    """
    options = KueueOptions(preemption_cooldown_ms=0)
    if mode == NO_LOOPS:
        options = replace(settings.options, no_preemption_loops=True, preemption_cooldown_ms=0)
    return replace(settings, options=options, faithful=mode == FAITHFUL)


def follow(world: SmallWorld, mode: AssignmentMode) -> Course:
    """Return the course of *world*, which is the same each time.

    It loops if all that a plan looks at is as it was before some earlier plan.
    """
    settings = settings_in(mode, world.settings)
    policy, state = KueuePolicy(settings), world.state()
    lingering, last_arrival = world.lingering(), world.last_arrival()
    stays: dict[WorkloadName, int] = {}  # who was evicted, and for how many plans it stays
    plans: list[list[Decision]] = []
    anybody_left: list[bool] = []
    seen: dict[Hashable, int] = {}
    for number in range(MOST_PLANS):
        for row in world.arriving(number) if 0 < number <= last_arrival else ():
            add(state, row, world.groups)
        share_order = _share_order(state, settings, stays)
        if share_order in seen:
            return Course(plans, seen[share_order], state, anybody_left)
        if number >= last_arrival:
            seen[share_order] = number
        now_ms = NOW_MS + number
        decisions = changes_of(policy, state, now_ms)
        plans.append(decisions)
        if not decisions and not stays and number >= last_arrival:
            return Course(plans, None, state, anybody_left)
        complete = [*decisions, *_waits(state, decisions)]
        if lingering:
            has_left = _carry_out_slowly(state, complete, now_ms, stays, lingering)
        else:
            has_left = carry_out(state, complete, now_ms, keeps_reservations=False)
        anybody_left.append(has_left)
    raise AssertionError(f"neither rest nor loop after {MOST_PLANS} plans:\n{world.told()}")


def _waits(state: ClusterState, decisions: Sequence[Decision]) -> list[Decision]:
    """Return that those wait of whom nothing was decided: they have no promise any more."""
    decided = {each.workload for each in decisions}
    return [
        Wait(workload=name, reason=_NOT_TOLD) for name in state.workloads if name not in decided
    ]


def _share_order(
    state: ClusterState, settings: KueueSettings, stays: dict[WorkloadName, int]
) -> Hashable:
    """Return all that decides what happens next.

    Who has quota, of which flavors and for which pods, in which order they got it, who is leaving,
    and what is remembered and counts.
    """
    since = {name: run.started_ms() or 0 for name, run in state.runs.items()}
    order = sorted(set(since.values()))
    remembered = []
    for name in sorted(state.workloads):
        extension = state.workloads[name].extension
        memory = replace(memory_of(state, name), preempted_ms=None)  # matters to who cools down
        if not settings.options.ends_loops:
            memory = replace(memory, gave_way=())
        if not settings.keeps_promises:
            memory = replace(memory, promise=None)
        known = (extension, memory)
        remembered.append((name, msgspec.json.encode(known, order="deterministic")))
    admitted = []
    for name in sorted(state.runs):
        run = state.runs[name]
        flavors = tuple(tuple(each.items()) for each in run.flavors)
        held = (flavors, tuple(run.pods))
        admitted.append((name, order.index(since[name]), stays.get(name), held))
    return tuple(admitted), tuple(remembered)


def _carry_out_slowly(
    state: ClusterState,
    decisions: Sequence[Decision],
    now_ms: int,
    stays: dict[WorkloadName, int],
    lingering: dict[str, int],
) -> bool:
    """Change *state* as `carry_out` does, but for those who take their time to leave."""
    apply(state, Plan(taken_ms=now_ms, decisions=tuple(decisions)))
    for each in decisions:
        if isinstance(each, Evict):
            stays[each.workload] = lingering.get(each.workload, 0)
    has_left = False
    for name, plans in list(stays.items()):
        if plans > 0:
            stays[name] = plans - 1
        else:
            has_left = True
            del stays[name]
            state.apply(WorkloadStopped(workload=name, pods=tuple(state.runs[name].pods)))
    return has_left
