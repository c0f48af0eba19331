"""``fairlead plan`` on ElasticQuotas: who gives way, and why others wait."""

from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

EXAMPLE = str(ROOT / "examples" / "elastic-quota")


def rows(*arguments: str) -> dict[str, str]:
    """Return the rows of a plan by job, without the blanks of the table."""
    ran = run_cli("plan", "-f", *arguments)
    assert ran.exit_code == 0, ran.err
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    return {line.split()[1]: line for line in lines[1:] if "/" in line}


def test_a_row_says_what_refused_a_pod_and_why_nobody_gives_way() -> None:
    """The pool lacks 9 + 2 - 10 = 1 GPU; beyond its min vision may ask itself only."""
    assert rows(EXAMPLE)["vision/train-d"] == (
        "wait vision/train-d vision "
        "too little is left of the pool of all mins: nvidia.com/gpu: used by all "
        "9 + request 2 > all mins 10; "
        "over their min: vision 6 (2 borrowed) of nvidia.com/gpu; "
        "preemption: over its min, vision may preempt only its own pods of lower "
        "priority, of which there are none: "
        "nvidia.com/gpu: used 6 + request 2 > min 4"
    )


def test_a_max_is_told_with_the_claim_on_less_important_pods() -> None:
    assert rows(EXAMPLE)["notebooks/carol"] == (
        "wait notebooks/carol notebooks "
        "over the max of notebooks: nvidia.com/gpu: used 2 + request 1 > max 2; "
        "preemption: over its min, notebooks may preempt only its own pods of "
        "lower priority, of which there are none: "
        "nvidia.com/gpu: used 2 + request 1 > min 2"
    )


def test_who_takes_back_and_who_gives_stand_next_to_each_other() -> None:
    found = list(rows(EXAMPLE).values())
    at = next(at for at, row in enumerate(found) if row.startswith("evict vision/train-c"))
    assert (
        "for speech/podgroup/decode: vision is over its min: nvidia.com/gpu: used 6 > min 4"
        in found[at]
    )
    assert found[at + 1].startswith("reserve speech/podgroup/decode speech 3/3 gpu-2 x3 reclaims")
