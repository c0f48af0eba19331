"""A scheduler as a live loop runs it: settle, plan, order, and learn what became of each order.

Everything that may go wrong with an order does: the server refuses it, the request is lost before
or after it took effect, the answer comes late, so that the watch shows the effect before. Without
an answer the order is looked into when it is overdue.
"""

from random import Random
from typing import NamedTuple, TypeAlias

from fairlead.manifest.translate.translator import Translator
from fairlead.model.execution.executor import Executor, Order
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.contract import make_policy
from tests.manifest.translate.acts import Acts
from tests.manifest.translate.api_server import ApiServer, Object
from tests.manifest.translate.assumptions import Assumptions, uids_of
from tests.manifest.translate.watches import Watches
from tests.model.invariants import check_invariants

Pods: TypeAlias = tuple[PodId, ...]

FATES = (*["done"] * 5, *["told later"] * 3, "refused", "lost before", "lost after")
PATIENCE_MS = 30_000


class _Piece(NamedTuple):
    """Part of an order that was not sent yet, or whose outcome was not told yet."""

    order: Order
    pods: Pods
    is_done: bool = False


class Driver:
    """One scheduler, with its translator, its executor and its policy."""

    def __init__(
        self, server: ApiServer, watches: Watches, translator: Translator, acts: Acts
    ) -> None:
        self.translator = translator
        self.executor = Executor(translator.state, patience_ms=PATIENCE_MS)
        self.policy = make_policy(translator.settings)
        self._settings = translator.settings
        self._server = server
        self._watches = watches
        self._acts = acts
        self._assumed = Assumptions.of(translator.state, {})
        self._unsent: list[_Piece] = []
        self._untold: list[_Piece] = []

    @property
    def state(self) -> ClusterState:
        """What the scheduler knows."""
        return self.translator.state

    def settle(self) -> None:
        """Take in the facts that arrived."""
        before = self.translator.state
        is_new = self.translator.settle()
        assert is_new == (self.translator.state is not before)
        seen = self._watches.seen
        self._assumed.check(self.state, seen)
        self._assumed = Assumptions.of(self.state, uids_of(self.state, seen))
        if is_new:
            self.executor.move_to(self.translator.state)
        if self.translator.settings != self._settings:
            self._settings = self.translator.settings
            self.policy = make_policy(self._settings)
        self._check()

    def plan(self, random: Random) -> None:
        """Plan, and give out orders; at most some starts at times."""
        now_ms = self._server.now_ms
        at_most = random.choice([None, None, 1, 2])
        held = self.executor.holds(now_ms)
        plan = self.policy.plan(self.state, now_ms, held=held, at_most_starts=at_most)
        for decision in plan.decisions:
            order = self.executor.order(decision, now_ms)
            if order is not None:
                self._unsent += [_Piece(order, pods) for pods in self._acts.pieces(order)]
            if random.randrange(2):
                self._answer(self._acts.write_down(decision), random)
        for memory in plan.memories:
            self.state.apply(memory)
            if random.randrange(2):
                self._answer(self._acts.write_memory(memory), random)
        self._check()

    def send(self, random: Random) -> None:
        """Send part of an order to the server, with a fate of its own."""
        if not self._unsent:
            return
        piece = self._unsent.pop(random.randrange(len(self._unsent)))
        fate = random.choice(FATES)
        if fate == "lost before":
            return
        done = None if fate == "refused" else self._acts.carry_out(piece.order, piece.pods)
        if fate == "lost after":
            return
        outcome = piece._replace(is_done=done is not None)
        if done is not None and done.value is not None:
            self._answer([done.value], random)
        if fate == "told later":
            self._untold.append(outcome)
        else:
            self._tell(outcome)

    def tell(self, random: Random) -> None:
        """Learn an outcome that was on its way."""
        if self._untold:
            self._tell(self._untold.pop(random.randrange(len(self._untold))))

    def look_into_overdue(self) -> None:
        """Find out about orders without an outcome after their time."""
        now_ms = self._server.now_ms
        for order, pods in self.executor.overdue(now_ms):
            self._look(order, pods)

    def come_to_rest(self) -> None:
        """Send nothing any more, and learn every outcome."""
        for piece in self._untold:
            self._tell(piece)
        self._untold.clear()
        self._unsent.clear()
        for order, pods in self.executor.overdue(self._server.now_ms + 2 * PATIENCE_MS):
            self._look(order, pods)

    def _look(self, order: Order, pods: Pods) -> None:
        """Ask the server about an order; what was not sent by now is not sent any more."""
        self._unsent = [each for each in self._unsent if each.order.number != order.number]
        for pod in pods:
            self._tell(_Piece(order, (pod,), self._acts.has_effect(order, pod)))

    def _tell(self, outcome: _Piece) -> None:
        order, pods, now_ms = outcome.order, outcome.pods, self._server.now_ms
        if not outcome.is_done:
            self.executor.failed(order, now_ms, pods)
        elif order.verb == "bind" and order.number % 2:
            self.executor.confirmed(order, now_ms, pods)
        else:
            self.executor.succeeded(order, pods)
        self.translator.look_again(order.workload)
        self._check()

    def _check(self) -> None:
        """Check the state after a step, and note what it assumes until the next settling."""
        check_invariants(self.state)
        self._assumed = Assumptions.of(self.state, self._assumed.uids)

    def _answer(self, written: list[Object], random: Random) -> None:
        """Hand the answers of some writes to the translator at once."""
        for value in written:
            if random.randrange(2):
                self._watches.answer(value)
