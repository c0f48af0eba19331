"""Reads Kueue's ResourceFlavor: a kind of node that quota can be on."""

from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.core.read_selector import read_taints, read_tolerations
from fairlead.manifest.kueue.objects import FlavorObject
from fairlead.manifest.kueue.reading.shared_fields import given_fields
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.catalogue import ResourceFlavor


def read_flavor(top: Cursor) -> FlavorObject | None:
    """Read a ResourceFlavor of v1beta2 or v1beta1; None if it has no usable name."""
    top.ignore("apiVersion", "kind", "status")
    metadata = read_metadata(top)
    spec = top.mapping("spec")
    flavor = ResourceFlavor(
        name=metadata.name,
        node_labels=tuple(sorted(spec.text_map("nodeLabels").items())),
        node_taints=read_taints(spec, "nodeTaints"),
        tolerations=read_tolerations(spec, "tolerations"),
        topology_name=spec.text("topologyName", ""),
    )
    topology = ("topologyName",) if flavor.topology_name else ()
    without_effect = given_fields(spec, *topology, "resourceWeights")
    top.finish()
    if not metadata.name:
        return None
    return FlavorObject(source=top.source, flavor=flavor, without_effect=without_effect)
