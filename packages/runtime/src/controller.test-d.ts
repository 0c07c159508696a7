/** What the permission types let through and what they stop. Checked by the compiler, never run. */
import type { Kind, KubeObject } from "@keelson/core";
import { all, allow, allowSubresource, controller, done, keep, many, own, ref, waiting } from "./index.ts";

interface PodObject extends KubeObject {
  spec?: { nodeName?: string; restartPolicy?: "Always" | "Never"; containers: { name: string }[] };
  status?: { phase?: string };
}
interface ServiceObject extends KubeObject {
  spec?: { clusterIP?: string };
}
interface SecretObject extends KubeObject {
  data?: Record<string, string>;
}
interface AppObject extends KubeObject {
  spec: { size: number; secretName?: string };
  status?: { ready?: number; conditions?: []; observedGeneration?: number };
}
declare const Pod: Kind<PodObject, "", "Pod">;
declare const Service: Kind<ServiceObject, "", "Service">;
declare const Secret: Kind<SecretObject, "", "Secret">;
declare const Node: Kind<KubeObject, "", "Node">;
declare const App: Kind<AppObject, "example.com", "App">;

controller(App, {
  owns: { service: Service, pods: many(Pod) },
  reads: { secret: ref(Secret, (app) => (app.spec.secretName ? { name: app.spec.secretName } : undefined)) },
  compose: (app, { service, pods, secret }) => {
    if (!secret) return waiting("SecretMissing", `Secret ${app.spec.secretName} does not exist`);
    secret.data?.["x"] satisfies string | undefined;
    service?.spec?.clusterIP satisfies string | undefined;
    pods.get("a")?.status?.phase satisfies string | undefined;
    return {
      children: { service: { spec: {} }, pods: { a: { spec: { containers: [] } }, b: keep } },
      status: { ready: pods.size },
    };
  },
});

controller(App, {
  owns: { pod: Pod, pods: many(Pod) },
  compose: (app) => ({
    children: {
      pod: { spec: { restartPolicy: "Never", containers: [] } },
      pods: { [app.metadata.name]: { spec: { restartPolicy: "Always", containers: [] } } },
    },
  }),
});

controller(App, {
  owns: { pod: Pod },
  // @ts-expect-error: no such policy
  compose: (_app) => ({ children: { pod: { spec: { restartPolicy: "Sometimes", containers: [] } } } }),
});

controller(App, {
  owns: { service: own(Service) },
  // @ts-expect-error: the status has no such field
  compose: () => ({ children: {}, status: { reddy: 1 } }),
});

controller(App, {
  owns: { service: own(Service), pods: many(Pod) },
  reads: { nodes: all(Node) },
  writes: [allow(Secret, ["get"]), allowSubresource(Pod, "eviction", ["create"])],
  async reconcile(app, ctx) {
    await ctx.own.pods.apply(`member-${app.spec.size}`, { spec: { containers: [{ name: "etcd" }] } });
    // @ts-expect-error: a pod has no such field
    await ctx.own.pods.apply("x", { spec: { containerz: [] } });
    await ctx.own.service.apply({ spec: { clusterIP: "None" } });
    ctx.read.nodes.map((node) => node.metadata.name satisfies string);
    await ctx.client.kind(Secret).get({ name: "a" });
    // @ts-expect-error: only get was declared on Secret
    await ctx.client.kind(Secret).list();
    // @ts-expect-error: update was not declared on Pod
    await ctx.client.kind(Pod).update({});
    await ctx.client.kind(Pod).delete({ name: "a" });
    // @ts-expect-error: Node may be read, not deleted
    await ctx.client.kind(Node).delete({ name: "a" });
    await ctx.client.subresource(Pod, "eviction").create({ name: "a" }, {});
    // @ts-expect-error: this subresource was not declared
    await ctx.client.subresource(Pod, "exec").create({ name: "a" }, {});
    ctx.setStatus({ ready: 3 });
    const id = await ctx.step("promote", async ({ idempotencyKey }) => idempotencyKey);
    id satisfies string;
    return done();
  },
});

// @ts-expect-error: a reconcile must say how it ended
controller(App, { reconcile: async () => undefined });
