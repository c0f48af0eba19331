"""``fairlead explain``: the arithmetic of the example adds up before the reader's eyes."""

import json
from pathlib import Path

from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import run_cli


def explained(tmp_path: Path, queue: str, *documents: str) -> list[list[str]]:
    ran = run_cli("explain", queue, "-f", write(tmp_path, "c.yaml", *documents))
    assert ran.exit_code == 0, ran.err
    return [line.split() for line in ran.out.splitlines()]


def test_every_step_is_shown_with_its_numbers(tmp_path: Path) -> None:
    # Three equal queues share 10 GPUs: 3 each, and the tenth goes to the first by age and name.
    shown = explained(
        tmp_path,
        "a",
        NODE,
        *(kai_queue(name) for name in "abc"),
        *(pod_group(f"j{name}", name, 9) for name in "abc"),
    )
    assert "a has a fair share of gpu 4.".split() in shown
    assert "a * 0 - 9 0".split() in shown
    assert "10 - 0 = 10 left.".split() in shown
    assert "a * 1 0.333 9 3.333 3 0.333".split() in shown
    assert "10 shared by 3 queues that need more; 1 left.".split() in shown
    assert "a * 1 0.333 age, then name 1".split() in shown


def test_a_share_above_the_request_is_explained(tmp_path: Path) -> None:
    fraction = (
        pod_group("ja", "a", 1)
        .replace(
            "annotations: {pod-group-name: ja}",
            'annotations: {pod-group-name: ja, gpu-fraction: "0.5"}',
        )
        .replace("nvidia.com/gpu: 1", "cpu: 1")
    )
    shown = explained(
        tmp_path,
        "a",
        NODE.replace('"10"', '"1"'),
        *(kai_queue(name) for name in "abc"),
        fraction,
        *(pod_group(f"j{name}", name, 9) for name in "bc"),
    )
    # 1/3 of a GPU each is no whole one; the unit left by rounding goes to a, which asked for 0.5
    assert (
        "That is 0.5 more than the 0.5 it can use: a unit left by rounding is given whole.".split()
        in shown
    )


def test_the_same_as_data(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", NODE, kai_queue("a"), pod_group("j", "a", 3))
    document = json.loads(run_cli("explain", "a", "-f", file, "-o", "json").out)
    assert document["kind"] == "QueueExplanation"
    gpu = next(d for d in document["divisions"] if d["resource"] == "gpu")["division"]
    assert [step["type"] for step in gpu["steps"]] == ["guarantee", "round", "final"]
    assert gpu["shares"] == [3000]


def test_many_siblings_are_cut_to_those_that_matter(tmp_path: Path) -> None:
    names = [f"q{at:02}" for at in range(30)]
    shown = explained(
        tmp_path,
        "q29",
        NODE.replace('"10"', '"60"'),
        *(kai_queue(name) for name in names),
        *(pod_group(f"j{name}", name, 9) for name in names),
    )
    assert "Shown: 12 of them: q29 and the largest shares.".split() in shown
    assert any(line[:2] == ["q29", "*"] for line in shown)
    assert "(18 more) 36".split() in shown  # 60 GPUs for 30 queues: 2 each


def test_an_unknown_queue_gets_a_suggestion(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", NODE, kai_queue("research"))
    ran = run_cli("explain", "reserch", "-f", file)
    assert ran.exit_code == 1
    assert 'did you mean "research"?' in ran.err
