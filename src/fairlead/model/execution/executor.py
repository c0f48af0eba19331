"""Carries decisions out on a state, and takes in what became of each of them.

A decision is assumed to succeed as soon as it is made, so that the next plan counts on it: pods
that start are *binding*, pods that give way are *leaving*. Each pod then has an order whose outcome
is awaited. A failure undoes the assumption and is remembered for a while, so that the same is not
tried again at once. Facts of the cluster may come before an outcome, after it or in its place: what
a fact has settled, an outcome does not change any more.

The simulator, every "what if" and a live cluster carry plans out through here. What an order is on
a cluster (a Binding, an Eviction, a patch of a Workload) is the cluster's own matter, and so is how
outcomes are learnt.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, assert_never

import msgspec
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.events import (
    MemoryChanged,
    Placement,
    WorkloadBinding,
    WorkloadConfirmed,
    WorkloadLeaving,
    WorkloadStarted,
    WorkloadStays,
    WorkloadStopped,
)
from fairlead.model.execution.back_off import BackOff
from fairlead.model.execution.remember import remember_decision
from fairlead.model.holds import Holds
from fairlead.model.memory import Memory
from fairlead.model.plan import (
    Decision,
    Evict,
    LeftPending,
    Move,
    Plan,
    Reserve,
    Start,
    Unknown,
    Wait,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey

Verb: TypeAlias = Literal["bind", "evict"]


class PromisedPlace(msgspec.Struct, frozen=True):
    """A place for the next pod of a workload that is of one pod set, whichever pod that is.

    Where evicted pods come back, they come under other names as other pods.
    """

    pod_set: str
    node: str | None
    share: DeviceShare | None = None


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done with some pods of a workload; each pod has one outcome.

    To bind pods is to give them the places in ``placements``; to evict them, to take those away.
    ``promised`` is where the next pods of the workload are to start instead.
    """

    number: int  # of all orders of an executor, in their order
    verb: Verb
    decision: Start | Evict | Move
    placements: tuple[Placement, ...]
    promised: tuple[PromisedPlace, ...] = ()
    memory_before: Memory | None = None  # what was remembered of the workload
    memory_after: Memory | None = None  # and is, because of the decision
    until_ms: int  # by when an outcome is expected

    @property
    def workload(self) -> WorkloadName:
        """The workload of the pods."""
        return self.decision.workload

    def pods(self) -> tuple[PodId, ...]:
        """Return the pods that it is about."""
        return tuple([each.pod for each in self.placements])


OUTCOME_WITHIN_MS = 30_000
"""How long the outcome of an order is awaited before it is looked into."""


def apply(state: ClusterState, plan: Plan) -> None:
    """Change *state* as *plan* says, as a cluster that never fails would.

    Evicted pods are leaving; they stop when their time is up.
    """
    for decision in plan.decisions:
        apply_decision(state, decision, plan.taken_ms)
    for memory in plan.memories:
        state.apply(memory)


def apply_decision(state: ClusterState, decision: Decision, now_ms: int) -> None:
    """Change *state* as one decision of a plan of *now_ms* says, as if nothing could fail.

    Law: it is `Executor.order` with a success at once, of which the cluster shows the effect.
    """
    match decision:
        case Start():
            start(state, decision.workload, decision.placements, decision.flavors, now_ms)
        case Evict():
            state.apply(WorkloadLeaving(workload=decision.workload, pods=decision.pods))
        case Move():
            pods = tuple([origin.pod for origin in decision.origins])
            promised = promised_places(state, decision)
            flavors = state.runs[decision.workload].flavors
            state.apply(WorkloadStopped(workload=decision.workload, pods=pods))
            places = redeem(state, decision.workload, promised, pods)
            start(state, decision.workload, places, flavors, now_ms)
        case Reserve() | Wait() | Unknown():
            pass  # places are neither given nor taken
        case _:
            assert_never(decision)
    remember_decision(state, decision, now_ms)


def start(
    state: ClusterState,
    workload: WorkloadName,
    placements: tuple[Placement, ...],
    flavors: tuple[dict[str, str], ...],
    now_ms: int,
) -> None:
    """Let pods run from *now_ms* on."""
    state.apply(
        WorkloadStarted(workload=workload, placements=placements, flavors=flavors, at_ms=now_ms)
    )


def promised_places(state: ClusterState, move: Move) -> tuple[PromisedPlace, ...]:
    """Return where the next pods of a workload are to start for those that *move*."""
    pod_sets = state.workloads[move.workload].pod_sets
    return tuple(
        [
            PromisedPlace(pod_sets.of(place.pod).name, place.node, place.share)
            for place in move.placements
        ]
    )


def redeem(
    state: ClusterState,
    workload: WorkloadName,
    promised: Sequence[PromisedPlace],
    returned: Iterable[PodId] = (),
) -> tuple[Placement, ...]:
    """Return the waiting pods of *workload* with the places *promised* to its next pods.

    Of each pod set those that *returned* come first, then the others in their order. A place for
    which no pod waits is left out.
    """
    pod_sets, run = state.workloads[workload].pod_sets, state.runs.get(workload)
    placed = run.pods if run else {}
    waiting: dict[str, list[PodId]] = {}
    for pod in dict.fromkeys([*returned, *pod_sets.ids]):
        if pod not in placed and pod in pod_sets.set_index:
            waiting.setdefault(pod_sets.of(pod).name, []).append(pod)
    found = []
    for place in promised:
        pods = waiting.get(place.pod_set)
        if pods:
            found.append(Placement(pods.pop(0), place.node, place.share))
    return tuple(found)


class Executor:
    """Gives out orders for decisions about one state, and takes in their outcomes."""

    def __init__(self, state: ClusterState, *, patience_ms: int = OUTCOME_WITHIN_MS) -> None:
        """Begin without orders; after *patience_ms* a missing outcome is to be looked into."""
        self._state = state
        self._patience_ms = patience_ms
        self._back_off = BackOff()
        self._awaited: dict[PodKey, Order] = {}  # of each pod the last order about it
        self._undone: dict[int, frozenset[PodId]] = {}  # of orders that failed for some pods
        self._given = 0

    def move_to(self, state: ClusterState) -> None:
        """Go on with another *state* of the same cluster, to which `carry_over` carried the former.

        Orders whose outcome is awaited, and pauses after failures, stay as they are.
        """
        self._state = state

    def order(self, decision: Decision, now_ms: int) -> Order | None:
        """Assume that *decision* succeeds; return what the cluster is to do for it, if anything."""
        if isinstance(decision, Reserve | LeftPending):
            remember_decision(self._state, decision, now_ms)
            return None
        order = self._assume(self._new(decision, now_ms), now_ms)
        for pod in order.pods():
            self._awaited[order.workload, pod] = order
        return order

    def succeeded(self, order: Order, pods: Iterable[PodId] | None = None) -> tuple[PodId, ...]:
        """Take in that the cluster did as *order* says, with all of its pods or with some.

        Returns those that are still as it left them. Pods that were bound stay binding until a
        fact shows where they are, and are overdue if none does.
        """
        done = self._open(order, pods)
        if order.verb == "bind" and done:
            self._back_off.bind_succeeded(order.workload, {each.node for each in done})
        elif order.verb == "evict":
            self._settle(order, pods)
        return tuple([each.pod for each in done])

    def confirmed(
        self, order: Order, now_ms: int, pods: Iterable[PodId] | None = None
    ) -> tuple[PodId, ...]:
        """Take in that pods were bound and run since *now_ms*; return those that were binding.

        For a caller to which the cluster shows nothing older afterwards, such as a simulator. Where
        objects are watched, report `succeeded` and let the watch show the pod: an older version of
        it, on its way already, would let the pod wait again.
        """
        bound = self.succeeded(order, pods)
        self._settle(order, pods)
        if bound:
            self._state.apply(WorkloadConfirmed(workload=order.workload, pods=bound, at_ms=now_ms))
        return bound

    def failed(
        self,
        order: Order,
        now_ms: int,
        pods: Iterable[PodId] | None = None,
        *,
        retry_after_ms: int = 0,
        is_overtaken: bool = False,
        is_on_any_node: bool = False,
    ) -> tuple[PodId, ...]:
        """Undo *order* for all of its pods or for some, and return those that it is undone for.

        One that *is_overtaken* failed because the cluster had changed since the decision, so that
        the next plan may decide the same at once; after another failure it is held for a while.
        *is_on_any_node*: pods were not bound, and would not have been to any other node.

        A pod of which a fact has shown otherwise in the meantime, or of which a later order is
        awaited, is left as it is.
        """
        undone = self._open(order, pods)
        self._settle(order, pods)
        if undone and order.verb == "bind":
            self._undo_bind(order, undone)
        elif undone:
            self._undo_eviction(order, undone)
        if not is_overtaken:
            self._hold_back(
                order,
                undone,
                now_ms,
                retry_after_ms=retry_after_ms,
                is_on_any_node=is_on_any_node,
            )
        return tuple([each.pod for each in undone])

    def overdue(self, now_ms: int) -> list[tuple[Order, tuple[PodId, ...]]]:
        """Return the orders of which an outcome is missing after its time, with those pods.

        Law: no fact has settled them. Cost: each pod of which an outcome is awaited.
        """
        self._forget_settled()
        found: dict[int, tuple[Order, list[PodId]]] = {}
        for (_, pod), order in self._awaited.items():
            if order.until_ms <= now_ms:
                found.setdefault(order.number, (order, []))[1].append(pod)
        return [(order, tuple(pods)) for _, (order, pods) in sorted(found.items())]

    def holds(self, now_ms: int) -> Holds:
        """Return what the next plan is not to try: what failed lately, and pods that are binding.

        A pod is not evicted before it is known where it is.
        """
        self._back_off.forget_gone(self._state.workloads)
        self._forget_settled()
        held = self._back_off.holds(now_ms)
        binding = [key for key, order in self._awaited.items() if order.verb == "bind"]
        return replace(held, victims=held.victims.union(binding)) if binding else held

    def next_release_ms(self, now_ms: int) -> int | None:
        """Return when the next pause after a failure ends; None: there is none."""
        return self._back_off.next_ms(now_ms)

    def _assume(self, order: Order, now_ms: int) -> Order:
        """Let the state be as if *order* were carried out, and remember its decision."""
        state, decision = self._state, order.decision
        before = state.memories.get(order.workload)
        if isinstance(decision, Start):
            state.apply(
                WorkloadBinding(
                    workload=decision.workload,
                    placements=decision.placements,
                    flavors=decision.flavors,
                    at_ms=now_ms,
                    until_ms=order.until_ms,
                )
            )
        else:
            state.apply(WorkloadLeaving(workload=order.workload, pods=order.pods()))
        remember_decision(state, decision, now_ms)
        after = state.memories.get(order.workload)
        return replace(order, memory_before=before, memory_after=after)

    def _new(self, decision: Start | Evict | Move, now_ms: int) -> Order:
        self._given += 1
        promised: tuple[PromisedPlace, ...] = ()
        match decision:
            case Start():
                placements = decision.placements
            case Evict():
                places = self._state.runs[decision.workload].pods
                placements = tuple(
                    [Placement(pod, places[pod].node, places[pod].share) for pod in decision.pods]
                )
            case Move():
                placements = decision.origins
                promised = promised_places(self._state, decision)
            case _:
                assert_never(decision)
        return Order(
            number=self._given,
            verb="bind" if isinstance(decision, Start) else "evict",
            decision=decision,
            placements=placements,
            promised=promised,
            until_ms=now_ms + self._patience_ms,
        )

    def _open(self, order: Order, pods: Iterable[PodId] | None) -> list[Placement]:
        """Return the places of those of *pods* that are still as *order* left them."""
        wanted = None if pods is None else set(pods)
        return [
            place
            for place in order.placements
            if (wanted is None or place.pod in wanted) and self._is_open(order, place)
        ]

    def _is_open(self, order: Order, place: Placement) -> bool:
        """Return whether *order* is the last one about a pod, and no fact has settled it."""
        awaited = self._awaited.get((order.workload, place.pod))
        run = self._state.runs.get(order.workload)
        placed = run.pods.get(place.pod) if run else None
        if awaited is None or awaited.number != order.number or placed is None:
            return False
        phase = "binding" if order.verb == "bind" else "leaving"
        return placed.phase == phase and placed.node == place.node

    def _settle(self, order: Order, pods: Iterable[PodId] | None) -> None:
        """Await no outcome of *order* any more for *pods*."""
        for pod in order.pods() if pods is None else pods:
            awaited = self._awaited.get((order.workload, pod))
            if awaited is not None and awaited.number == order.number:
                del self._awaited[order.workload, pod]

    def _forget_settled(self) -> None:
        """Await no outcome any more of what facts have settled."""
        orders = {order.number: order for order in self._awaited.values()}
        for order in orders.values():
            for place in order.placements:
                if not self._is_open(order, place):
                    self._settle(order, (place.pod,))
        if self._undone:
            awaited = {order.number for order in self._awaited.values()}
            self._undone = {at: pods for at, pods in self._undone.items() if at in awaited}

    def _undo_bind(self, order: Order, undone: Sequence[Placement]) -> None:
        pods = tuple([each.pod for each in undone])
        self._state.apply(WorkloadStopped(workload=order.workload, pods=pods))
        self._undo_memory(order, pods)

    def _undo_eviction(self, order: Order, undone: Sequence[Placement]) -> None:
        pods = tuple([each.pod for each in undone])
        self._state.apply(WorkloadStays(workload=order.workload, pods=pods))
        self._undo_memory(order, pods)

    def _hold_back(
        self,
        order: Order,
        undone: Sequence[Placement],
        now_ms: int,
        *,
        retry_after_ms: int,
        is_on_any_node: bool,
    ) -> None:
        if undone and order.verb == "bind":
            nodes = {each.node for each in undone}
            self._back_off.bind_failed(order.workload, nodes, now_ms, is_on_any_node=is_on_any_node)
        elif order.verb == "evict":
            for each in undone:
                self._back_off.eviction_failed((order.workload, each.pod), now_ms, retry_after_ms)

    def _undo_memory(self, order: Order, pods: Sequence[PodId]) -> None:
        """Remember what was before *order*, once it is undone for all of its pods.

        Not so where something else was remembered since.
        """
        undone = self._undone.pop(order.number, frozenset()) | frozenset(pods)
        if len(undone) < len(order.placements):
            self._undone[order.number] = undone
            return
        name = order.workload
        if self._state.memories.get(name) == order.memory_after != order.memory_before:
            self._state.apply(MemoryChanged(name, order.memory_before))
