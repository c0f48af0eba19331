"""How an administrator set the rules of capacity scheduling."""

import msgspec


class ElasticQuotaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the elastic-quota rules; the objects themselves have none."""
