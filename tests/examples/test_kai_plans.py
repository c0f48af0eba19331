"""The stories of the small worlds are true: who starts where, who waits and why, turn by turn."""

import re
from fractions import Fraction

import pytest

from fairlead.explain.named import job_named
from fairlead.explain.plan.cycles import plan_cycles
from fairlead.explain.rule_set import rule_set_of
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Start
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.policy.contract import make_policy
from fairlead.policy.kai.api import KaiShare, KaiShares, new_cycle
from fairlead.policy.kai.settings import KaiSettings
from tests.examples.kai_world import NOW_MS, WORLDS, read, story, table_of, told
from tests.text_table import rows

PLANS = {
    # 8 GPUs; fair shares 2 + 3 = 5 and 2 + 1 = 3, because the 4 of robotics are idle
    "borrow": """
        decision job               pods        node  code        at       numbers
        start    speech/dictation  dictation-0 dgx-1 WithinQuota speech   0+1<=2
        start    genomics/variants variants-0  dgx-1 WithinQuota genomics 0+1<=2
        start    speech/dictation  dictation-1 dgx-1 WithinQuota speech   1+1<=2
        start    genomics/variants variants-1  dgx-1 WithinQuota genomics 1+1<=2
        start    speech/dictation  dictation-2 dgx-1 OverQuota   speech   2+1>2
        start    speech/dictation  dictation-3 dgx-1 OverQuota   speech   3+1>2
        start    genomics/variants variants-2  dgx-1 OverQuota   genomics 2+1>2
        start    speech/dictation  dictation-4 dgx-1 OverQuota   speech   4+1>2
        wait     speech/dictation  -           -     NoNodeFits  speech   -
        wait     genomics/variants -           -     NoNodeFits  genomics -
    """,
    # vision 3 + 2 > 4; research 3 + 4 > 6, but 3 + 2 = 5 is within it
    "limit": """
        decision job          pods node  code        at       numbers
        wait     audio/chorus -    -     OverLimit   research 3+4>6
        start    audio/hum    hum  dgx-1 WithinQuota audio    0+2<=2
        wait     vision/lanes -    -     OverLimit   vision   3+2>4
    """,
    # 2 that cannot be preempted + 4 > 4, + 2 = 4; preemptible work may exceed the quota
    "non-preemptible": """
        decision job              pods     node  code                    at      numbers
        wait     serving/ranker   -        -     NonPreemptibleOverQuota serving 2+4>4
        start    serving/tagger   tagger   dgx-1 WithinQuota             serving 2+2<=4
        start    serving/ranker-b ranker-b dgx-1 OverQuota               serving 4+4>4
    """,
    # 6 GPUs - 4 = 2, of which the second gang can use none; then one pod takes one
    "gang": """
        decision job             pods                                    node          code        at      numbers
        start    biology/protein protein-0,protein-1,protein-2,protein-3 a100-1,a100-2 OverQuota   biology 0+4>3
        wait     climate/weather -                                       -             NoNodeFits  climate 2/4pods
        start    climate/chart   chart                                   a100-3        WithinQuota climate 0+1<=3
    """,  # noqa: E501  a table
    # 6 GPUs: minimums of 1 and 2, then one by one up to 3 each
    "elastic": """
        decision job          pods            node  code        at     numbers
        start    speech/tune  tune-0          dgx-1 WithinQuota speech 0+1<=3
        start    vision/sweep sweep-0,sweep-1 dgx-1 WithinQuota vision 0+2<=3
        start    speech/tune  tune-1          dgx-1 WithinQuota speech 1+1<=3
        start    speech/tune  tune-2          dgx-1 WithinQuota speech 2+1<=3
        start    vision/sweep sweep-2         dgx-1 WithinQuota vision 2+1<=3
        wait     speech/tune  -               -     NoNodeFits  speech -
        wait     vision/sweep -               -     NoNodeFits  vision -
    """,
    # held: 0.5 + 0.5; pair needs two whole devices and one is; dan needs 0.5 and 0.25 is free
    "fractions": """
        decision job              pods   node  code        at        numbers
        wait     notebooks/pair   -      -     NoNodeFits  notebooks -
        start    notebooks/cem    cem    dgx-1 WithinQuota notebooks 1+0.5<=3
        start    notebooks/embed  embed  dgx-1 WithinQuota notebooks 1.5+0.25<=3
        start    notebooks/render render dgx-1 WithinQuota notebooks 1.75+1<=3
        wait     notebooks/dan    -      -     NoNodeFits  notebooks -
    """,
    # research 5 + 2 > 4 goes after product 1 + 2 <= 4, though search is over its own quota of 1;
    # then the teams of research settle their own: vision holds 5 of 3
    "hierarchy": """
        decision job          pods  node  code                 at     numbers
        start    search/index index dgx-1 OverQuota            search 1+2>1
        evict    vision/signs signs dgx-1 ReclaimedByFairShare vision 5>3
        reserve  audio/birds  birds dgx-1 Reclaims             audio  0+2<=2
    """,
    # 8 of 4 + 2 = 6: the youngest of three leaves, 8 - 2 = 6
    "give-back": """
        decision job             pods     node  code                 at       numbers
        evict    speech/dialects dialects dgx-1 ReclaimedByFairShare speech   8>6
        reserve  robotics/grasp  grasp    dgx-1 Reclaims             robotics 0+2<=2
    """,
    # 6 is the fair share, but 6 > 4 is beyond the quota, and 0 + 2 is within that of robotics
    "quota-first": """
        decision job            pods    node  code             at       numbers
        evict    speech/accents accents dgx-2 ReclaimedByQuota speech   0+2<=2;6>4
        reserve  robotics/grasp grasp   dgx-2 Reclaims         robotics 0+2<=2
    """,
    # research 5 <= 5 is spared for product; inside research vision 5 > 3 is not
    "reclaim-hierarchy": """
        decision job          pods  node  code                 at     numbers
        wait     search/index -     -     NoNodeFits           search -
        evict    vision/signs signs dgx-1 ReclaimedByFairShare vision 5>3
        reserve  audio/birds  birds dgx-1 Reclaims             audio  0+2<=2
    """,
    # (2 + 1) / 2 is no less than (4 - 1) / 2
    "fullness": """
        decision job         pods node code       at    numbers
        wait     audio/birds -    -    NoNodeFits audio -
    """,
    # 07:45 + 30 and + 20 minutes are both to come at 08:00
    "min-runtime": """
        decision job            pods node code       at       numbers
        wait     robotics/grasp -    -    NoNodeFits robotics -
        wait     speech/demo    -    -    NoNodeFits speech   -
    """,
    # 2 + 2 on dgx-1, so that dgx-2 has 4
    "consolidation": """
        decision job          pods  node         code         at     numbers
        move     vision/signs signs dgx-2->dgx-1 Consolidated vision -
        reserve  vision/train train dgx-2        Consolidates vision -
    """,
    # 6 - 1 - 2 = 3 pods are left, and 2 are needed
    "elastic-shrink": """
        decision job          pods          node  code                 at     numbers
        evict    speech/tune  tune-5        dgx-1 ReclaimedByFairShare speech 6>3
        reserve  vision/lanes lanes         dgx-1 Reclaims             vision 0+1<=3
        evict    speech/tune  tune-3,tune-4 dgx-1 ReclaimedByFairShare speech 5>3
        reserve  vision/signs signs         dgx-1 Reclaims             vision 1+2<=3
    """,
    # 08:00:00 - 07:58:30 = 90 s, more than 60 s; 4 - 3 = 1 is too little for fold until then
    "stale-gang": """
        decision job             pods                          node  code       at      numbers
        wait     biology/fold    -                             -     NoNodeFits biology -
        evict    biology/protein protein-0,protein-1,protein-2 dgx-1 StaleGang  biology 3/4pods
    """,
    # accents fits into 4 - 2 = 2, but grasp would take it back, since 2 + 2 > 1; corpus suffices
    "look-ahead": """
        decision job            pods   node  code                 at       numbers
        wait     speech/accents -      -     WouldBeEvicted       speech   -
        evict    speech/corpus  corpus dgx-1 ReclaimedByFairShare speech   2>1
        reserve  robotics/grasp grasp  dgx-1 Reclaims             robotics 0+3<=3
    """,
    # 75 > 50, and of two with 50 the younger leaves
    "preempt": """
        decision job           pods  node  code                at     numbers
        wait     vision/survey -     -     NoNodeFits          vision -
        evict    vision/signs  signs dgx-1 PreemptedByPriority vision 75>50
        reserve  vision/demo   demo  dgx-1 Preempts            vision 75>50
    """,
    # 8 - 6 = 2 idle, 8 later; a reservation counts as held: 4 + 2
    "releasing": """
        decision job           pods  node  code        at     numbers
        reserve  vision/train  train dgx-1 WithinQuota vision 0+4<=8
        wait     vision/survey -     -     NoNodeFits  vision -
        start    vision/probe  probe dgx-1 WithinQuota vision 4+2<=8
    """,
    # 8 - 6 = 2 idle, 8 later, when a pod of another scheduler is gone
    "releasing-foreign": """
        decision job           pods  node  code      at     numbers
        reserve  vision/train  train dgx-1 OverQuota vision 0+4>2
        start    vision/probe  probe dgx-1 OverQuota vision 4+2>2
    """,
    # 3 GPUs - 2 = 1: not enough for two more workers, enough for one
    "sub-groups": """
        decision job               pods                                                  node        code        at       numbers
        start    language/pretrain pretrain-leader,pretrain-worker-0,pretrain-worker-1   cpu-1,gpu-1 WithinQuota language 0+2<=3
        wait     language/distil   -                                                     -           NoNodeFits  language 2/3pods
        start    language/pretrain pretrain-worker-2                                     gpu-1       WithinQuota language 2+1<=3
    """,  # noqa: E501  a table
    # the dataset of train is in zone b; what comes after it is packed there
    "volumes": """
        decision job            pods  node  code                at     numbers
        start    vision/train   train gpu-b WithinQuota         vision 1+1<=8
        start    vision/sweep   sweep gpu-b WithinQuota         vision 2+1<=8
        wait     vision/label   -     -     NoNodeFits          vision -
        wait     vision/archive -     -     VolumeClaimNotBound vision -
        wait     vision/typo    -     -     VolumeClaimNotFound vision -
    """,
    # five jobs wait or start: the story is in jobs.yaml
    "monday": """
        decision job                   pods    node  code                    at         numbers
        wait     serving/summaries     -       -     NonPreemptibleOverQuota serving    2+4>4
        wait     team-vision/detector  -       -     NoNodeFits              vision     1/2pods
        start    team-vision/sweep     sweep-0 gpu-3 WithinQuota             vision     0+1<=8
        start    team-vision/sweep     sweep-1 gpu-4 WithinQuota             vision     1+1<=8
        start    team-vision/sweep     sweep-2 gpu-4 WithinQuota             vision     2+1<=8
        start    team-vision/sweep     sweep-3 gpu-4 WithinQuota             vision     3+1<=8
        wait     interns/thesis        -       -     OverLimit               interns    1+4>4
        wait     team-perception/radar -       -     NoNodeFits              perception -
    """,
}


def test_every_world_has_its_table() -> None:
    assert sorted(PLANS) == WORLDS


@pytest.mark.parametrize("world", PLANS)
def test_the_plan_is_as_told(world: str) -> None:
    assembled = read(world)
    plan = make_policy(assembled.settings).plan(assembled.state, NOW_MS)
    assert told(assembled.state, plan) == [list(row.values()) for row in rows(PLANS[world])]


@pytest.mark.parametrize("world", [world for world in PLANS if world != "monday"])
def test_the_story_speaks_of_every_job_that_is_decided(world: str) -> None:
    words = set(re.findall(r"[\w-]+", story(world)))
    jobs = {row["job"].split("/")[1] for row in rows(PLANS[world])}
    assert jobs - words - {"dictation", "variants"} == set()  # these two go by their queues


WITH_TABLE = [world for world in PLANS if world != "monday" and table_of(world)]


@pytest.mark.parametrize("world", WITH_TABLE)
def test_the_queues_of_the_story_have_the_numbers_that_it_tells(world: str) -> None:
    assembled = read(world)
    state = assembled.state
    assert isinstance(assembled.settings, KaiSettings)
    shares = KaiShares(state, state.total(), assembled.settings.k).rows()
    computed = {row.queue: _numbers(state, row) for row in shares}
    for row in table_of(world):
        numbers = computed[QueueName(row.pop("queue"))]
        told_numbers = {column: cell.rpartition("= ")[2] for column, cell in row.items()}
        assert {column: numbers[column] for column in row} == told_numbers


def test_the_stories_about_shares_tell_them_in_such_a_table() -> None:
    about_shares = [each for each in PLANS if each != "monday" and "fair share " in story(each)]
    assert set(about_shares) <= set(WITH_TABLE)
    assert {"borrow", "give-back", "hierarchy", "quota-first", "fullness"} <= set(WITH_TABLE)


def _numbers(state: ClusterState, row: KaiShare) -> dict[str, str]:
    """Return what a column of a story says about a queue, in GPUs."""
    gpu = state.axes.index("gpu")
    assert gpu is not None
    queue, sums = state.queues[row.queue], state.sums[row.queue]
    amounts = {
        "quota": queue.guaranteed[gpu],
        "limit": queue.ceiling[gpu],
        "holds": sums.allocated[gpu],
        "requests": row.requested[gpu] - sums.allocated[gpu],
        "fair share": row.fair_share[gpu],
    }
    shown = {name: _shown(amount) for name, amount in amounts.items()}
    return shown | {"weight": str(queue.weights[gpu])}


def _shown(amount: int | None) -> str:
    return "-" if amount is None else show_amount("gpu", amount)


class Turns:
    """Writes down, at every turn, whose it is and the shares with which two queues meet."""

    def __init__(self, world: str, queues: tuple[str, str]) -> None:
        assembled = read(world)
        assert isinstance(assembled.settings, KaiSettings)
        self.seen: list[tuple[str, list[Fraction]]] = []
        self._queues = queues
        self._state = assembled.state
        with assembled.state.trial():
            self._cycle = new_cycle(assembled.state, assembled.settings, NOW_MS)
            list(self._cycle.decisions(self._turn))

    def _turn(self, job: WorkloadName) -> None:
        standings = [self._cycle.tournament.contender(QueueName(name)) for name in self._queues]
        shares = [Fraction(*each.share_with_job) for each in standings if each is not None]
        self.seen.append((self._state.workloads[job].queue, shares))


@pytest.mark.parametrize(
    ("world", "queues", "count"),
    [("borrow", ("speech", "genomics"), 8), ("elastic", ("speech", "vision"), 5)],
)
def test_the_turns_of_the_story_are_those_that_were_taken(
    world: str, queues: tuple[str, str], count: int
) -> None:
    lines = re.findall(r"^ +\d+  .*/.*/.*$", story(world), re.M)
    shares = [[Fraction(*map(int, each.split("/"))) for each in _ratios(line)] for line in lines]
    winners = [re.split(r" {3,}", line.strip())[-1].split()[0].strip(":,") for line in lines]
    assert len(lines) == count
    assert Turns(world, queues).seen[:count] == list(zip(winners, shares, strict=True))


def _ratios(line: str) -> list[str]:
    """Return the first two fractions of a row; what follows them is the remark."""
    return re.findall(r"\d+/\d+", line)[:2]


def test_a_share_goes_to_a_device_that_is_shared_and_not_to_a_whole_one() -> None:
    """The numbers of devices mean nothing by themselves: equal ones are the same device."""
    assembled = read("fractions")
    state = assembled.state
    plan = make_policy(assembled.settings).plan(state, NOW_MS)
    placements = [
        (name, placed.share)
        for name in ("notebooks/pod/ann", "notebooks/pod/bob")
        for placed in state.runs[WorkloadName(name)].pods.values()
    ]
    starts = [each for each in plan.decisions if isinstance(each, Start)]
    placements += [(each.workload, each.placements[0].share) for each in starts]
    devices = {name: share.devices for name, share in placements if share is not None}
    assert devices["notebooks/pod/ann"] == devices["notebooks/pod/cem"]
    assert devices["notebooks/pod/bob"] == devices["notebooks/pod/embed"]
    assert devices["notebooks/pod/ann"] != devices["notebooks/pod/bob"]
    assert "notebooks/pod/render" not in devices


def test_the_department_within_its_quota_is_before_the_one_that_is_not() -> None:
    assembled = read("hierarchy")
    state = assembled.state
    job = job_named(state, "audio/birds")
    assert job is not None
    (order, *_) = (
        rule_set_of(assembled.settings).explain_job(state, assembled.settings, job, NOW_MS).sections
    )
    why = "product stays within its quota with its next job, research does not"
    assert [row[1:] for row in order.table[1:]] == [("search/pod/index", "search", why)]


def _cycles(state: ClusterState, settings: KaiSettings, most: int) -> list[list[str]]:
    plans = plan_cycles(make_policy(settings), state, NOW_MS, most)
    return [[" ".join(words[:2]) for words in told(state, plan)] for plan in plans]


def test_who_has_room_reserved_starts_when_the_others_have_left() -> None:
    assembled = read("releasing")
    assert isinstance(assembled.settings, KaiSettings)
    assert _cycles(assembled.state, assembled.settings, 9) == [
        ["reserve vision/train", "wait vision/survey", "start vision/probe"],
        ["start vision/train", "wait vision/survey"],
        ["wait vision/survey"],
    ]


def test_who_has_room_reserved_starts_when_a_foreign_pod_is_gone() -> None:
    assembled = read("releasing-foreign")
    assert isinstance(assembled.settings, KaiSettings)
    assert _cycles(assembled.state, assembled.settings, 9) == [
        ["reserve vision/train", "start vision/probe"],
        ["start vision/train"],
        [],
    ]
