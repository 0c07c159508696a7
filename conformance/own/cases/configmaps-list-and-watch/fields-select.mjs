// Field selectors of each built-in kind.
import { apps, batch, ns, test } from "../_lib.mjs";

// The collection's name and API group, as in events.events.k8s.io.
const resourceOf = (path) => {
  const [, api, group] = path.split("/");
  return api === "api" ? path.split("/").at(-1) : `${path.split("/").at(-1)}.${group}`;
};

const fieldSelectors = (path, list) =>
  test(`${resourceOf(path)} list: field selectors`, (t) => {
    for (const f of list)
      t.list(`${path}`, { fieldSelector: f }, { pick: (b) => (b.kind === "Status" ? b : b.kind) });
  });

export default [
  fieldSelectors(`${ns}/pods`, [
    "spec.nodeName=x",
    "spec.restartPolicy=Always",
    "spec.schedulerName=x",
    "spec.serviceAccountName=x",
    "spec.hostNetwork=true",
    "status.phase=Running",
    "status.podIP=1.1.1.1",
    "status.podIPs=1.1.1.1",
    "status.nominatedNodeName=x",
    "spec.priority=1",
    "status.hostIP=x",
    "spec.containers=x",
  ]),
  fieldSelectors(`${ns}/events`, [
    "involvedObject.kind=x",
    "involvedObject.namespace=x",
    "involvedObject.name=x",
    "involvedObject.uid=x",
    "involvedObject.apiVersion=x",
    "involvedObject.resourceVersion=x",
    "involvedObject.fieldPath=x",
    "reason=x",
    "reportingComponent=x",
    "source=x",
    "type=x",
    "message=x",
    "count=1",
  ]),
  fieldSelectors(`/apis/events.k8s.io/v1/namespaces/$NS/events`, [
    "regarding.kind=x",
    "regarding.name=x",
    "reason=x",
    "reportingController=x",
    "type=x",
    "involvedObject.name=x",
    "metadata.name=x",
  ]),
  ...[
    [`${ns}/secrets`, ["type=x", "metadata.name=x", "data=x"]],
    [`${ns}/services`, ["spec.clusterIP=None", "spec.type=ClusterIP", "spec.x=1"]],
    ["/api/v1/nodes", ["spec.unschedulable=true", "metadata.name=x", "status.phase=x"]],
    ["/api/v1/namespaces", ["status.phase=Active", "name=default", "metadata.name=x", "spec.x=1"]],
    [`${ns}/replicationcontrollers`, ["status.replicas=1", "spec.replicas=1"]],
    [`${apps}/replicasets`, ["status.replicas=1"]],
    [`${apps}/deployments`, ["status.replicas=1", "metadata.name=x"]],
    [`${batch}/jobs`, ["status.successful=1", "status.succeeded=1"]],
    [`${ns}/persistentvolumeclaims`, ["name=x", "metadata.name=x", "status.phase=x"]],
    ["/api/v1/persistentvolumes", ["name=x", "status.phase=x"]],
    ["/apis/certificates.k8s.io/v1/certificatesigningrequests", ["spec.signerName=x", "status.x=1"]],
    ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ["metadata.name=x", "spec.group=x"]],
    ["/apis/resource.k8s.io/v1/resourceslices", ["spec.nodeName=x", "spec.driver=x"]],
    [`/apis/networking.k8s.io/v1/namespaces/$NS/ingresses`, ["metadata.name=x", "spec.x=1"]],
  ].map(([p, l]) => fieldSelectors(p, l)),
];
