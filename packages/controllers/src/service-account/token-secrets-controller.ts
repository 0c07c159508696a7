/** Secrets that hold a token for a service account: they are filled, and go with their account. */
import { isNotFound } from "@keelson/client";
import { type ObjectOf, objectKey } from "@keelson/core";
import { Secret, ServiceAccount } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { type Acting, cacheNamed, controllerManager, yieldingToOthers } from "../acting/acting.ts";

export type AccountObject = ObjectOf<typeof ServiceAccount>;
export type SecretObject = ObjectOf<typeof Secret>;

export interface TokenSecretsOptions {
  /** The authority (PEM) that the secrets tell their readers to trust. */
  readonly certificate?: string;
  /**
   * Signs a token that is good while the secret exists. By default the API server is asked for one that is bound to
   * the secret and lasts for ten years.
   */
  readonly issue?: (account: AccountObject, secret: SecretObject) => Promise<string> | string;
}

const tokenType = "kubernetes.io/service-account-token";
const nameAnnotation = "kubernetes.io/service-account.name";
const uidAnnotation = "kubernetes.io/service-account.uid";
const tenYears = 10 * 365 * 86_400;

function accountOf({ metadata }: SecretObject): string | undefined {
  const name = metadata.annotations?.[nameAnnotation];
  return name ? objectKey({ metadata: { namespace: metadata.namespace, name } }) : undefined;
}

const watches = {
  secrets: watch(Secret, {
    fields: `type=${tokenType}`,
    indexes: { account: (secret) => [accountOf(secret) ?? ""] },
  }),
  accounts: watch(ServiceAccount, {
    keys: ({ object }, caches) =>
      cacheNamed<SecretObject>(caches, "secrets").byIndex("account", objectKey(object)).map(objectKey),
  }),
};

type Context = RawContext<typeof watches>;

export function tokenSecretsController(options: TokenSecretsOptions = {}): RawController {
  return rawController({
    name: "serviceaccount-token-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allow(Secret, ["update", "delete"]), allowSubresource(ServiceAccount, "token", ["create"])],
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const secret = ctx.caches.secrets.get(key);
      const name = secret?.metadata.annotations?.[nameAnnotation];
      if (!secret || !name || secret.type !== tokenType || secret.metadata.deletionTimestamp !== undefined)
        return;
      const { namespace, uid } = secret.metadata;
      const account =
        ctx.caches.accounts.get(accountOf(secret) ?? "") ??
        (await ctx.kind(ServiceAccount).find({ namespace, name }));
      const wanted = secret.metadata.annotations?.[uidAnnotation];
      if (!account || (wanted && wanted !== account.metadata.uid)) {
        await ctx.kind(Secret).delete(secret.metadata, { uid });
        return;
      }
      await fill(ctx, account, secret, options);
    }),
  });
}

async function fill(
  ctx: Context,
  account: AccountObject,
  secret: SecretObject,
  {
    certificate,
    issue = (forAccount, forSecret) => request(ctx, forAccount, forSecret),
  }: TokenSecretsOptions,
): Promise<void> {
  const { data = {}, metadata } = secret;
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const authority = certificate === undefined ? undefined : encoded(certificate);
  const namespace = encoded(metadata.namespace ?? "");
  const isFilled = data.token && data.namespace === namespace && (!authority || data["ca.crt"] === authority);
  if (isFilled && metadata.annotations?.[uidAnnotation] === account.metadata.uid) return;
  const token = data.token ?? encoded(await issue(account, secret));
  try {
    await ctx.kind(Secret).update({
      ...secret,
      metadata: {
        ...metadata,
        annotations: { ...metadata.annotations, [uidAnnotation]: account.metadata.uid },
      },
      data: { ...data, token, namespace, ...(authority ? { "ca.crt": authority } : {}) },
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function request(acting: Acting, account: AccountObject, secret: SecretObject): Promise<string> {
  const { name, uid } = secret.metadata;
  const answer = await acting
    .kind(ServiceAccount)
    .subresource("token")
    .create(account.metadata, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        audiences: [],
        expirationSeconds: tenYears,
        boundObjectRef: { apiVersion: "v1", kind: "Secret", name, uid },
      },
    });
  return (answer as { status?: { token?: string } }).status?.token ?? "";
}
