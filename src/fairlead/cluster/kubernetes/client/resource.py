"""One kind of object as an API server serves it, and the paths at which it does."""

from urllib.parse import quote

import msgspec


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A group, a version and the name of a collection, such as apps, v1 and deployments."""

    group: str  # "": the core group
    version: str
    plural: str
    is_namespaced: bool = True

    def collection(self, namespace: str = "") -> str:
        """Return the path of all objects, or of those in one namespace."""
        assert self.is_namespaced or not namespace, "objects without namespaces have none"
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        return f"{root}{within}/{self.plural}"

    def path(self, name: str, namespace: str = "", subresource: str = "") -> str:
        """Return the path of one object, or of a subresource of it such as ``binding``."""
        assert bool(namespace) == self.is_namespaced
        below = f"/{subresource}" if subresource else ""
        return f"{self.collection(namespace)}/{quote(name, safe='')}{below}"
