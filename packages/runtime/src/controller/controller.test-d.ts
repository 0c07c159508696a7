/** What the permission types let through and what they stop. Checked by the compiler, never run. */
import type { Kind, KubeObject } from "@keelson/core";
import { all, allow, allowSubresource, controller, done, keep, many, own, ref, waiting } from "../index.ts";

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
declare const OtherPod: Kind<PodObject, "other.example.com", "Pod">;
declare const atRunTime: Kind;
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
    // @ts-expect-error: nothing was declared on Pods of another group
    await ctx.client.kind(OtherPod).get({ name: "a" });
    // @ts-expect-error: what a kind of run time is, no declaration can say
    await ctx.client.kind(atRunTime).get({ name: "a" });
    // @ts-expect-error: the runtime writes the status, not the reconcile
    await ctx.client.subresource(App, "status").update(app);
    // @ts-expect-error: the primary may be read, not written
    await ctx.client.kind(App).patch({ name: "a" }, { type: "merge", body: {} });
    // @ts-expect-error: owned kinds are deleted one by one
    await ctx.client.kind(Pod).deleteAll({ namespace: "default" });
    // @ts-expect-error: there is no such slot
    ctx.own.volume;
    // @ts-expect-error: there is no such read
    ctx.read.secret;
    // @ts-expect-error: the status has no such field
    ctx.setStatus({ reddy: 3 });
    // @ts-expect-error: conditions are set one by one
    ctx.setStatus({ conditions: [] });
    ctx.setStatus({ ready: 3 });
    const id = await ctx.step("promote", async ({ idempotencyKey }) => idempotencyKey);
    id satisfies string;
    return done();
  },
});

controller(App, {
  writes: [allow(atRunTime, ["get"])],
  async reconcile(_app, ctx) {
    await ctx.client.kind(atRunTime).get({ name: "a" });
    // @ts-expect-error: a kind of run time stands for itself alone
    await ctx.client.kind(Pod).get({ name: "a" });
    return done();
  },
});

controller(App, {
  owns: { service: Service },
  // @ts-expect-error: there is no slot for this child
  compose: () => ({ children: { pod: { spec: { containers: [] } } } }),
});

controller(App, {
  // @ts-expect-error: there is no such verb
  writes: [allow(Secret, ["read"])],
  reconcile: async () => done(),
});

// @ts-expect-error: one of the two
controller(App, { compose: () => ({ children: {} }), reconcile: async () => done() });

// @ts-expect-error: a reconcile must say how it ended
controller(App, { reconcile: async () => undefined });
