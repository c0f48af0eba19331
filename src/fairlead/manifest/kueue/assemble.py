"""From all objects of Kueue in one input to a cluster state, with advice about them."""

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.assembly_rules import OF_FILES
from fairlead.manifest.collection import Collection
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assemble_advice import advise_kueue
from fairlead.manifest.kueue.assemble_objects import kueue_objects, refuse_cohort_cycles
from fairlead.manifest.kueue.assemble_references import warn_of_missing
from fairlead.manifest.kueue.assemble_without_effect import warn_of_no_effect
from fairlead.manifest.kueue.assemble_workloads import refuse_too_many_pods
from fairlead.manifest.objects import CohortObject
from fairlead.manifest.translate.take_all import take_all
from fairlead.manifest.translate.translator import Translator


def assemble_kueue(objects: Collection, findings: Findings) -> Assembled | None:
    """Return the cluster that *objects* describe, or None if anything in the input is an error.

    All that is wrong or doubtful between the objects goes to *findings*. The order in which the
    objects were read changes nothing. Cost: O(objects x axes), and the size of what is admitted.
    """
    translator = Translator("kueue", OF_FILES)
    take_all(translator, objects, findings)
    cohorts = translator.mirror.of(CohortObject)
    refuse_cohort_cycles(cohorts, findings)
    found = kueue_objects(translator.mirror, cohorts)
    warn_of_missing(found, findings)
    warn_of_no_effect(found, findings)
    refuse_too_many_pods(found.unfinished_workloads(), findings)
    if findings.has_errors:
        return None
    translator.settle()
    advise_kueue(found, translator.state, findings)
    return Assembled(state=translator.state, settings=translator.settings)
