"""``fairlead queues --diff`` on ElasticQuotas: who pays for another min or max, and who is saved.

In the example vision uses 6 of its min of 4 GPUs, speech 1 of 4, notebooks 2 of 2, of 10 in all.
Each GPU comes with 8 cores and 32Gi. decode of speech, a gang that asks for 3, takes back: vision's
train-c, of 2, is evicted for it.
"""

import re
from pathlib import Path

from tests.cli.run_cli import run_cli
from tests.shared_folder import ROOT

EXAMPLE = ROOT / "examples" / "elastic-quota"


def bound(gpus: int) -> str:
    return f"{{cpu: {8 * gpus}, memory: {32 * gpus}Gi, nvidia.com/gpu: {gpus}}}"


def changed(folder: Path, **bounds: tuple[int, int]) -> list[str]:
    """Return the words of each row about a job if namespaces had other bounds, min and max."""
    text = (EXAMPLE / "quotas.yaml").read_text(encoding="utf-8")
    for namespace, (least, most) in bounds.items():
        spec = f"\n  min: {bound(least)}\n  max: {bound(most)}\n"
        text, count = re.subn(
            rf"(namespace: {namespace}\nspec:)\n  min: .*\n  max: .*\n", rf"\g<1>{spec}", text
        )
        assert count == 1
    new = folder / "new.yaml"
    new.write_text(text, encoding="utf-8")
    ran = run_cli(
        *("queues", "-f", str(EXAMPLE / "nodes.yaml"), "-f", str(EXAMPLE / "pods.yaml")),
        *("--diff", str(EXAMPLE / "quotas.yaml"), str(new)),
    )
    assert (ran.exit_code, ran.err) == (0, "")
    jobs = ran.out.split("\n\n")[2].splitlines()
    return [" ".join(line.split()) for line in jobs]


def test_a_larger_min_saves_who_was_borrowed_and_lets_the_lender_wait(tmp_path: Path) -> None:
    """All 6 of vision are its own then, and with decode speech would be over its min: 1 + 3 > 2."""
    head, decode, train = changed(tmp_path, vision=(6, 8), speech=(2, 6))
    assert head == "JOB QUEUE OLD NEW NODES WHY"
    assert decode.startswith(
        "speech/podgroup/decode speech reserve 3/3 wait too little is left of the pool of all mins"
    )
    assert train == (
        "vision/train-c vision evict keep gpu-2 "
        "old: for speech/podgroup/decode: vision is over its min: nvidia.com/gpu: used 6 > min 4"
    )


def test_a_smaller_min_lets_another_one_be_evicted(tmp_path: Path) -> None:
    """Carol starts on the GPU that was free for decode, which needs both train-b and train-c."""
    assert changed(tmp_path, vision=(3, 8), notebooks=(3, 3)) == [
        "JOB QUEUE OLD NEW NODES WHY",
        (
            "notebooks/carol notebooks wait start gpu-2 "
            "within the min of notebooks: nvidia.com/gpu: used 2 + request 1 <= min 3"
        ),
        (
            "vision/train-b vision keep evict gpu-1 "
            "for speech/podgroup/decode: vision is over its min, and falls below it: "
            "cpu: used 32 > min 24; memory: used 128Gi > min 96Gi; nvidia.com/gpu: used 4 > min 3; "
            "cpu: left 16 < min 24; memory: left 64Gi < min 96Gi; nvidia.com/gpu: left 2 < min 3"
        ),
    ]


def test_a_max_below_what_runs_evicts_nobody(tmp_path: Path) -> None:
    """It binds who comes: train-d is refused by the max now, and waits as it did before."""
    assert changed(tmp_path, vision=(4, 4)) == ["no job's decision differs"]


def test_a_larger_max_is_of_no_use_where_others_are_entitled(tmp_path: Path) -> None:
    """Carol could borrow the 1 that is left, and would lose it to decode in the same plan."""
    assert changed(tmp_path, notebooks=(2, 3)) == ["no job's decision differs"]
