"""The Settings that `fairlead run` is given."""

from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.manifest.text.documents import cluster_document
from fairlead.manifest.text.values import Mapping
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.cli.run_cli import run_cli

LIVE = ("run", "--policy", "elastic-quota")
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {}}]
"""
UNNAMED = "apiVersion: fairlead/v1\nkind: Settings\nspec: {elasticQuota: {protectMin: 7}}\n"

SETTINGS = {
    "wrong, and without a name, which Settings need not have": (
        UNNAMED,
        "settings.yaml:3: error: $.spec.elasticQuota.protectMin: found the number 7",
    ),
    "twice": (UNNAMED.replace("7", "true") + "---\n" + UNNAMED, "has 2 Settings, in "),
    "an object of a cluster": (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
        "-f has the object Namespace in",
    ),
}


@pytest.mark.parametrize(("text", "words"), SETTINGS.values(), ids=SETTINGS.keys())
def test_settings_that_cannot_be_are_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG, encoding="utf-8")
    files = ("--kubeconfig", str(tmp_path / "kubeconfig"), "-f", str(tmp_path / "settings.yaml"))
    done = run_cli(*LIVE, *files)
    assert done.exit_code == 1
    assert words in done.err


def test_settings_without_a_name_count() -> None:
    rules: Mapping = {"protectMin": True}
    unnamed: Mapping = {
        "apiVersion": "fairlead/v1",
        "kind": "Settings",
        "spec": {"elasticQuota": rules},
    }
    engine = Engine("elastic-quota", [cluster_document(unnamed)])
    assert isinstance(engine.settings, ElasticQuotaSettings)
    assert engine.settings.protect_min
