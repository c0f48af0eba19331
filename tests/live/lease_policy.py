"""An admission policy that refuses nothing and keeps the API server up to date about Leases.

An API server (seen on v1.36.3) follows the parameters of its policies while any bound policy has
some of their kind. When the last one is removed, the next one gets the objects as they were then,
until the API server is started anew. Tests install and remove the fence, so one policy with a Lease
as its parameter has to stay.
"""

from tests.live.api import Api

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_NAME = "keeps-leases-up-to-date"


def keep_leases_up_to_date(api: Api) -> None:
    """Install the policy; it matches no request."""
    every_binding = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/binding"],
    }
    policy = {
        "paramKind": {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"},
        "matchConstraints": {"resourceRules": [every_binding]},
        "matchConditions": [{"name": "never", "expression": "false"}],
        "validations": [{"expression": "true"}],
    }
    binding = {
        "policyName": _NAME,
        "validationActions": ["Deny"],
        "paramRef": {"name": _NAME, "namespace": "default", "parameterNotFoundAction": "Allow"},
    }
    for plural, kind, spec in (
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", policy),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", binding),
    ):
        api.create(
            f"{ADMISSION}/{plural}",
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": _NAME},
                "spec": spec,
            },
        )
