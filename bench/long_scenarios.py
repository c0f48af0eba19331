"""Long stretches of big clusters, as scenario files: one that is made up, and two real ones.

The made-up month is what the goals of the simulator speak of. The real ones are logs in the shared
folder: fifteen virtual clusters of Philly, and eleven days of a grid. Each asks for more than its
cluster has, if not all the time, because an idle cluster is no work for a scheduler.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Final, TypeAlias

from bench.harness import AbsentInputError
from tests.shared_folder import shared_folder

Document: TypeAlias = dict[str, Any]

MONTH_DAYS = 30

# weight, pods, GPUs of each: 20 in 100 are gangs, and a job takes 8.32 GPUs on average.
MONTH_SHAPES: Final = (
    (50, 1, 1),
    (15, 1, 2),
    (10, 1, 4),
    (5, 1, 8),
    (10, 2, 8),
    (6, 4, 8),
    (3, 8, 8),
    (1, 16, 8),
)

# In nodes, as published (specs of the trace); the others have hardly any jobs.
VIRTUAL_CLUSTERS: Final = {
    "0e4a51": 32,
    "103959": 8,
    "11cb48": 16,
    "23dbec": 0,
    "2869ce": 16,
    "51b7ef": 0,
    "6214e9": 64,
    "6c71a0": 32,
    "795a4c": 0,
    "7f04ca": 32,
    "925e2b": 0,
    "b436b2": 64,
    "e13805": 16,
    "ed69ec": 8,
    "ee9e8c": 64,
}
PHILLY_GPUS = 512

LCG_GROUPS = 28
LCG_SLOTS = 1_200


def month(_: int, days: int | None) -> Document:
    """A thousand GPUs, a hundred teams in ten departments, and about 1,667 jobs a day.

    Every team is guaranteed 8 GPUs, and a fifth of the cluster goes by weight. Some teams bring
    four times the work of others, so some live on what others leave. Jobs run for 114 minutes on
    average: 1,667 x 8.32 x 1.9 h = 26,400 GPU hours a day, where 24,000 would be all.
    """
    teams = [f"department-{each}-team-{team}" for each, team in product(range(1, 11), repeat=2)]
    departments = [{"name": f"department-{each}", "weight": 1 + each % 3} for each in range(1, 11)]
    return _scenario(
        "month",
        duration_days=days or MONTH_DAYS,
        nodes={"name": "gpu", "count": 125, "capacity": {"cpu": 128, "memory": "1Ti", "gpu": 8}},
        queues=[*departments, *map(_team, teams)],
        work={
            "name": "job",
            "queue": {"drawn": {team: 1 + number % 4 for number, team in enumerate(teams)}},
            "shapes": [_shape(*each) for each in MONTH_SHAPES],
            "arrivals": {"poisson": {"load": 1.1}},
        },
    )


def philly(from_day: int, days: int | None) -> Document:
    """512 GPUs for 82,247 jobs of 109 days; what is guaranteed goes by the published sizes."""
    total = sum(VIRTUAL_CLUSTERS.values())
    return _scenario(
        "philly",
        duration_days=days,
        nodes={"name": "gpu", "count": PHILLY_GPUS // 8, "capacity": {"gpu": 8}},
        queues=[
            {"name": name, "guaranteed": {"gpu": PHILLY_GPUS * size // total}}
            for name, size in VIRTUAL_CLUSTERS.items()
        ],
        work={"name": "job", "trace": {**_trace("philly-vc", from_day), "podAtMost": {"gpu": 8}}},
    )


def lcg(from_day: int, days: int | None) -> Document:
    """1,200 processors for 187,520 jobs of eleven days, which would keep 1,581 busy."""
    groups = [f"g{number}" for number in range(1, LCG_GROUPS + 1)]
    return _scenario(
        "lcg",
        duration_days=days,
        nodes={"name": "node", "count": LCG_SLOTS // 16, "capacity": {"cpu": 16}},
        queues=[{"name": name, "guaranteed": {"cpu": LCG_SLOTS // LCG_GROUPS}} for name in groups],
        work={
            "name": "job",
            "trace": {
                **_trace("lcg-2005", from_day),
                "queues": {"by": "group", "others": "{group}"},
            },
        },
    )


SCENARIOS: Final[Mapping[str, Callable[[int, int | None], Document]]] = {
    "month": month,
    "philly": philly,
    "lcg": lcg,
}


def _scenario(
    name: str, *, duration_days: int | None, nodes: Document, queues: list[Document], work: Document
) -> Document:
    duration = {} if duration_days is None else {"duration": f"{duration_days}d"}
    return {
        "apiVersion": "fairlead/v1",
        "kind": "Scenario",
        "metadata": {"name": name},
        "spec": {
            **duration,
            "seed": 1,
            "cluster": {"nodes": [nodes]},
            "queues": queues,
            "policies": ["kai", "kueue", "elastic-quota"],
            "cycle": {"atMostEvery": "10s"},
            "work": [work],
        },
    }


def _team(name: str) -> Document:
    department, _, _ = name.partition("-team-")
    return {"name": name, "parent": department, "guaranteed": {"gpu": 8}}


def _shape(weight: int, pods: int, gpus: int) -> Document:
    return {
        "weight": weight,
        "pods": pods,
        "requests": {"cpu": 8 * gpus, "memory": f"{64 * gpus}Gi", "gpu": gpus},
        "run": {"lognormal": {"mean": "114m", "sigma": 1.2}},
        "checkpoint": "30m",
    }


def _trace(name: str, from_day: int) -> Document:
    file = shared_folder() / "traces" / f"{name}.csv.gz"
    if not file.exists():
        raise AbsentInputError(f"no traces/{file.name} in the shared folder: set FAIRLEAD_SHARED")
    return {"path": str(file), "from": f"{from_day}d"}
