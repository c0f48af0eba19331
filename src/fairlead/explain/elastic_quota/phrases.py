"""What the reason codes of the ElasticQuota rules say in words."""

from typing import Final

from fairlead.explain.text.phrases import Phrases

PHRASES: Final = Phrases(
    phrases={
        "WouldPreemptInVain": "could preempt, but could not start then: {names} goes first",
        "WithinMin": "within the min of {queue}: {first}",
        "Borrows": "borrows what other namespaces leave of their mins: {scarcest}",
        "WithoutQuota": "its namespace has no quota",
        "TakesBack": "reclaims, within the min of {queue}: {scarcest}",
        "WaitsForLeaving": "has a place once terminating pods have left",
        "MinTakenBack": "{queue} is over its min: {scarcest}",
        "TakenBelowMin": "{queue} is over its min, and falls below it: {all}",
        "OverMax": "over the max of {queue}: {scarcest}",
        "PoolExhausted": (
            "too little is left of the pool of all mins: {scarcest}; over their min: {held}"
        ),
        "ScheduleTimedOut": (
            "gives up its places: its pods could not all start within scheduleTimeoutSeconds"
        ),
        "NeverPreempts": "its preemptionPolicy is Never",
        "BeyondMin": (
            "over its min, {queue} may preempt only its own pods of lower priority: {scarcest}; "
            "{tallies}"
        ),
        "NobodyBorrows": "no other namespace is over its min (terminating pods not counted)",
    },
    shorter={
        "PoolExhausted": ("too little is left of the pool of all mins: {scarcest}",),
        "BeyondMin": (
            (
                "over its min, {queue} may preempt only its own pods of lower priority, of which "
                "there are none: {scarcest}"
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
