"""Long random histories by number: what fails is found again by its seed."""

from random import Random

import pytest
import yaml

from fairlead.manifest.load import load
from fairlead.manifest.translate.family import OF_FILES
from fairlead.policy.contract import PolicyName
from tests.manifest.translate.history import (
    WORLDS,
    History,
    carry_memories,
    compare_states,
    objects_of,
    translated,
)

STEPS = 100  # at most, before each rest
RESTS = 2
BLOCKS = 5  # of the thousand, so that several processes share them


def live_through(policy: PolicyName, seed: int) -> History:
    """Return the history of a seed, which came to rest several times and held all laws."""
    random = Random(seed)
    history = History(policy, random)
    for _ in range(RESTS):
        for _ in range(random.randrange(STEPS)):
            history.step(random)
        history.come_to_rest(outcomes_first=random.randrange(2) == 0)
        history.check_rest()
    return history


def compare_with_files(history: History) -> None:
    """Assert that the final objects, written as a file, give the same state and the same plan."""
    text = yaml.dump_all(objects_of(history.server), Dumper=yaml.CSafeDumper)
    result = load([], policy=history.policy, texts=[("objects.yaml", text)])
    if result.assembled is None:
        assert any(each.severity == "error" for each in result.findings)
        return
    seen = translated(history.policy, history.server, reversed(history.server.log), OF_FILES)
    assert seen.settings == result.assembled.settings
    compare_states(seen.state, result.assembled.state)
    compare_states(result.assembled.state, seen.state)
    carry_memories(seen.state, result.assembled.state)
    history.compare_plans(seen.state, result.assembled.state, seen.settings)


def live_through_all(policy: PolicyName, seeds: range) -> None:
    for seed in seeds:
        try:
            history = live_through(policy, seed)
            if seed % 5 == 0:
                compare_with_files(history)
        except Exception as error:
            error.add_note(f"seed {seed} of {policy}")
            raise


@pytest.mark.parametrize("policy", sorted(WORLDS))
def test_a_few_histories_end_as_if_seen_from_scratch(policy: PolicyName) -> None:
    live_through_all(policy, range(20))


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("policy", sorted(WORLDS))
def test_a_thousand_histories_end_as_if_seen_from_scratch(policy: PolicyName, block: int) -> None:
    first = 1000 + block * 1000 // BLOCKS
    live_through_all(policy, range(first, first + 1000 // BLOCKS))
