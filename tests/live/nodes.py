"""Fake nodes: one POST each, since an API server keeps the status of a node that is created."""

from tests.live.api import Api, Object

NODES = "/api/v1/nodes"


def create_node(
    api: Api,
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    gpus: int = 0,
    labels: dict[str, str] | None = None,
    is_cordoned: bool = False,
) -> Object:
    """Create a node that is ready."""
    room = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    if gpus:
        room["nvidia.com/gpu"] = str(gpus)
    ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "a fake node"}
    return api.create(
        NODES,
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            },
            "spec": {"unschedulable": True} if is_cordoned else {},
            "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
        },
    )


def cordon(api: Api, name: str, *, is_cordoned: bool = True) -> None:
    """Set whether a node takes new pods."""
    api.patch(f"{NODES}/{name}", {"spec": {"unschedulable": is_cordoned}})


def delete_all_nodes(api: Api) -> None:
    """Delete every node of the cluster."""
    api.delete(NODES)
