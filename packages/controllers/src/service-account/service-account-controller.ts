/** Every namespace has a service account named `default`, and the certificate that verifies the API server. */
import { isAlreadyExists } from "@keelson/client";
import { deepEqual, type ObjectOf } from "@keelson/core";
import { ConfigMap, Namespace, ServiceAccount } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager, isNamespaceTerminating } from "../acting/acting.ts";

const accountName = "default";

function isActive(
  namespace: ObjectOf<typeof Namespace> | undefined,
): namespace is ObjectOf<typeof Namespace> {
  return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
}

/** The namespace of an object under one name. */
function namespaceOf(name: string) {
  return ({ object }: { object: { metadata: { name: string; namespace?: string } } }): string[] =>
    object.metadata.name === name && object.metadata.namespace ? [object.metadata.namespace] : [];
}

const accountWatches = {
  namespaces: watch(Namespace),
  accounts: watch(ServiceAccount, { keys: namespaceOf(accountName) }),
};

export function serviceAccountController(): RawController {
  return rawController({
    name: "serviceaccount-controller",
    fieldManager: controllerManager,
    watches: accountWatches,
    writes: [allow(ServiceAccount, ["create"])],
    reconcile: async (namespace, ctx: RawContext<typeof accountWatches>) => {
      if (!isActive(ctx.caches.namespaces.get(namespace))) return;
      if (ctx.caches.accounts.get(`${namespace}/${accountName}`)) return;
      await ignoringRaces(ctx.kind(ServiceAccount).create({ metadata: { name: accountName, namespace } }));
    },
  });
}

const bundleName = "kube-root-ca.crt";
const descriptionAnnotation = "kubernetes.io/description";
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
  "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes " +
  "clusters.";

const bundleWatches = {
  namespaces: watch(Namespace),
  bundles: watch(ConfigMap, { fields: `metadata.name=${bundleName}`, keys: namespaceOf(bundleName) }),
};

/** Publishes the authority (PEM) that signs the API server's certificate. */
export function rootCaPublisher({ certificate }: { readonly certificate: string }): RawController {
  const data = { "ca.crt": certificate };
  return rawController({
    name: "root-ca-certificate-publisher-controller",
    fieldManager: controllerManager,
    watches: bundleWatches,
    writes: [allow(ConfigMap, ["create", "update"])],
    reconcile: async (namespace, ctx: RawContext<typeof bundleWatches>) => {
      if (!isActive(ctx.caches.namespaces.get(namespace))) return;
      const current = ctx.caches.bundles.get(`${namespace}/${bundleName}`);
      const annotations = { ...current?.metadata.annotations, [descriptionAnnotation]: description };
      if (!current) {
        const metadata = { name: bundleName, namespace, annotations };
        await ignoringRaces(ctx.kind(ConfigMap).create({ metadata, data }));
      } else if (
        !deepEqual(current.data ?? {}, data) ||
        !deepEqual(annotations, current.metadata.annotations ?? {})
      ) {
        await ctx
          .kind(ConfigMap)
          .update({ ...current, metadata: { ...current.metadata, annotations }, data });
      }
    },
  });
}

/** Another may have made it first, and a namespace on its way out needs nothing. */
async function ignoringRaces(create: Promise<unknown>): Promise<void> {
  try {
    await create;
  } catch (error) {
    if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
  }
}
