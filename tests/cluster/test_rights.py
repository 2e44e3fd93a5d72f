"""Who may do what: the answers of `kubectl auth can-i` for the operator, a driver and users, with the webhook on."""

import pytest
from kubernetes import client

from support.chart import Chart
from support.waiting import eventually

HOME, NAMESPACE, RELEASE = "rights-home", "rights-apps", "rights"
OPERATOR = f"{RELEASE}-streamapp-operator"
WHO = ("operator", "driver", "viewer", "editor", "administrator", "somebody")
MATRIX = f"""
                                                     operator  driver  viewer  editor  administrator  somebody
get streamapps.streamapp.dev                                       yes       no      yes     yes     yes            no
create streamapps.streamapp.dev                                    no        no      no      yes     yes            no
patch streamapps.streamapp.dev                                     yes       no      no      yes     yes            no
delete streamapps.streamapp.dev                                    no        no      no      yes     yes            no
patch streamapps.streamapp.dev/status                              yes       no      no      no      no             no
patch streamapps.streamapp.dev/scale                               no        no      no      yes     yes            no
create pods                                          yes       yes     no      yes     yes            no
delete pods                                          yes       yes     no      yes     yes            no
deletecollection pods                                no        yes     no      yes     yes            no
update pods                                          no        no      no      yes     yes            no
create pods/exec                                     no        no      no      yes     yes            no
create pods/ephemeralcontainers                      no        no      no      no      no             no
get pods/log                                         no        no      yes     yes     yes            no
get configmaps                                       yes       yes     yes     yes     yes            no
list configmaps                                      yes       no      yes     yes     yes            no
update configmaps                                    yes       yes     no      yes     yes            no
delete configmaps                                    yes       no      no      yes     yes            no
get secrets                                          yes       no      no      yes     yes            no
list secrets                                         no        no      no      yes     yes            no
create secrets                                       no        yes     no      yes     yes            no
delete secrets                                       no        no      no      yes     yes            no
create serviceaccounts                               yes       no      no      yes     yes            no
create serviceaccounts/token                         no        no      no      yes     yes            no
impersonate serviceaccounts                          no        no      no      yes     yes            no
delete persistentvolumeclaims                        yes       no      no      yes     yes            no
create persistentvolumeclaims                        no        yes     no      yes     yes            no
create networkpolicies.networking.k8s.io             yes       no      no      yes     yes            no
delete networkpolicies.networking.k8s.io             no        no      no      yes     yes            no
patch leases.coordination.k8s.io                     no        yes     no      yes     yes            no
get leases.coordination.k8s.io                       no        no      no      yes     yes            no
create rolebindings.rbac.authorization.k8s.io        yes       no      no      no      yes            no
create roles.rbac.authorization.k8s.io               no        no      no      no      yes            no
escalate roles.rbac.authorization.k8s.io             no        no      no      no      no             no
bind clusterroles.rbac.authorization.k8s.io/cluster-admin               no   no  no  no  no  no
bind clusterroles.rbac.authorization.k8s.io/{RELEASE}-streamapp-driver  yes  no  no  no  no  no
run drivers.streamapp.dev                            no        yes     no      no      no             no
nothing drivers.streamapp.dev                        no        no      no      no      no             no
create events                                        yes       no      no      yes     yes            no
list nodes                                           no        no      no      no      no             no
patch validatingwebhookconfigurations.admissionregistration.k8s.io/{OPERATOR}  yes  no  no  no  no  no
patch validatingwebhookconfigurations.admissionregistration.k8s.io/other       no   no  no  no  no  no
create validatingwebhookconfigurations.admissionregistration.k8s.io            no   no  no  no  no  no
update customresourcedefinitions.apiextensions.k8s.io                          no   no  no  no  no  no
"""
ROWS = [line.split() for line in MATRIX.strip().splitlines()[1:]]
CLUSTER_SCOPED = {"clusterroles", "nodes", "validatingwebhookconfigurations", "customresourcedefinitions"}


@pytest.fixture(scope="module")
def may(api, api_client, controllers):
    """A function that asks the API server whether somebody may do something in a namespace."""
    core = client.CoreV1Api(api_client)
    for name in (HOME, NAMESPACE):
        core.create_namespace({"metadata": {"name": name}})
    chart = Chart(api.cluster.programs, api.cluster.environment)
    values = {"webhook": {"enabled": True}, "watch": {"namespaces": []}, "rbac": {"confineDrivers": "Never"}}
    chart.install(RELEASE, HOME, values)
    for user, role in {"viewer": "view", "editor": "edit", "administrator": "admin"}.items():
        bind(api_client, role, {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"})
    account = {"kind": "ServiceAccount", "name": "shop-driver", "namespace": NAMESPACE}
    bind(api_client, f"{RELEASE}-streamapp-driver", account)
    users = {
        "operator": f"system:serviceaccount:{HOME}:{OPERATOR}",
        "driver": f"system:serviceaccount:{NAMESPACE}:shop-driver",
    }
    reviews = client.AuthorizationV1Api(api_client)

    def may(who, verb, what):
        resource, _, name = what.partition("/")
        subresource = ""
        if name in ("status", "scale", "exec", "ephemeralcontainers", "log", "token"):
            subresource, name = name, ""
        resource, _, group = resource.partition(".")
        attributes = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "name": name}
        attributes["namespace"] = "" if resource in CLUSTER_SCOPED else NAMESPACE
        review = {"spec": {"user": users.get(who, who), "resourceAttributes": attributes}}
        return reviews.create_subject_access_review(review).status.allowed

    assert eventually(lambda: may("operator", "get", "streamapps.streamapp.dev"))
    assert eventually(lambda: may("driver", "create", "pods"))
    assert eventually(lambda: may("administrator", "create", "streamapps.streamapp.dev"))
    assert eventually(lambda: may("viewer", "get", "streamapps.streamapp.dev"))
    yield may
    chart.uninstall(RELEASE, HOME)


def bind(api_client, role, subject):
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    body = {"metadata": {"generateName": "given-"}, "roleRef": reference, "subjects": [subject]}
    client.RbacAuthorizationV1Api(api_client).create_namespaced_role_binding(NAMESPACE, body)


@pytest.mark.parametrize("verb, what, answers", [(v, w, a) for v, w, *a in ROWS], ids=[f"{r[0]} {r[1]}" for r in ROWS])
def test_the_api_server_answers_as_the_matrix_says(may, verb, what, answers):
    found = {who: "yes" if may(who, verb, what) else "no" for who in WHO}
    assert found == dict(zip(WHO, answers, strict=True))
