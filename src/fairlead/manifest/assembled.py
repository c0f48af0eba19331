"""What the readers hand on: one cluster state, and the rules that apply to it."""

import msgspec

from fairlead.manifest.translate.directory import ObjectDirectory
from fairlead.model.state import ClusterState
from fairlead.policy.contract import PolicyName, Settings, policy_of


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster state with the settings that apply to it, which also say which rule set it is."""

    state: ClusterState
    settings: Settings
    directory: ObjectDirectory
    shard: str | None = None  # its name, where the input has shards

    @property
    def policy(self) -> PolicyName:
        """The name of the rule set."""
        return policy_of(self.settings)
