/** The etcd operator. */
export { EtcdBackup, EtcdBackupSchedule } from "./api/backup.ts";
export { EtcdCluster, type EtcdClusterObject, type Member } from "./api/cluster.ts";
export { conditions, type Reason, reasons } from "./api/conditions.ts";
export { annotations, labels } from "./api/names.ts";
export { controllers } from "./controllers.ts";
export { EtcdGateway } from "./engine/gateway.ts";
export { type EtcdOptions, etcdCluster } from "./reconcile.ts";
