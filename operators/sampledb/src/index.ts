/** The SampleDB operator. */
export { SampleDBBackup } from "./api/backup.ts";
export { conditions, type Reason, reasons } from "./api/conditions.ts";
export { Drill } from "./api/drill.ts";
export { annotations, labels } from "./api/names.ts";
export { SampleDB, type SampleDBObject } from "./api/sampledb.ts";
export { sampleDBBackup } from "./backup/backup.ts";
export { controllers } from "./controllers.ts";
export { RedisConnection } from "./engine/connection.ts";
export { type Dial, dialRedis, type Redis } from "./engine/redis.ts";
export { type SampleDBOptions, sampleDB } from "./reconcile.ts";
