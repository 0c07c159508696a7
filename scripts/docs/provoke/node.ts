/** Provokes every error of @keelson/node, without a node: each by the smallest call inside it. */
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:net";
import { join } from "node:path";
import { systemClock } from "@keelson/core";
import type { NodeErrorCode } from "@keelson/node";
import { type DownwardContext, fieldValue } from "../../../packages/node/src/environment/downward.ts";
import { cuttable } from "../../../packages/node/src/faults/cuttable-api.ts";
import { requestCertificate } from "../../../packages/node/src/identity/certificate-request.ts";
import { firstAddress, RangePool } from "../../../packages/node/src/kubelet/address-pool.ts";
import { type HookContext, runHook } from "../../../packages/node/src/kubelet/hooks.ts";
import { launchInNamespace } from "../../../packages/node/src/namespace/launch.ts";
import { dialThrough } from "../../../packages/node/src/network/dial.ts";
import { SimulatedRuntime } from "../../../packages/node/src/runtime/simulated-runtime.ts";
import { requireRunning } from "../../../packages/node/src/server/remote-command.ts";
import { volumePayload } from "../../../packages/node/src/volumes/payload.ts";
import { type Provocations, temporary } from "../provoked.ts";

export const node: Provocations<NodeErrorCode> = {
  SandboxUnsupported: async () => {
    const { PATH } = process.env;
    process.env["PATH"] = "";
    try {
      return await launchInNamespace({ module: "none" });
    } finally {
      process.env["PATH"] = PATH;
    }
  },
  SandboxFailed: () => {
    const pool = new RangePool("10.244.0.0/29");
    for (;;) pool.allocate();
  },
  // A hook that asks a port where nobody listens.
  ContainerCannotRun: () =>
    runHook({ httpGet: { port: 1, path: "/" } }, {
      podAddress: "127.0.0.1",
      clock: systemClock,
      timeoutMs: 1000,
    } as HookContext),
  ContainerConfig: () =>
    fieldValue({ fieldPath: "spec.replicas" }, { pod: { metadata: {} } } as DownwardContext),
  MountFailed: () => {
    const references = { configMap: async () => undefined };
    return volumePayload({ name: "v", configMap: { name: "settings" } }, { references } as never);
  },
  BadConfiguration: () => firstAddress("10.244.0.0"),
  IdentityRefused: () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const denied = {
      metadata: { name: "node-csr-1" },
      status: { conditions: [{ type: "Denied", reason: "ByHand", message: "an unknown machine" }] },
    };
    const requests = {
      create: async () => denied,
      reflect: async function* () {
        yield { type: "item", object: denied };
      },
    };
    return requestCertificate({
      client: { kind: () => requests } as never,
      nodeName: "worker-1",
      key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
      clock: systemClock,
      log: () => undefined,
      signal: new AbortController().signal,
    });
  },
  CutOff: async () => {
    const line = cuttable({ pods: async () => [] } as never);
    line.cut();
    return await (line.api as never as { pods(): Promise<unknown> }).pods();
  },
  Unreachable: async () => {
    const host = createServer((socket) => socket.once("data", () => socket.end("no route\n")));
    const path = join(await temporary(), "dial.sock");
    await new Promise<void>((done) => host.listen(path, done));
    try {
      return await dialThrough(path, "10.0.0.9", 80, new AbortController().signal);
    } finally {
      host.close();
    }
  },
  NotFound: () => requireRunning(undefined, "main"),
  Unsupported: async () => {
    const pod = await new SimulatedRuntime().createPodSandbox({ id: "web", address: "10.244.0.2" } as never);
    return await pod.connect(80);
  },
};
