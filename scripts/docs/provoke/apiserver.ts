/** Provokes every error of @keelson/apiserver that is not an answer of Kubernetes. */
import fs from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { apiServer, type StorageErrorCode } from "@keelson/apiserver";
import { createClient } from "@keelson/client";
import { ConfigMap } from "@keelson/core/kinds";
import { decode } from "../../../packages/apiserver/src/protobuf/decode.ts";
import { encode } from "../../../packages/apiserver/src/protobuf/encode.ts";
import type { ProtobufErrorCode } from "../../../packages/apiserver/src/protobuf/errors.ts";
import { realDisk } from "../../../packages/apiserver/src/storage/disk.ts";
import { type Provocations, temporary } from "../provoked.ts";

export const storage: Provocations<StorageErrorCode> = {
  Locked: async () => {
    const dataDir = await temporary();
    await using _ = await apiServer({ dataDir });
    return await apiServer({ dataDir });
  },
  Corrupt: async () => {
    const dataDir = await temporary();
    {
      await using server = await apiServer({ dataDir });
      const client = createClient({ http: server.http });
      for (const name of ["a", "b"])
        await client.kind(ConfigMap).create({ metadata: { namespace: "default", name } });
    }
    const log = join(dataDir, "log-1");
    const bytes = await readFile(log);
    const at = bytes.length >> 1;
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    await writeFile(log, bytes);
    return await apiServer({ dataDir });
  },
  TooNew: async () => {
    const dataDir = await temporary();
    await writeFile(join(dataDir, "format"), "2\n");
    return await apiServer({ dataDir });
  },
  // A kernel that takes nothing and gives no reason.
  Failed: async () => {
    const { write } = fs;
    fs.write = ((...args: unknown[]) =>
      (args.at(-1) as (error: null, count: number) => void)(null, 0)) as never;
    syncBuiltinESMExports();
    try {
      return await realDisk.write(0, Buffer.of(1), 0);
    } finally {
      fs.write = write;
      syncBuiltinESMExports();
    }
  },
};

const pod = encode({ apiVersion: "v1", kind: "Pod", metadata: { name: "a", labels: { app: "a" } } });

export const protobuf: Provocations<ProtobufErrorCode> = {
  NotEnveloped: () => decode(Buffer.from("{}")),
  Malformed: () => decode(pod.subarray(0, pod.length - 1)),
  UnknownKind: () => encode({ apiVersion: "example.com/v1", kind: "Widget" }),
  TooLarge: () => decode(pod, { maxDepth: 0 }),
  Unfit: () => encode({ apiVersion: "v1", kind: "Pod", metadata: { name: { not: "text" } } }),
};
