"""Reads an exposition back as Prometheus does, for tests that compare numbers."""

from prometheus_client.parser import text_string_to_metric_families


def scraped(text: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Return for each name its numbers by labels, sorted; a sample that comes twice is a fault."""
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge", family.name
        for sample in family.samples:
            numbers = found.setdefault(sample.name, {})
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in numbers, (sample.name, labels)
            numbers[labels] = sample.value
    return found


def by_label(text: str, name: str, label: str, **wanted: str) -> dict[str, float]:
    """Return the numbers of *name* by one label, of those samples that have what is *wanted*."""
    numbers = {}
    for labels, value in scraped(text).get(name, {}).items():
        has = dict(labels)
        if wanted.items() <= has.items():
            assert has[label] not in numbers, (name, has)
            numbers[has[label]] = value
    return numbers
