"""What a live scheduler counts, and what of it a scrape sees."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from fairlead.cluster.kubernetes.acting.acts import Outcome, Result
from fairlead.cluster.kubernetes.reporting.writer import ReportCounts
from fairlead.store.metrics.family import single
from fairlead.web.live_metrics import RENDER_EVERY_MS, LiveMetrics
from tests.cluster.kubernetes.engine.led_engine import LedEngine, node, pod, quota


class Measured:
    """An engine, and the metrics that take note of it."""

    def __init__(self, *, is_leader: bool = True) -> None:
        self.led = LedEngine(node("n1", 4), quota("a", 2, 4), *[pod(f"a/p{n}") for n in range(3)])
        self.reports = ReportCounts()
        self.metrics = LiveMetrics(
            is_leader=lambda: is_leader,
            awaited=lambda: ["Node", "Pod"],
            reports=self.reports,
            more=lambda: [single("fairlead_more", "More", 7)],
        )

    def plan(self, took_s: float = 0.0) -> None:
        """Plan, and let the metrics take note."""
        plan = self.led.plan(explain=True)
        self.metrics.planned(self.led.engine, plan, self.led.carry_out(plan), took_s)

    def end(self, name: str, result: Result) -> None:
        """Let the metrics take note of what became of the last act about a pod."""
        self.metrics.ended(Outcome(act=self.led.act(name), result=result))

    def now(self) -> dict[str, float]:
        """Return what a scrape sees, by name and labels."""
        return {
            sample.name + _labels_text(sample.labels): sample.value
            for family in text_string_to_metric_families(self.metrics.text().decode())
            for sample in family.samples
        }


def _labels_text(labels: Mapping[str, str]) -> str:
    text = ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()))
    return f"{{{text}}}" if text else ""


def test_before_the_first_plan_a_scrape_sees_counts_of_nothing() -> None:
    seen = Measured(is_leader=False).now()
    assert seen["fairlead_plan_duration_seconds_count"] == 0
    assert seen['fairlead_decisions_total{decision="start"}'] == 0
    assert seen["fairlead_leader"] == 0
    assert seen["fairlead_stale_kinds"] == 2
    assert seen["fairlead_more"] == 7
    assert not [name for name in seen if name.startswith("elastic_quota")]


def test_decisions_and_acts_are_counted_by_what_became_of_them() -> None:
    """A min of 2 CPUs holds two pods of one; the third of them waits."""
    measured = Measured()
    measured.plan()
    measured.plan()
    measured.end("a/p0", "done")
    seen = measured.now()
    assert seen['fairlead_decisions_total{decision="start"}'] == 2
    assert seen['fairlead_acts_total{result="done",verb="bind"}'] == 1
    assert seen['fairlead_acts_unfinished{verb="bind"}'] == 1
    measured.end("a/p1", "refused")
    seen = measured.now()
    assert seen['fairlead_acts_total{result="refused",verb="bind"}'] == 1
    assert seen['fairlead_acts_unfinished{verb="bind"}'] == 0


def test_plans_are_counted_by_how_long_they_took() -> None:
    measured = Measured()
    for took_s in (0.001, 0.04, 0.05, 20.0):
        measured.plan(took_s)
    seen = measured.now()
    of = "fairlead_plan_duration_seconds_bucket"
    assert seen[f'{of}{{le="0.001"}}'] == 1
    assert seen[f'{of}{{le="0.05"}}'] == 3
    assert seen[f'{of}{{le="10.0"}}'] == 3
    assert seen[f'{of}{{le="+Inf"}}'] == 4
    assert seen["fairlead_plan_duration_seconds_sum"] == 0.001 + 0.04 + 0.05 + 20.0


def test_the_numbers_of_the_state_are_at_most_a_second_old_and_taken_once_a_second() -> None:
    measured = Measured()
    engine, now_ms = measured.led.engine, measured.led.server.now_ms
    measured.metrics.rested(engine, now_ms)
    used = [name for name in measured.now() if 'field="used"' in name and 'resource="cpu"' in name]
    (name,) = used
    assert measured.now()[name] == 0
    measured.led.decide()  # two pods of 1,000 millicores have a node
    measured.metrics.rested(engine, now_ms + RENDER_EVERY_MS - 1)
    assert measured.now()[name] == 0
    measured.metrics.rested(engine, now_ms + RENDER_EVERY_MS)
    assert measured.now()[name] == 2000


def test_reports_are_counted_from_0_on() -> None:
    measured = Measured()
    name = 'fairlead_reports_dropped_total{report="event"}'
    assert measured.now()[name] == 0
    measured.reports.dropped["event"] += 3
    assert measured.now()[name] == 3
