/**
 * Puts the bench's custom resources into an API server, and changes them on demand. Prints the port on which it is
 * asked for changes when all are there.
 */
import { connect } from "@keelson/client";
import { dynamicKind } from "@keelson/core";
import { Namespace } from "@keelson/core/kinds";
import { type Installable, install } from "@keelson/runtime";
import { perSecond } from "./measure.ts";
import { serveControl } from "./sdk-control.ts";
import { group, itemJson, kind, nameOf, namespaces, resource, sentAt } from "./sdk-objects.ts";

const [kubeconfig = "", count = "0"] = process.argv.slice(2);
const objects = Number(count);
const client = await connect({ kubeconfig });
const items = client.kind(dynamicKind({ group, version: "v1", kind, resource, scope: "Namespaced" }));

const definition: Installable = {
  crd: () => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural: resource, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  }),
};
await install(client, [definition]);
for (const name of namespaces) await client.kind(Namespace).create({ metadata: { name } });
await perSecond(objects, 32, async (index) => {
  const { metadata, ...rest } = JSON.parse(itemJson(index, 1));
  const { annotations, labels, name, namespace } = metadata;
  await items.create({ ...rest, metadata: { annotations, labels, name, namespace } });
});

console.log(
  await serveControl((index) => {
    const annotations = { [sentAt]: String(process.hrtime.bigint()) };
    const body = { metadata: { annotations } };
    items.patch(nameOf((index * 7919) % objects), { type: "merge", body }).catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
    });
  }),
);
