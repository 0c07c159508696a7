/** Labels and annotations that the operator writes and reads: public names. */

export const annotations = {
  /** On a pod and a StatefulSet's template: digest of what a restart is needed for. */
  template: "sampledb.keelson.dev/template",
  /** On a pod: the settings that take effect at a restart only, as JSON. */
  restartSettings: "sampledb.keelson.dev/restart-settings",
  /** On a claim: the newest epoch whose data it holds completely up to some moment. */
  epoch: "sampledb.keelson.dev/epoch",
  /** On a claim: the epoch in which its server was the primary. */
  primaryEpoch: "sampledb.keelson.dev/primary-epoch",
  /** On a claim: the restore that its data came from, `WISH-EPOCH`, and those that were carried out before it. */
  restored: "sampledb.keelson.dev/restored",
  /** On a claim: in how many databases its data may be, the highest number that its servers ran with. */
  databases: "sampledb.keelson.dev/databases",
  /** On a claim: the version of Redis that wrote its data last; an older one may not read it. */
  version: "sampledb.keelson.dev/version",
  /** On a claim: the identity of the volume that all of this speaks of, which a server finds there when it starts. */
  volume: "sampledb.keelson.dev/volume",
  /** On a claim: the UID of the SampleDB whose data it holds. */
  database: "sampledb.keelson.dev/database-uid",
  /** On a PersistentVolume: its reclaim policy before the operator set it to Retain. */
  reclaimPolicy: "sampledb.keelson.dev/reclaim-policy",
  /** On a PersistentVolume: the SampleDB whose data it holds, `namespace/name`. */
  dataOf: "sampledb.keelson.dev/data-of",
  /** On a SampleDB: `SERVER@EPOCH`, the server that a person agrees to promote after that epoch, though writes may be lost. */
  approveLoss: "sampledb.keelson.dev/approve-loss",
  /** On a SampleDB: the name of the replica that is to become the primary. */
  handOver: "sampledb.keelson.dev/hand-over-to",
  /** On a SampleDB: another value than before generates a new password, which replaces the old one without downtime. */
  rotatePasswords: "sampledb.keelson.dev/rotate-passwords",
  /** On a SampleDB: another value than before replaces the authority of its certificates, without downtime. */
  rotateAuthorities: "sampledb.keelson.dev/rotate-authorities",
  /** On an authority's Secret: since when it has been in its phase. */
  since: "sampledb.keelson.dev/since",
  /** On a certificate's Secret: digest of who issued it, for whom, and of the certificate itself. */
  seal: "sampledb.keelson.dev/seal",
  /** On a SampleDBBackup: `true` removes its data from the store. Deleting the SampleDBBackup alone leaves the data. */
  removeData: "sampledb.keelson.dev/remove-data",
} as const;

export const labels = {
  name: "app.kubernetes.io/name",
  instance: "app.kubernetes.io/instance",
  /** On a pod: `primary` or `replica`; the Service for writes selects `primary`. */
  role: "sampledb.keelson.dev/role",
  /** On a pod: `true` while it serves reads. */
  read: "sampledb.keelson.dev/read",
} as const;
