/** The composite that does what the graph of the benchmark does: five ConfigMaps, the last of which reads the others. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseJson } from "@keelson/core";
import type { CustomResourceDefinitionObject } from "@keelson/schema";

/** The kind of its parents. */
export const parentCrd: CustomResourceDefinitionObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "benches.bench.example.com" },
  spec: {
    group: "bench.example.com",
    scope: "Namespaced",
    names: { kind: "Bench", listKind: "BenchList", plural: "benches", singular: "bench" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { value: { type: "string", default: "x" } } },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
  },
};

export const composite = (url: string) => ({
  metadata: { name: "bench" },
  spec: {
    generateSelector: true,
    parentResource: { apiVersion: "bench.example.com/v1alpha1", resource: "benches" },
    childResources: [{ apiVersion: "v1", resource: "configmaps", updateStrategy: { method: "InPlace" } }],
    hooks: { sync: { webhook: { url } } },
  },
});

interface Request {
  readonly parent: {
    readonly metadata: { readonly name: string };
    readonly spec?: { readonly value?: string };
  };
  readonly children: { readonly "ConfigMap.v1"?: Readonly<Record<string, unknown>> };
}

/** The hook, in this process: what it costs is nobody's who is measured. */
export async function startHook(ids: readonly string[]): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += String(chunk);
    });
    request.on("end", () => response.end(JSON.stringify(answer(parseJson(body) as never, ids))));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sync`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function answer({ parent, children }: Request, ids: readonly string[]): object {
  const { name } = parent.metadata;
  const seen = new Set(Object.keys(children["ConfigMap.v1"] ?? {}));
  const names = ids.map((id) => `${name}-${id}`);
  const map = (each: string, data: object) => ({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: each, labels: { bench: "hook" } }, data },
  });
  const all = names.every((each) => seen.has(each));
  return {
    status: { state: all && seen.has(`${name}-e`) ? "ACTIVE" : "IN_PROGRESS" },
    children: [
      ...names.map((each) => map(each, { value: parent.spec?.value ?? "x" })),
      ...(all ? [map(`${name}-e`, { names: names.join(",") })] : []),
    ],
  };
}
