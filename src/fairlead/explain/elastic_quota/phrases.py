"""What the reason codes of the ElasticQuota rules say in words."""

from typing import Final

from fairlead.explain.text.phrases import Phrases

PHRASES: Final = Phrases(
    phrases={
        "WithinMin": "within the min of {queue}: {first}",
        "Borrows": "borrows what others leave of their mins: {scarcest}",
        "WithoutQuota": "its namespace has no quota",
        "TakesBack": "takes back, within the min of {queue}: {scarcest}",
        "WaitsForLeaving": "has a place once others have left",
        "MinTakenBack": "{queue} is over its min: {scarcest}",
        "TakenBelowMin": "{queue} is over its min, and falls below it: {all}",
        "OverMax": "over the max of {queue}: {scarcest}",
        "PoolExhausted": "too little is left of all mins: {scarcest}; over their min: {held}",
        "ScheduleTimedOut": (
            "gives up its places: not all were free within scheduleTimeoutSeconds"
        ),
        "NeverPreempts": "its preemptionPolicy is Never",
        "BeyondMin": (
            "beyond its min {queue} asks only its own less important pods: {scarcest}; {tallies}"
        ),
        "NobodyBorrows": "nobody else is over its min once those have left who are leaving",
    },
    shorter={
        "PoolExhausted": ("too little is left of all mins: {scarcest}",),
        "BeyondMin": (
            (
                "beyond its min {queue} asks only its own less important pods, and has none: "
                "{scarcest}"
            ),
        ),
    },
    claim_stages={
        "BeyondMin": 2,
        "NobodyBorrows": 2,
        "NeverPreempts": 2,
    },
    curable=frozenset({"PoolExhausted", "OverMax"}),
    actions=("preemption",),
)
