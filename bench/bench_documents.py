"""Reading and checking manifests: YAML to values, and values to typed fields."""

from decimal import Decimal

from bench.harness import Work, benchmark
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document, read_bytes

QUEUES = 1000
MANIFEST = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata:
  name: team-{number}
  labels:
    department: research-{department}
spec:
  parentQueue: department-{department}
  priority: 100
  reclaimMinRuntime: 5m
  resources:
    gpu: {{quota: 4, limit: -1, overQuotaWeight: 1}}
    cpu: {{quota: 4000, limit: -1, overQuotaWeight: 2.5}}
    memory: {{quota: 64000, limit: -1, overQuotaWeight: 1}}
"""


def _files() -> list[tuple[str, bytes]]:
    return [
        (f"team-{number}.yaml", MANIFEST.format(number=number, department=number % 10).encode())
        for number in range(QUEUES)
    ]


def _read(files: list[tuple[str, bytes]], findings: Findings) -> list[Document]:
    return [document for file, data in files for document in read_bytes(data, file, findings)]


def _check(document: Document, findings: Findings) -> list[Decimal]:
    top = Cursor.of(document, findings)
    top.ignore("apiVersion", "kind", "status")
    metadata = top.mapping("metadata", required=True)
    metadata.text("name")
    metadata.text_map("labels")
    spec = top.mapping("spec")
    spec.text("displayName", "")
    spec.text("parentQueue", "")
    spec.integer("priority", 100)
    spec.duration("preemptMinRuntime", None)
    spec.duration("reclaimMinRuntime", None)
    resources = spec.mapping("resources")
    amounts = [
        resource.decimal(field, Decimal(0))
        for resource in map(resources.mapping, ("gpu", "cpu", "memory"))
        for field in ("quota", "limit", "overQuotaWeight")
    ]
    top.finish()
    return amounts


@benchmark("read and check 1,000 queue manifests (YAML)", goal_cpu_ms=300)
def prepare_read_and_check() -> Work:
    """Read every file and every field, as `validate` will."""
    files = _files()

    def work() -> None:
        findings = Findings()
        for document in _read(files, findings):
            _check(document, findings)
        assert len(findings) == 0

    return work


@benchmark("of which: YAML to values")
def prepare_read() -> Work:
    """Only parse."""
    files = _files()
    return lambda: _read(files, Findings())


@benchmark("of which: values to fields")
def prepare_check() -> Work:
    """Only read the fields."""
    findings = Findings()
    documents = _read(_files(), findings)
    return lambda: [_check(document, findings) for document in documents]
