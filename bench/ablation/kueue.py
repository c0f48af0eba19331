"""The shortcuts of Kueue's rules: what the plain answer would be instead of each of them."""

from typing import Any, Final

from bench.ablation.shortcut import Replacement, Shortcut
from bench.ablation.workloads import AblationWorkload, decided, simulated
from bench.bench_kueue_large import first_plan
from fairlead.policy.kueue.cycle.source import PlainNominations
from fairlead.policy.kueue.flavors.demands import DemandReader
from fairlead.policy.kueue.incremental.parked import RememberedNominations, _FairWatch
from fairlead.policy.kueue.pending.queue import PendingQueue
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.snapshot.admitted import AdmittedWorkloads
from fairlead.policy.kueue.snapshot.share_order import ShareOrder


def _no(*_args: Any, **_named: Any) -> bool:
    return False


def _nothing(*_args: Any, **_named: Any) -> None:
    return None


_init_policy: Final = KueuePolicy.__init__
_entry: Final = ShareOrder._entry  # noqa: SLF001  it is replaced
_is_parked: Final = RememberedNominations._is_parked  # noqa: SLF001  it is replaced
_refresh: Final = ShareOrder.refresh
_pending: Final = DemandReader.pending


def _plain_policy(self: KueuePolicy, settings: Any, **_: Any) -> None:
    _init_policy(self, settings, plain=True)


def _nominate_in_full(self: RememberedNominations, head: Any, _: Any) -> Any:
    return PlainNominations.nominate(self, head)


def _look_at_classes(self: RememberedNominations, queue: PendingQueue) -> bool:
    queue.parked_at = None
    return _is_parked(self, queue)


def _forget_shares(self: ShareOrder) -> None:
    self._siblings.clear()
    self._without.clear()
    _refresh(self)


def _read_anew(self: DemandReader, workload: Any, rules: Any) -> Any:
    self._demands.clear()
    return _pending(self, workload, rules)


def _find_candidates(self: AdmittedWorkloads, candidate_filter: Any) -> Any:
    return self._find(candidate_filter)


SHORTCUTS: Final = (
    Shortcut("kept trees", 800, (Replacement(KueuePolicy, "__init__", _plain_policy),)),
    Shortcut("watches", 180, (Replacement(RememberedNominations, "_watch", _nothing),)),
    Shortcut("fair watches", 130, (Replacement(_FairWatch, "outlasts", _no),)),
    Shortcut(
        "known flavors",
        20,
        (Replacement(RememberedNominations, "_without_choice", _nominate_in_full),),
    ),
    Shortcut(
        "parked queues", 6, (Replacement(RememberedNominations, "_is_parked", _look_at_classes),)
    ),
    Shortcut("kept order of shares", 60, (Replacement(ShareOrder, "refresh", _forget_shares),)),
    Shortcut(
        "known candidates",
        30,
        (Replacement(AdmittedWorkloads, "matching", _find_candidates),),
    ),
    Shortcut("known demands", 8, (Replacement(DemandReader, "pending", _read_anew),)),
)
WORKLOADS: Final[tuple[AblationWorkload, ...]] = (
    simulated("month", "kueue", days=2),
    simulated("philly", "kueue", days=30),
    decided("large, two flavors", lambda: first_plan("fair sharing, two flavors"), times=1),
)
