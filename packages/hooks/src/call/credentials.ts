/** What a hook is shown and whom it must be: from Secrets and ConfigMaps that the definition names. */
import type { AnyKind, ObjectRef } from "@keelson/core";
import { ConfigMap, Secret } from "@keelson/core/kinds";
import type { EndpointConfig } from "../api/webhook.ts";
import { HookError } from "../errors.ts";

/** Reads one object. */
export type ReadObject = (kind: AnyKind, ref: ObjectRef) => Promise<unknown>;

/** What goes into a request. */
export interface Credentials {
  readonly authorization?: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

type Endpoint = Partial<Omit<EndpointConfig, "host">>;

/** Every object that the settings name, by kind: for the role. */
export function namedObjects(endpoint: Endpoint): { readonly kind: AnyKind; readonly name: string }[] {
  const { caBundle, clientTLS, authorization, basicAuth } = endpoint;
  const secrets = [caBundle, clientTLS, authorization, basicAuth].flatMap((each) => each?.secretRef ?? []);
  return [
    ...secrets.map(({ name }) => ({ kind: Secret, name })),
    ...(caBundle?.configMapRef ? [{ kind: ConfigMap, name: caBundle.configMapRef.name }] : []),
  ];
}

/** Refuses what could never work, before anything is called. */
export function checkEndpoint({ caBundle, authorization, basicAuth }: Endpoint, what: string): void {
  if (authorization && basicAuth) {
    throw new HookError(
      "InvalidDefinition",
      `${what} has both authorization and basicAuth; give one of them`,
    );
  }
  if (authorization?.type.trim().toLowerCase() === "basic") {
    throw new HookError("InvalidDefinition", `the authorization of ${what} is Basic; use basicAuth for that`);
  }
  if (!caBundle) return;
  const given = [caBundle.inline, caBundle.secretRef, caBundle.configMapRef].filter(
    (each) => each !== undefined,
  );
  if (given.length !== 1) {
    throw new HookError(
      "InvalidDefinition",
      `the caBundle of ${what} needs exactly one of inline, secretRef and configMapRef`,
    );
  }
}

/** Reads what the settings name. */
export async function credentialsOf(endpoint: Endpoint, read: ReadObject): Promise<Credentials> {
  const { caBundle, clientTLS, authorization, basicAuth } = endpoint;
  const tls: { ca?: string; cert?: string; key?: string } = {};
  if (caBundle?.inline !== undefined) tls.ca = caBundle.inline;
  if (caBundle?.secretRef) tls.ca = await fromSecret(read, caBundle.secretRef, caBundle.secretRef.key);
  if (caBundle?.configMapRef) tls.ca = await fromConfigMap(read, caBundle.configMapRef);
  if (clientTLS) {
    tls.cert = await fromSecret(read, clientTLS.secretRef, clientTLS.certKey);
    tls.key = await fromSecret(read, clientTLS.secretRef, clientTLS.privateKeyKey);
  }
  let header: string | undefined;
  if (authorization) {
    const value = await fromSecret(read, authorization.secretRef, authorization.secretRef.key);
    header = `${authorization.type.trim() || "Bearer"} ${value.trim()}`;
  }
  if (basicAuth) {
    const user = (await fromSecret(read, basicAuth.secretRef, basicAuth.usernameKey)).trim();
    if (user.includes(":"))
      throw new HookError("InvalidDefinition", "a user of basicAuth cannot contain a colon");
    const password = (await fromSecret(read, basicAuth.secretRef, basicAuth.passwordKey)).trim();
    header = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  }
  return {
    ...(header === undefined ? {} : { authorization: header }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  };
}

async function fromSecret(read: ReadObject, ref: ObjectRef, key: string): Promise<string> {
  const found = (await read(Secret, ref)) as { data?: Record<string, string> } | undefined;
  return Buffer.from(textAt("Secret", ref, key, found?.data, found !== undefined), "base64").toString("utf8");
}

async function fromConfigMap(read: ReadObject, ref: ObjectRef & { key: string }): Promise<string> {
  const found = (await read(ConfigMap, ref)) as { data?: Record<string, string> } | undefined;
  return textAt("ConfigMap", ref, ref.key, found?.data, found !== undefined);
}

function textAt(
  kind: string,
  { namespace, name }: ObjectRef,
  key: string,
  data: Record<string, string> | undefined,
  exists: boolean,
): string {
  const value = data?.[key];
  if (value !== undefined) return value;
  const what = `${kind} ${namespace}/${name}`;
  throw new HookError(
    "HookUnreachable",
    exists ? `${what} has no key ${JSON.stringify(key)}` : `${what} does not exist`,
  );
}
