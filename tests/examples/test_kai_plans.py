"""The stories of the small worlds are true: who starts where, who waits and why, turn by turn."""

import re
from fractions import Fraction

import pytest

from fairlead.explain.plan_cycles import plan_cycles
from fairlead.explain.queue_answers import explain_job, job_named
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Start
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.policy.kai.cycle import KaiCycle
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from fairlead.policy.make_policy import make_policy
from tests.examples.kai_world import NOW_MS, WORLDS, read, story, told
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
    # research 5 + 2 > 4 goes after product 1 + 2 <= 4, though search is over its own quota of 1
    "hierarchy": """
        decision job          pods  node  code       at     numbers
        start    search/index index dgx-1 OverQuota  search 1+2>1
        wait     audio/birds  -     -     NoNodeFits audio  -
    """,
    # 8 - 6 = 2 idle, 8 later; a reservation counts as held: 4 + 2
    "releasing": """
        decision job           pods  node  code        at     numbers
        reserve  vision/train  train dgx-1 WithinQuota vision 0+4<=8
        wait     vision/survey -     -     NoNodeFits  vision -
        start    vision/probe  probe dgx-1 WithinQuota vision 4+2<=8
    """,
    # 3 GPUs - 2 = 1: not enough for two more workers, enough for one
    "sub-groups": """
        decision job               pods                                                  node        code        at       numbers
        start    language/pretrain pretrain-leader,pretrain-worker-0,pretrain-worker-1   cpu-1,gpu-1 WithinQuota language 0+2<=3
        wait     language/distil   -                                                     -           NoNodeFits  language 2/3pods
        start    language/pretrain pretrain-worker-2                                     gpu-1       WithinQuota language 2+1<=3
    """,  # noqa: E501  a table
    # five jobs wait or start: the story is in jobs.yaml
    "monday": """
        decision job                   pods    node  code                    at         numbers
        wait     serving/summaries     -       -     NonPreemptibleOverQuota serving    2+4>4
        wait     team-perception/radar -       -     NoNodeFits              perception -
        wait     team-vision/detector  -       -     NoNodeFits              vision     1/2pods
        start    team-vision/sweep     sweep-0 gpu-3 WithinQuota             vision     0+1<=8
        start    team-vision/sweep     sweep-1 gpu-4 WithinQuota             vision     1+1<=8
        start    team-vision/sweep     sweep-2 gpu-4 WithinQuota             vision     2+1<=8
        start    team-vision/sweep     sweep-3 gpu-4 WithinQuota             vision     3+1<=8
        wait     interns/thesis        -       -     OverLimit               interns    1+4>4
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


def test_the_fair_shares_of_the_loan_are_those_of_its_story() -> None:
    assembled = read("borrow")
    shares = KaiShares(assembled.state, assembled.state.total(), Fraction(0))
    gpu = assembled.state.axes.index("gpu")
    assert gpu is not None
    computed = {row.queue: show_amount("gpu", row.fair_share[gpu]) for row in shares.rows()}
    told_shares = re.findall(r"^ +(\w+) +\d+ +\d+ +\d+ +(?:.*= )?(\d+)$", story("borrow"), re.M)
    assert computed == dict(told_shares) == {"robotics": "0", "speech": "5", "genomics": "3"}


class Turns:
    """Writes down, at every turn, whose it is and the shares with which two queues meet."""

    def __init__(self, world: str, queues: tuple[str, str]) -> None:
        assembled = read(world)
        assert isinstance(assembled.settings, KaiSettings)
        self.seen: list[tuple[str, list[Fraction]]] = []
        self._queues = queues
        self._state = assembled.state
        with assembled.state.trial():
            self._cycle = KaiCycle(assembled.state, assembled.settings, NOW_MS)
            list(self._cycle.decisions(self._turn))

    def _turn(self, job: WorkloadName) -> None:
        standings = [self._cycle.race.standing(QueueName(name)) for name in self._queues]
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
        for name in ("notebooks/ann", "notebooks/bob")
        for placed in state.runs[WorkloadName(name)].pods.values()
    ]
    starts = [each for each in plan.decisions if isinstance(each, Start)]
    placements += [(each.workload, each.placements[0].share) for each in starts]
    devices = {name: share.devices for name, share in placements if share is not None}
    assert devices["notebooks/ann"] == devices["notebooks/cem"]
    assert devices["notebooks/bob"] == devices["notebooks/embed"]
    assert devices["notebooks/ann"] != devices["notebooks/bob"]
    assert "notebooks/render" not in devices


def test_the_department_within_its_quota_is_before_the_one_that_is_not() -> None:
    assembled = read("hierarchy")
    state = assembled.state
    job = job_named(state, "audio/birds")
    assert job is not None
    (order, *_) = explain_job(state, assembled.settings, job, NOW_MS).sections
    why = "product stays within its quota with its next job, research does not"
    assert [row[1:] for row in order.table[1:]] == [("search/index", "search", why)]


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
