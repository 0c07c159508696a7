/** The PostgreSQL operator. */
export { DatabaseBackup } from "./api/backup.ts";
export { conditions, type Reason, reasons } from "./api/conditions.ts";
export { Database, type DatabaseObject } from "./api/database.ts";
export { annotations, labels } from "./api/names.ts";
export { controllers } from "./controllers.ts";
export { PgClient, PgError, type PgOptions, type PgRow } from "./engine/pg-client.ts";
export { type DatabaseOptions, databaseController } from "./reconcile.ts";
