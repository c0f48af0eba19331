"""Carries acts out on the API server, many at once, and reports one outcome for each.

A lane is for acts of one kind, so that an eviction never waits behind a thousand bindings. When the
server asks for less, the lane pauses and narrows, and widens again as requests succeed.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, assert_never

from fairlead.cluster.kubernetes.acting.acts import Act, Bind, Evict, Look, Outcome, PodName
from fairlead.cluster.kubernetes.acting.outcomes import (
    find_out,
    is_budget,
    is_conflict,
    judge_conflict,
    refusal,
)
from fairlead.cluster.kubernetes.acting.requests import bind, evict, read_pod
from fairlead.cluster.kubernetes.acting.throttle import Throttle
from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.errors import (
    ApiError,
    TooManyRequestsError,
    UnreachableError,
)
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.watching.facts import Gone, Seen
from fairlead.errors import ClusterError
from fairlead.manifest.text.values import Mapping

_LOG: Final = logging.getLogger(__name__)


class Permission:
    """Whether an act may begin now. Every look is anew, just before a request is sent."""

    def __init__(
        self,
        *,
        hindrance: Callable[[], str],
        may_bind: Callable[[Bind], bool],
        term: Callable[[], str],
    ) -> None:
        """Ask *hindrance* whether nothing may begin, and why; "": it may."""
        self.hindrance = hindrance
        self.may_bind = may_bind
        self.term = term


class Lane:
    """Acts in the order in which they were given, some of them at the same time."""

    def __init__(
        self,
        name: str,
        session: Session,
        permission: Permission,
        *,
        width: int,
        report: Callable[[Outcome | Seen | Gone], None],
        random: Callable[[], float],
    ) -> None:
        """Carry at most *width* acts out at once; *report* gets every outcome."""
        self.name = name
        self.busy = 0  # requests that are on their way
        self._session = session
        self._permission = permission
        self._throttle = Throttle(name, width, random)
        self._report = report
        self._random = random
        self._repeated: deque[Act] = deque()  # that the server wants to be asked for later
        self._batches: deque[deque[Act]] = deque()
        self._unchecked: set[int] = set()  # ids of batches of which nothing was begun yet
        self._waiting = 0
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ending = False
        self._failure: BaseException | None = None

    @property
    def waiting(self) -> int:
        """How many acts are not begun yet."""
        return self._waiting

    def is_idle(self) -> bool:
        """Return whether nothing waits or is on its way."""
        return not self._waiting and not self._tasks

    def submit(self, batches: Sequence[Sequence[Act]]) -> None:
        """Carry the acts of *batches* out; those of a batch are begun all or none."""
        for batch in batches:
            waiting = deque(batch)
            self._batches.append(waiting)
            self._unchecked.add(id(waiting))
            self._waiting += len(waiting)
        if self._is_ending:
            self._drop_all()
        self._wake.set()

    def abandon(self) -> None:
        """Begin nothing more, neither of what waits nor of what is still submitted."""
        self._is_ending = True
        self._drop_all()

    async def run(self) -> None:
        """Begin acts for as long as the task lives. What is on its way then is given up.

        Raises what ended an act, which nothing but a defect does.
        """
        try:
            while True:
                await self._turn()
        finally:
            for task in self._tasks:
                task.cancel()

    async def _turn(self) -> None:
        """Begin what may begin now, or wait until it may."""
        self._wake.clear()
        pause_s = self._throttle.resumes_s - self._now_s()
        if pause_s > 0:
            await asyncio.sleep(pause_s)
        while self._waiting and self.busy < self._throttle.width and self._is_open():
            self._begin()
        if self._is_open():
            await self._wake.wait()
        if self._failure is not None:
            raise self._failure

    def _is_open(self) -> bool:
        """Return whether no pause keeps acts from beginning."""
        return self._throttle.resumes_s <= self._now_s()

    def _begin(self) -> None:
        act = self._repeated.popleft() if self._repeated else self._next()
        if act is None:
            return
        self._waiting -= 1
        self.busy += 1
        task = asyncio.create_task(self._carry_out(act))
        self._tasks.add(task)
        task.add_done_callback(self._note_end)

    def _next(self) -> Act | None:
        """Return the next act; None: its batch may not begin, and is dropped."""
        batch = self._batches[0]
        if id(batch) in self._unchecked:
            hindrance = self._hindrance(batch)
            if hindrance:
                self._drop(batch, hindrance)
                return None
            self._unchecked.discard(id(batch))
        act = batch.popleft()
        if not batch:
            self._batches.popleft()
        return act

    def _note_end(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = task.exception()
            self._wake.set()

    def _hindrance(self, acts: Sequence[Act] | deque[Act]) -> str:
        """Return why none of *acts* may begin; "": they may."""
        if all(isinstance(each, Look) for each in acts):
            return ""
        for each in acts:
            if isinstance(each, Bind) and not self._permission.may_bind(each):
                return f"the node {each.node} or the pod {each.target} has changed"
        return self._permission.hindrance()

    def _drop_all(self) -> None:
        why = "Fairlead is stopping"
        while self._batches:
            self._drop(self._batches[0], why)
        while self._repeated:
            self._waiting -= 1
            self._report_drop(self._repeated.popleft(), why)

    def _drop(self, batch: deque[Act], why: str) -> None:
        self._batches.popleft()
        self._unchecked.discard(id(batch))
        self._waiting -= len(batch)
        for act in batch:
            self._report_drop(act, why)

    def _report_drop(self, act: Act, why: str) -> None:
        if not isinstance(act, Look):
            self._report(self._dropped(act, why))

    def _dropped(self, act: Bind | Evict, why: str) -> Outcome:
        """Return the outcome of an act that was not begun.

        A bind that what was seen last speaks against is refused. Should the state not agree with
        that, the next plan would be the same, again and again.
        """
        is_refused = isinstance(act, Bind) and not self._permission.may_bind(act)
        return Outcome(act=act, result="refused" if is_refused else "overtaken", why=why)

    async def _carry_out(self, act: Act) -> None:
        begun_after = self._throttle.pauses
        outcome: Outcome | None = None
        lost: ApiError | None = None
        try:
            outcome = await self._attempt(act, begun_after)
        except ApiError as problem:
            self._throttle.pause(self._now_s(), begun_after)
            lost = problem
        except ClusterError as problem:  # no credentials: nothing was sent
            self._throttle.pause(self._now_s(), begun_after, problem.retry_after_s or 0)
            outcome = _undone(act, str(problem))
        finally:
            self.busy -= 1
            self._wake.set()
        if lost is not None and not isinstance(act, Look):
            _LOG.warning("the outcome of an act is not known, looking: %s", lost)
            outcome = await self._find_out(act, lost)
        if outcome is not None:
            self._report(outcome)

    async def _attempt(self, act: Act, begun_after: int) -> Outcome | None:
        """Return the outcome of a request; None: it is to be made again, or was a look.

        Raises ApiError for one whose answer is lost.
        """
        hindrance = self._hindrance((act,))
        if hindrance and not isinstance(act, Look):
            return self._dropped(act, hindrance)
        try:
            await self._send(act)
        except TooManyRequestsError as problem:
            if is_budget(problem):
                return refusal(act, problem)
            retry_after_s = problem.retry_after_s or 0
            self._throttle.asked_for_less(self._now_s(), retry_after_s, begun_after)
            self._again(act)
            return None
        except ApiError as problem:
            if problem.is_unknown:
                raise
            if isinstance(problem, UnreachableError):
                self._throttle.pause(self._now_s(), begun_after)
                return _undone(act, str(problem))
            return await self._refused(act, problem)
        self._throttle.succeeded()
        return None if isinstance(act, Look) else Outcome(act=act, result="done")

    async def _refused(self, act: Act, problem: ApiError) -> Outcome | None:
        """Return the outcome of a refusal. After a conflict the pod is read, and reported, first.

        Raises ApiError, for a pod that could not be read.
        """
        if isinstance(act, Look):
            _LOG.warning("cannot see what became of a pod: %s", problem)
            return None
        if not is_conflict(problem):
            return refusal(act, problem)
        found = await read_pod(self._session, act.target)
        self._show(act.target, found)
        return judge_conflict(act, found, problem)

    async def _send(self, act: Act) -> None:
        match act:
            case Bind():
                await bind(self._session, act, self._permission.term())
            case Evict():
                await evict(self._session, act, self._permission.term())
            case Look():
                self._show(act.target, await read_pod(self._session, act.target))
            case _:
                assert_never(act)

    def _show(self, target: PodName, found: Mapping | None) -> None:
        """Report a pod as it is, as a watch would."""
        if found is not None:
            self._report(Seen(found))
            return
        metadata: Mapping = {"namespace": target.namespace, "name": target.name, "uid": target.uid}
        self._report(Gone({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}))

    async def _find_out(self, act: Bind | Evict, lost: ApiError) -> Outcome:
        target = act.target

        async def read() -> Mapping | None:
            found = await read_pod(self._session, target)
            self._show(target, found)
            return found

        return await find_out(act, read, Backoff(self._random), lost)

    def _again(self, act: Act) -> None:
        self._repeated.append(act)
        self._waiting += 1
        if self._is_ending:
            self._drop_all()

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()


def _undone(act: Act, why: str) -> Outcome | None:
    """Return the outcome of an act of which nothing was sent; a look has none.

    What the order of a look did is not known by it: an outcome would undo what may be done.
    """
    return None if isinstance(act, Look) else Outcome(act=act, result="overtaken", why=why)
