"""Asks for what the tables of the capacity-scheduling plugin's own tests expect.

A row is one of four things: a situation (as the recorded cases are, with what its table expects
beside what the code answered), a sum or a comparison of amounts, a run that goes on until nothing
changes any more, or a look at the plugin's own data, which stands apart with the reason.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.conformance.elastic_answers import Answer, ByResource, CaseAnswer
from tests.conformance.elastic_arithmetic import ArithmeticAnswers, Step
from tests.conformance.elastic_engine import engine_answer
from tests.conformance.elastic_quota import MALFORMED, compared
from tests.conformance.elastic_suite_engine import (
    EngineArithmetic,
    engine_eligibility,
    engine_run,
)
from tests.conformance.outcome import Outcome
from tests.policy.elastic_quota.plain_arithmetic import PlainArithmetic
from tests.policy.elastic_quota.plain_rule import plain_answer, plain_eligibility
from tests.policy.elastic_quota.plain_run import plain_run

Json = Mapping[str, Any]

APART = {
    "NewElasticQuotaInfo": "what no limit is inside the plugin: its largest number, here None",
    "AddElasticQuota": "what no limit is inside the plugin: its largest number, here None",
    "UpdateElasticQuota": "a quota as the plugin keeps it; here each plan reads the objects anew",
    "DeleteElasticQuota": "a quota as the plugin keeps it; here each plan reads the objects anew",
    "UpdatePod": "a pod that is finished and runs again stays charged; here a phase alone decides",
}
SITUATIONS = ("PreFilter", "PostFilter", "DryRunPreemption")


class SuiteAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a row may ask."""

    answer: Answer
    is_eligible: Callable[[Json, ElasticQuotaSettings], bool]
    arithmetic: ArithmeticAnswers
    run_until_quiet: Callable[[Json], set[str]]  # the names of the pods that have a node then


PLAIN = SuiteAnswers(
    answer=plain_answer,
    is_eligible=plain_eligibility,
    arithmetic=PlainArithmetic(),
    run_until_quiet=plain_run,
)


ENGINE = SuiteAnswers(
    answer=engine_answer,
    is_eligible=engine_eligibility,
    arithmetic=EngineArithmetic(),
    run_until_quiet=engine_run,
)


def check(row: Any) -> list[Outcome]:
    """Compare what a row asks with its expectation; a malformed row fails, with why."""
    return checked(row, ENGINE)


def checked(row: Any, answers: SuiteAnswers) -> list[Outcome]:
    """Compare what a row asks, whoever answers."""
    identity = str(row.get("name", "?")) if isinstance(row, Mapping) else "?"
    table = str(row.get("table", "?")) if isinstance(row, Mapping) else "?"
    if table in APART:
        return [Outcome(id=identity, kind=table, status="apart", note=APART[table])]
    try:
        if table in SITUATIONS:
            return _situation(row, answers.answer)
        expected, got = READERS[table](row, answers)
    except MALFORMED as problem:
        note = f"malformed row: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=table, status="failed", note=note)]
    return [_judged(identity, table, expected, got)]


def _judged(identity: str, kind: str, expected: object, got: object) -> Outcome:
    is_right = got == expected
    return Outcome(
        id=identity,
        kind=kind,
        status="passed" if is_right else "failed",
        expected="" if is_right else json.dumps(expected),
        got="" if is_right else json.dumps(got),
    )


def _situation(row: Json, answer: Answer) -> list[Outcome]:
    """Compare with what the code answered and, as a kind of its own, with what the table says."""
    expected = row["expected"]
    ours = _as_expected(answer(row, FAITHFUL))
    got = {key: ours[key] for key in expected}
    by_kind = compared(row, FAITHFUL, answer)
    return [*by_kind, _judged(row["name"], row["table"], expected, got)]


def _as_expected(got: CaseAnswer) -> dict[str, object]:
    """Return an answer in the words of the tables."""
    said: dict[str, object] = {"preFilter": "Unschedulable" if got.refusal else "Success"}
    if got.claim is not None:
        victims = {name: node for name, node in got.claim.nodes.items() if node.victims}
        said |= {
            "chosenNode": got.claim.chosen,
            "code": got.claim.code,
            "victims": {name: list(node.victims) for name, node in victims.items()},
            "pdbViolations": sum(node.violations for node in victims.values()),
        }
    return said


def _eligible(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    return row["expected"]["eligible"], answers.is_eligible(row, FAITHFUL)


def _over_min(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    return row["expected"]["overMin"], answers.arithmetic.over_min(row["used"], row["min"])


def _over_min_with(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    got = answers.arithmetic.over_min_with(row["used"], row["min"], row["request"])
    return row["expected"]["overMin"], got


def _over_max_with(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    got = answers.arithmetic.over_max_with(row["used"], row["max"], row["request"])
    return row["expected"]["overMax"], got


def _all_come(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    """Nothing counts, or what the row says; then every request comes."""
    return _last_used(row, answers, _steps("reserve", row["requests"]), frozenset())


def _all_go(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    """Every request is part of what counts, and goes."""
    steps = _steps("unreserve", row["requests"])
    return _last_used(row, answers, steps, frozenset(step.pod for step in steps))


def _some_go(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    """Every request comes, and the first of them go again."""
    gone = row["requests"][: row["deleted"]]
    steps = _steps("reserve", row["requests"]) + _steps("unreserve", gone)
    return _last_used(row, answers, steps, frozenset())


def _steps(verb: Literal["reserve", "unreserve"], requests: Sequence[ByResource]) -> list[Step]:
    return [
        Step(verb=verb, pod=f"ns1/p{number}", request=request)
        for number, request in enumerate(requests)
    ]


def _last_used(
    row: Json, answers: SuiteAnswers, steps: list[Step], known: frozenset[str]
) -> tuple[object, object]:
    used = answers.arithmetic.used_after("ns1", row.get("used") or {}, known, steps)
    return _without_zeros(row["expected"]["used"]), _without_zeros(used[-1])


def _each_step(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    verb: Literal["reserve", "unreserve"] = "reserve" if row["table"] == "Reserve" else "unreserve"
    steps = [Step(verb=verb, pod=pod, request=request) for pod, request in row["steps"]]
    known = frozenset(row.get("knownPods") or ())
    used = answers.arithmetic.used_after(row["quota"], row["used"], known, steps)
    expected = [_without_zeros(each) for each in row["expected"]["usedAfterEachStep"]]
    return expected, [_without_zeros(each) for each in used]


def _integration(row: Json, answers: SuiteAnswers) -> tuple[object, object]:
    return sorted(row["expected"]["scheduled"]), sorted(answers.run_until_quiet(row))


def _without_zeros(amounts: ByResource) -> dict[str, int]:
    return {resource: amount for resource, amount in amounts.items() if amount}


READERS: dict[str, Callable[[Json, SuiteAnswers], tuple[object, object]]] = {
    "PodEligibleToPreemptOthers": _eligible,
    "UsedOverMin": _over_min,
    "UsedOverMinWith": _over_min_with,
    "UsedOverMaxWith": _over_max_with,
    "ReserveResource": _all_come,
    "AddPod": _all_come,
    "UnReserveResource": _all_go,
    "DeletePod": _some_go,
    "Reserve": _each_step,
    "Unreserve": _each_step,
    "integration": _integration,
}
