/** What lies beside a dump in its store and says what it is. */
import { manifestFields } from "@keelson/kit";
import { z } from "keelson";

export const redisManifest = z.object({
  ...manifestFields,
  database: z.string(),
  redisVersion: z.string(),
  /** Of the RDB file. */
  rdbVersion: z.number(),
  replicationId: z.string().optional(),
  offset: z.string().optional(),
  /** The server that was asked. */
  source: z.string(),
  verified: z.object({ at: z.string(), redisVersion: z.string(), keys: z.number() }).optional(),
});

export type RedisManifest = z.output<typeof redisManifest>;

export const archiveFormat = { extension: ".rdb", manifest: redisManifest } as const;
