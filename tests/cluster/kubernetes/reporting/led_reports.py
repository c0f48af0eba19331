"""What is said about pods that wait, plan by plan, against an API server in memory."""

from typing import Any

from fairlead.cli.live.words import LiveWords
from fairlead.cluster.kubernetes.reporting.reports import PodEvent, PodStatus
from fairlead.cluster.kubernetes.reporting.waiting_pods import LaneReport, WaitingPods
from tests.cluster.kubernetes.engine.led_engine import LedEngine, new_engine, pod_key
from tests.manifest.translate.api_server import Object


class LedReports:
    """An engine, what was said after its plans, and a server that shows it."""

    def __init__(self, *objects: Object) -> None:
        self.led = LedEngine(*objects)
        self.waiting = WaitingPods(LiveWords())
        self.last: list[LaneReport] = []

    def create(self, *objects: Object) -> None:
        """Let objects come, and be seen."""
        self.led.create(*objects)
        self.led.deliver()

    def plan(self, *, explain: bool = True, writes: bool = True, most: int = 100) -> list[str]:
        """Plan, and return what is said after it; the server and the watch show it."""
        plan = self.led.plan(explain=explain)
        carried = self.led.carry_out(plan)
        self.last = self.waiting.reports(self.led.engine, plan, carried.decisions)
        self.last += self.waiting.more(self.led.engine, plan.taken_ms, most)
        for _, report in self.last if writes else ():
            if isinstance(report, PodStatus):
                self._write(report)
        self.led.deliver()
        return [_words(each) for each in self.last]

    def more(self, most: int) -> list[str]:
        """Return what is said while nothing is planned."""
        self.last = self.waiting.more(self.led.engine, self.led.server.now_ms, most)
        return [_words(each) for each in self.last]

    def messages(self) -> list[str]:
        """Return the sentences that were said last."""
        reports = [report for _, report in self.last]
        return [each.message for each in reports if isinstance(each, PodStatus | PodEvent)]

    def restart(self) -> None:
        """Let another process go on, which knows nothing but what the server shows."""
        self.led.engine = new_engine()
        self.waiting = WaitingPods(LiveWords())
        for kind in tuple(self.led.server.log):
            self.led.relist(kind)

    def status(self, name: str) -> dict[str, Any]:
        """Return the status of a pod."""
        status: dict[str, Any] = self.led.server.objects[pod_key(name)]["status"]
        return status

    def _write(self, report: PodStatus) -> None:
        """Let the status of a pod say what is reported, and nothing else, as an apply does."""

        def change(pod: Object) -> None:
            status: dict[str, Any] = {"phase": pod["status"]["phase"]}
            if report.message:
                condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                said = {"message": report.message, "lastTransitionTime": report.since}
                status["conditions"] = [{**condition, **said}]
            if report.nominated_node:
                status["nominatedNodeName"] = report.nominated_node
            pod["status"] = status

        self.led.server.update(pod_key(str(report.pod)), change)


def _words(each: LaneReport) -> str:
    """Return a report as a line, of its message the part before any number."""
    lane, report = each
    if isinstance(report, PodStatus):
        at = f" at {report.nominated_node}" if report.nominated_node else ""
        return f"{lane}: status of {report.pod}{at}: {_first(report.message)}"
    assert isinstance(report, PodEvent)
    times = f" x{report.count}" if report.count > 1 else ""
    return f"{lane}: {report.reason} {report.pod}{times}: {_first(report.message)}"


def _first(message: str) -> str:
    return message.partition(":")[0]
