"""How an administrator set the rules of capacity scheduling."""

import msgspec


class ElasticQuotaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the elastic-quota rules; the scheduler's name says which pods are ours."""

    scheduler_name: str | None = None  # None: every pod in a namespace with a quota, and pending
