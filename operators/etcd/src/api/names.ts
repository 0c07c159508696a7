/** Labels and annotations that the operator writes and reads: public names. */

export const annotations = {
  /** On a pod: digest of the template that it was made from. */
  template: "etcd.keelson.dev/template",
  /** On a pod, read by its container at every start: etcd's flag of that name. */
  initialCluster: "etcd.keelson.dev/initial-cluster",
  /** On a pod, read by its container at every start: etcd's flag of that name. */
  initialClusterState: "etcd.keelson.dev/initial-cluster-state",
  /** On a pod, read by its container at every start: etcd's flag of that name, set during a recovery only. */
  forceNewCluster: "etcd.keelson.dev/force-new-cluster",
  /** On a claim: the UID of the EtcdCluster whose data it holds. It outlives the cluster. On the peers' Service, too. */
  clusterUid: "etcd.keelson.dev/cluster-uid",
  /**
   * On a claim: etcd's own ID of the cluster whose data it holds. On the peers' Service: of the cluster that was formed.
   * Where the status and all claims are gone, it alone tells a lost cluster from one that was never formed.
   */
  clusterId: "etcd.keelson.dev/cluster-id",
  /** On a claim: etcd's own ID of the member whose data it holds. */
  memberId: "etcd.keelson.dev/member-id",
  /** On a claim: the version of etcd that last ran on its data. */
  etcdVersion: "etcd.keelson.dev/etcd-version",
  /** On a claim: `http` or `https`, as its member is addressed by the others. etcd keeps that with the data. */
  peerScheme: "etcd.keelson.dev/peer-scheme",
  /** On a claim: the storage class that the spec asked for when it was made; empty for the default class. */
  storageClass: "etcd.keelson.dev/storage-class",
  /** On a claim: a recovery left its member behind; kept for inspection, never used again. */
  fenced: "etcd.keelson.dev/fenced",
  /** On a cluster: the survivor that the user approves to recover from, and its revision: `example-0@4711`. */
  approveRecovery: "etcd.keelson.dev/approve-recovery",
  /** On a cluster: a new value makes the operator replace its authorities, without downtime. */
  rotateAuthorities: "etcd.keelson.dev/rotate-authorities",
  /** On an authority's Secret: when its phase began. */
  since: "etcd.keelson.dev/since",
  /** On a certificate's Secret: digest of who issued it, for whom, and of the certificate itself. */
  seal: "etcd.keelson.dev/seal",
  /** On an EtcdBackup: `true` removes its data from the store. Deleting the EtcdBackup alone leaves the data. */
  removeData: "etcd.keelson.dev/remove-data",
} as const;

export const labels = {
  name: "app.kubernetes.io/name",
  instance: "app.kubernetes.io/instance",
  /** On a pod: `voter` once its member votes; services and the disruption budget count only those. */
  role: "etcd.keelson.dev/role",
} as const;
