/** Labels and annotations: public, and never renamed. */
export const labels = {
  name: "app.kubernetes.io/name",
  instance: "app.kubernetes.io/instance",
  /** `primary` or `replica`, set by the agents: Services find instances by it. */
  role: "database.keelson.dev/role",
} as const;

export const annotations = {
  /** On pods: the digest of what they were made from. */
  template: "database.keelson.dev/template",
  /** On claims: the UID of the Database whose data is on them. */
  databaseUid: "database.keelson.dev/database-uid",
  /** On claims: which data they were given, as PostgreSQL names it. It stays when the record and the status are lost. */
  systemId: "database.keelson.dev/system-id",
  /** On volumes: the reclaim policy that they had before their data was protected. */
  reclaimPolicy: "database.keelson.dev/reclaim-policy",
  /** On volumes: the Database whose data is on them. */
  dataOf: "database.keelson.dev/data-of",
  /** On a Database: hand over to this instance, or to `any`. `name` or `name@anything`, to ask again. */
  switchover: "database.keelson.dev/switchover",
  /** On a Database: accept loss in the failover out of this epoch: `3`, or `3/orders-1` to name who takes over. */
  approveFailover: "database.keelson.dev/approve-failover",
  /** On a Database: serve again what was there before the last major upgrade, and lose what came after it; the epoch. */
  approveReturn: "database.keelson.dev/approve-return",
  /** On a Database: another value tries a major upgrade again that has failed. */
  retryUpgrade: "database.keelson.dev/retry-upgrade",
  /** On a Database: another value replaces the certificate authority. */
  rotateAuthority: "database.keelson.dev/rotate-authority",
  /** On the Secret of an authority: when its phase began. */
  since: "database.keelson.dev/since",
  /** On the Secret of a certificate: the digest of what it was made from. */
  seal: "database.keelson.dev/seal",
  /** On a Database: another value makes new passwords. */
  rotatePasswords: "database.keelson.dev/rotate-passwords",
} as const;
