/** `serviceaccounts/token`: a token for a service account, bound to a pod, a secret or a node if asked. */
import { formatTime, type JsonObject, parseApiVersion, parseDuration } from "@keelson/core";
import { goQuote } from "@keelson/core/internal";
import { type FieldError, invalidField } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginContext } from "../contracts/plugin.ts";
import { badRequest, conflict, invalid, notFound } from "../contracts/status-error.ts";
import type { VirtualResource } from "../contracts/virtual-resource.ts";
import type { Grant, ServiceAccountTokens } from "./service-account-tokens.ts";

const kind = { group: "authentication.k8s.io", kind: "TokenRequest" };
/** What kubelets ask for; such tokens live a year, and those who still use them after an hour are warned. */
const extendableSeconds = 3607;
const extendedSeconds = 365 * 86_400;

interface Spec extends JsonObject {
  audiences: string[];
  expirationSeconds: number;
}

export function tokenRequests(
  { store, clock, flag }: PluginContext,
  tokens: ServiceAccountTokens,
): VirtualResource {
  const maxSeconds = parseDuration(flag("service-account-max-token-expiration") ?? "0") / 1000;
  return {
    create(object, { namespace, name, dryRun: _, ...request }) {
      const meta = object.metadata;
      if (meta.name && meta.name !== name)
        throw invalid(kind, name, [
          invalidField("metadata.name", meta.name, "must match the service account name if specified"),
        ]);
      if (meta.namespace && meta.namespace !== namespace)
        throw invalid(kind, name, [
          invalidField(
            "metadata.namespace",
            meta.namespace,
            "must match the service account namespace if specified",
          ),
        ]);
      const account = store.get({ group: "", resource: "serviceaccounts" }, namespace, name);
      if (!account) throw notFound({ group: "", resource: "serviceaccounts" }, name);
      if (meta.uid && meta.uid !== account.metadata.uid)
        throw conflict(
          { group: kind.group, resource: kind.kind },
          name,
          `the UID in the token request (${meta.uid}) does not match the UID of the service account (${account.metadata.uid})`,
        );
      const given = (object.spec ?? {}) as Partial<Spec>;
      const spec: Spec = {
        ...given,
        audiences: given.audiences?.length ? given.audiences : [...tokens.audiences],
        expirationSeconds: given.expirationSeconds ?? 3600,
      };
      refuse(validate(spec.expirationSeconds));
      const grant = bind(spec, account);
      if (maxSeconds > 0 && spec.expirationSeconds > maxSeconds) {
        request.warn?.(
          `requested expiration of ${spec.expirationSeconds} seconds shortened to ${maxSeconds} seconds`,
        );
        spec.expirationSeconds = maxSeconds;
      }
      const extend =
        grant.pod !== undefined &&
        spec.expirationSeconds === extendableSeconds &&
        spec.audiences.every((audience) => tokens.audiences.includes(audience));
      const now = clock.now();
      const token = tokens.issue({
        account,
        ...grant,
        audiences: spec.audiences,
        expirationSeconds: extend ? extendedSeconds : spec.expirationSeconds,
        ...(extend && { warnAfterSeconds: extendableSeconds }),
      });
      return {
        kind: "TokenRequest",
        apiVersion: "authentication.k8s.io/v1",
        metadata: {
          ...meta,
          name,
          namespace,
          uid: account.metadata.uid as string,
          creationTimestamp: formatTime(now),
        },
        spec: { ...spec, boundObjectRef: spec.boundObjectRef ?? null },
        status: { token, expirationTimestamp: formatTime(now + spec.expirationSeconds * 1000) },
      };
    },
  };

  function bind(spec: Spec, account: ApiObject): Pick<Grant, "pod" | "node" | "secret"> {
    const ref = spec.boundObjectRef as JsonObject | undefined | null;
    if (!ref) return {};
    const { namespace = "", name: accountName } = account.metadata;
    const { group, version } = parseApiVersion(String(ref.apiVersion ?? ""));
    const name = String(ref.name ?? "");
    const find = (resource: string, within: string): ApiObject => {
      const object = store.get({ group: "", resource }, within, name);
      if (!object) throw notFound({ group: "", resource }, name);
      if (ref.uid && ref.uid !== object.metadata.uid)
        throw conflict(
          { group: "", resource: String(ref.kind) },
          name,
          `the UID in the bound object reference (${String(ref.uid)}) does not match the UID in record. The object might have been deleted and then recreated`,
        );
      return object;
    };
    if (group === "" && ref.kind === "Pod") {
      const pod = find("pods", namespace);
      const { serviceAccountName, nodeName } = pod.spec as JsonObject;
      if (serviceAccountName !== accountName)
        throw badRequest(
          `cannot bind token for serviceaccount ${goQuote(accountName)} to pod running with different serviceaccount name.`,
        );
      if (typeof nodeName !== "string" || nodeName === "") return { pod };
      const node = store.get({ group: "", resource: "nodes" }, "", nodeName);
      return { pod, node: { name: nodeName, uid: node?.metadata.uid ?? "" } };
    }
    if (group === "" && ref.kind === "Node") {
      const node = find("nodes", "");
      return { node: { name, uid: node.metadata.uid ?? "" } };
    }
    if (group === "" && ref.kind === "Secret") return { secret: find("secrets", namespace) };
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${String(ref.kind)}`);
  }
}

function validate(seconds: number): FieldError[] {
  const field = "spec.expirationSeconds";
  if (seconds < 600) return [invalidField(field, seconds, "may not specify a duration less than 10 minutes")];
  if (seconds > 2 ** 32)
    return [invalidField(field, seconds, "may not specify a duration larger than 2^32 seconds")];
  return [];
}

function refuse(errors: FieldError[]): void {
  if (errors.length > 0) throw invalid(kind, "", errors);
}
