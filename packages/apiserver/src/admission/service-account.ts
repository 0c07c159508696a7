/** ServiceAccount: every pod runs as an account, and gets its token. */
import type { Clock, Random } from "@keelson/core";
import { generateName } from "@keelson/core/internal";
import type { Container, Pod, PodSpec, ServiceAccount, Volume } from "@keelson/core/kinds";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { StoreReader } from "../contracts/store.ts";
import { refused } from "./refusals.ts";

const accounts = { group: "", resource: "serviceaccounts" };
const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const volumePrefix = "kube-api-access-";
const mirror = "kubernetes.io/config.mirror";
const enforceSecrets = "kubernetes.io/enforce-mountable-secrets";
/** A namespace is new before its default account is; the controller needs a moment. */
const patienceMs = 1000;

export interface ServiceAccountOptions {
  readonly store: StoreReader;
  readonly clock: Clock;
  readonly random: Random;
}

export function serviceAccount({ store, clock, random }: ServiceAccountOptions): AdmissionPlugin {
  const find = (namespace: string, name: string) =>
    store.get(accounts, namespace, name) as unknown as ServiceAccount | undefined;

  const waitFor = (namespace: string, name: string): Promise<ServiceAccount | undefined> =>
    new Promise((resolve) => {
      const finish = (found: ServiceAccount | undefined) => {
        stop();
        cancel();
        resolve(found);
      };
      const stop = store.subscribe(accounts, ({ object }) => {
        if (object?.metadata.name === name && object.metadata.namespace === namespace)
          finish(object as unknown as ServiceAccount);
      });
      const cancel = clock.timer(patienceMs, () => finish(undefined));
    });

  const lookUp = async (request: AdmissionRequest, name: string): Promise<ServiceAccount> => {
    const { namespace } = request;
    const account =
      find(namespace, name) ?? (name === "default" ? await waitFor(namespace, name) : undefined);
    if (account) return account;
    throw refused(
      request,
      `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
    );
  };

  return {
    name: "ServiceAccount",
    admit(request) {
      if (!isPod(request) || request.operation !== "CREATE") return;
      const pod = request.object as unknown as Pod;
      const spec = pod.spec as PodSpec;
      if (pod.metadata?.annotations?.[mirror] !== undefined) return refuseMirror(request, pod);
      const name = spec.serviceAccountName || "default";
      spec.serviceAccountName = name;
      spec.serviceAccount = name;
      const known = find(request.namespace, name);
      if (known) return complete(spec, known, random);
      return lookUp(request, name).then((account) => complete(spec, account, random));
    },
    validate(request) {
      if (!isPod(request)) return;
      const pod = request.object as unknown as Pod;
      const spec = pod.spec as PodSpec;
      const debugging = request.operation === "UPDATE" && request.subresource === "ephemeralcontainers";
      if (!debugging && request.operation !== "CREATE") return;
      if (!debugging && pod.metadata?.annotations?.[mirror] !== undefined) return refuseMirror(request, pod);
      if (!spec.serviceAccountName)
        throw refused(
          request,
          `no service account specified for pod ${request.namespace}/${pod.metadata?.name ?? ""}`,
        );
      const account = find(request.namespace, spec.serviceAccountName);
      if (account?.metadata?.annotations?.[enforceSecrets] !== "true") return;
      const problem = secretProblem(spec, account, debugging);
      if (problem) throw refused(request, problem);
    },
  };
}

function isPod({ resource, subresource, object }: AdmissionRequest): boolean {
  if (resource.resource !== "pods" || resource.group !== "" || object?.kind !== "Pod") return false;
  return subresource === "" || subresource === "ephemeralcontainers";
}

/** A mirror of a static pod has no account, and nothing that an account would vouch for. */
function refuseMirror(request: AdmissionRequest, pod: Pod): void {
  const spec = pod.spec as PodSpec;
  if (spec.serviceAccountName) throw refused(request, "a mirror pod may not reference service accounts");
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const secrets =
    spec.imagePullSecrets?.length ||
    spec.volumes?.some(
      ({ secret, projected }) => secret || projected?.sources?.some((source) => source.secret),
    ) ||
    containers.some(
      ({ env = [], envFrom = [] }) =>
        env.some(({ valueFrom }) => valueFrom?.secretKeyRef) || envFrom.some(({ secretRef }) => secretRef),
    );
  if (secrets) throw refused(request, "a mirror pod may not reference secrets");
  if (spec.volumes?.some(({ projected }) => projected?.sources?.some((source) => source.serviceAccountToken)))
    throw refused(request, "a mirror pod may not use ServiceAccountToken volume projections");
}

function complete(spec: PodSpec, account: ServiceAccount, random: Random): void {
  const mount = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
  if (mount) mountToken(spec, random);
  if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length)
    spec.imagePullSecrets = account.imagePullSecrets.map(({ name }) => (name === undefined ? {} : { name }));
}

function mountToken(spec: PodSpec, random: Random): void {
  const existing = (spec.volumes ?? []).find(({ name }) => name.startsWith(volumePrefix));
  const name = existing?.name ?? generateName(volumePrefix, random);
  let needed = false;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])] as Container[]) {
    if (container.volumeMounts?.some((mount) => mount.mountPath === mountPath)) continue;
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
    needed = true;
  }
  if (!existing && needed) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
      defaultMode: 0o644,
    },
  };
}

/** What the pod refers to that its account does not. */
function secretProblem(spec: PodSpec, account: ServiceAccount, debugging: boolean): string | undefined {
  const allowed = new Set((account.secrets ?? []).map(({ name }) => name));
  const who = account.metadata?.name ?? "";
  const suffix = `is not allowed because service account ${who} does not reference that secret`;
  const groups: readonly [what: string, containers: readonly Container[]][] = debugging
    ? [["ephemeral container", (spec.ephemeralContainers ?? []) as Container[]]]
    : [
        ["init container", spec.initContainers ?? []],
        ["container", spec.containers ?? []],
      ];
  if (!debugging)
    for (const { secret } of spec.volumes ?? [])
      if (secret && !allowed.has(secret.secretName))
        return `volume with secret.secretName="${secret.secretName}" ${suffix}`;
  for (const [what, containers] of groups)
    for (const container of containers) {
      for (const { name, valueFrom } of container.env ?? []) {
        const ref = valueFrom?.secretKeyRef;
        if (ref && !allowed.has(ref.name))
          return `${what} ${container.name} with envVar ${name} referencing secret.secretName="${ref.name}" ${suffix}`;
      }
      for (const { secretRef } of container.envFrom ?? [])
        if (secretRef && !allowed.has(secretRef.name))
          return `${what} ${container.name} with envFrom referencing secret.secretName="${secretRef.name}" ${suffix}`;
    }
  if (debugging) return undefined;
  const pullable = new Set((account.imagePullSecrets ?? []).map(({ name }) => name));
  for (const [i, { name }] of (spec.imagePullSecrets ?? []).entries())
    if (!pullable.has(name))
      return `imagePullSecrets[${i}].name="${name}" is not allowed because service account ${who} does not reference that imagePullSecret`;
  return undefined;
}
