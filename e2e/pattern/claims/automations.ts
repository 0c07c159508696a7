/** The six things that the page "Operator pattern" says an operator can automate. */
import { parseJson } from "@keelson/core";
import type { Claim } from "../claim.ts";
import { expect } from "../shell.ts";
import { backup, holds, ready, redis, sampledb } from "./redis.ts";

const name = "shop";
const target = `sampledb/${name}`;
const spec = { settings: { "maxmemory-policy": "noeviction" }, onDelete: "Delete" };

export const automationClaims: readonly Claim[] = [
  {
    id: "auto-deploy",
    promise: "Deploying an application on demand",
    commands: ["kubectl create namespace team-a", "kubectl apply -n team-a -f sampledb.yaml"],
    run: async (shell) => {
      await ready(shell, name, spec);
      await shell.kubectl("create", "namespace", "team-a");
      await shell.apply(sampledb(name, { ...spec, replicas: 0 }, { namespace: "team-a" }));
      await shell.kubectl("wait", "-n", "team-a", "--for=condition=Ready", target, "--timeout=120s");
      await shell.kubectl("delete", "-n", "team-a", target);
      return "a database in each of two namespaces";
    },
  },
  {
    id: "auto-backup",
    promise: "Taking and restoring backups of the application's state",
    commands: ["kubectl apply -f backup.yaml", `kubectl patch SampleDB … '{"spec":{"restoreFrom":…}}'`],
    run: async (shell) => {
      await ready(shell, name, spec);
      await redis(shell, name, "SET", "order", "42");
      await backup(shell, "before-the-mistake", name);
      await redis(shell, name, "FLUSHALL");
      expect("the data is gone", (await redis(shell, name, "DBSIZE")) === "0");
      const patch = JSON.stringify({ spec: { restoreFrom: { backup: "before-the-mistake" } } });
      await shell.kubectl("patch", target, "--type=merge", "-p", patch);
      await shell.wait(target, "jsonpath={.status.restore.phase}=Done");
      await shell.wait(target, "condition=Ready");
      await holds(shell, name, "order", "42");
      return "what was deleted is there again";
    },
  },
  {
    id: "auto-upgrade",
    promise: "Upgrading the application's code together with its schema and its settings",
    commands: ["kubectl apply -f sampledb.yaml"],
    run: async (shell) => {
      await ready(shell, name, spec);
      await redis(shell, name, "SET", "user:1", "ada lovelace");
      const script = "redis.call('HSET', 'user:1:names', 'first', 'ada', 'last', 'lovelace')";
      await shell.apply(
        sampledb(name, {
          ...spec,
          version: "8.0",
          settings: { "maxmemory-policy": "allkeys-lfu" },
          migrations: [{ version: 1, name: "split-names", since: "8.0", script }],
        }),
      );
      await shell.until(
        "it runs 8.0",
        async () => (await shell.value(target, ".status.version")).startsWith("8.0"),
        300,
      );
      await shell.wait(target, "condition=Ready");
      await shell.wait(target, "jsonpath={.status.schemaVersion}=1");
      const [last, policy] = [
        await redis(shell, name, "HGET", "user:1:names", "last"),
        await redis(shell, name, "CONFIG", "GET", "maxmemory-policy"),
      ];
      expect("the schema is the new one", last === "lovelace", last);
      expect("the setting is the new one", policy.includes("allkeys-lfu"), policy);
      return `Redis ${await shell.value(target, ".status.version")}, schema 1, its setting`;
    },
  },
  {
    id: "auto-service",
    promise: "Publishing a Service to applications that know nothing of the Kubernetes API",
    commands: ["kubectl apply -f application.yaml", "kubectl logs application"],
    run: async (shell) => {
      await ready(shell, name, spec);
      const script = 'redis-cli -h "$host" -p "$port" -a "$password" --no-auth-warning SET application here';
      await shell.apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "application" },
        spec: {
          automountServiceAccountToken: false,
          restartPolicy: "OnFailure",
          containers: [
            {
              name: "application",
              image: "redis:7.0",
              command: ["sh", "-c", `test ! -e /var/run/secrets/kubernetes.io && ${script}`],
              envFrom: [{ secretRef: { name: `${name}-binding` } }],
            },
          ],
        },
      });
      await shell.wait("pod/application", "jsonpath={.status.phase}=Succeeded");
      await holds(shell, name, "application", "here");
      await shell.kubectl("delete", "pod", "application");
      return "a pod without a token wrote through the Service, with host, port and password of a Secret";
    },
  },
  {
    id: "auto-failure",
    promise: "Simulating a failure, to test how the application bears it",
    commands: ["kubectl apply -f drill.yaml", "kubectl get drill"],
    run: async (shell) => {
      await ready(shell, name, spec);
      await shell.apply({
        apiVersion: "sampledb.keelson.dev/v1",
        kind: "Drill",
        metadata: { name: "kill-the-primary" },
        spec: {
          target: { kind: "SampleDB", name },
          fault: "Kill",
          victims: { labels: { "sampledb.keelson.dev/role": "primary" } },
        },
      });
      await shell.wait("drill/kill-the-primary", "jsonpath={.status.phase}=Done");
      const text = await shell.value("drill/kill-the-primary", ".status.results[0]");
      const { acknowledged, lost, recovered, recoveredAfterSeconds } = parseJson(text) as {
        acknowledged?: number;
        lost?: number;
        recovered?: boolean;
        recoveredAfterSeconds?: number;
      };
      expect("it recovered and lost nothing", recovered === true && lost === 0, text);
      await shell.wait(target, "condition=Ready");
      return `recovered after ${recoveredAfterSeconds} s; of ${acknowledged} acknowledged writes 0 lost`;
    },
  },
  {
    id: "auto-leader",
    promise: "Choosing a leader for an application that does not elect one",
    commands: ["kubectl delete pod PRIMARY", "kubectl get SampleDB"],
    run: async (shell) => {
      await ready(shell, name, spec);
      const before = await shell.value(target, ".status.primary");
      await shell.kubectl("delete", "pod", before);
      await shell.wait(target, "condition=Ready");
      const after = await shell.value(target, ".status.primary");
      expect("another one leads", after !== before, after);
      const password = await shell.secret(`${name}-binding`, "password");
      const roles = new Map<string, string>();
      for (const pod of [`${name}-0`, `${name}-1`]) {
        const info = await shell.exec(
          ...[pod, "redis-cli", "-a", password, "--no-auth-warning", "INFO", "replication"],
        );
        roles.set(pod, /^role:(\w+)/m.exec(info)?.[1] ?? info);
      }
      const masters = [...roles].filter(([, role]) => role === "master").map(([pod]) => pod);
      expect("Redis says the same, and of one server", masters.join() === after, [...roles]);
      return `${before} → ${after}; Redis says the same`;
    },
  },
];
