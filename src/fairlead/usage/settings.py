"""How an administrator set past use: what of it counts, and where it is kept or read.

These are facts only. `fairlead.store` reads and writes them, a rule set decides by the numbers.
"""

from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.usage.queue_use import Charge
from fairlead.usage.window import Sliding, Window

SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
DAY_MS: Final = 24 * 60 * MINUTE_MS
WEEK_MS: Final = 7 * DAY_MS

OnStale: TypeAlias = Literal["hold", "decay", "drop"]
"""What counts while nothing new is heard: the last numbers as they are, the last numbers growing
older as if nothing was used since, or nothing at all."""


class UsageRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which past usage counts."""

    window: Window = Sliding(WEEK_MS)
    half_life_ms: int | None = None  # None: it does not fade
    way: Literal["exact", "sampled"] = "exact"
    resolution_ms: int = MINUTE_MS  # of samples; nothing is looked up more finely in Prometheus
    charge: Charge = "all"
    staleness_ms: int = 5 * MINUTE_MS  # what is older than that is stale
    on_stale: OnStale = "drop"


class StoreSource(msgspec.Struct, frozen=True, kw_only=True, tag="store"):
    """A file of our own."""

    path: str
    keep_raw_ms: int = 2 * WEEK_MS  # how long every change is kept; older ones are rolled up


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """How a server knows us; secrets are named by where they are, and never written down."""

    user: str = ""  # basic authentication
    password_file: str = ""
    token_file: str = ""  # bearer token
    ca_file: str = ""  # CA of the server's certificate; "": those that the machine trusts


class PrometheusSource(msgspec.Struct, frozen=True, kw_only=True, tag="prometheus"):
    """A server that scraped what queues held."""

    url: str = ""
    url_variable: str = ""  # the variable of the environment that has the address
    metrics: tuple[tuple[str, str], ...] = ()  # the name of a parameter, and the query in its place
    guarantee_metrics: tuple[tuple[str, str], ...] = ()  # resource, and the query of what is due
    query_timeout_ms: int = 10 * SECOND_MS
    fetch_interval_ms: int = MINUTE_MS
    wait_timeout_ms: int = MINUTE_MS  # how long the first answer is waited for
    credentials: Credentials = Credentials()


UsageSource: TypeAlias = StoreSource | PrometheusSource


class UsageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that is set about past use."""

    rules: UsageRules = UsageRules()
    source: UsageSource | None = None  # None: it is told otherwise, such as on the command line
