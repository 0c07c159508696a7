/** Scenarios in which exploring once found a failure, by what happens in them. */
import type { Plan } from "@keelson/testing";
import { failingScript } from "./agent.ts";
import { foundClaims } from "./found-claims.ts";
import { foundLeaders } from "./found-leaders.ts";

export const found: Readonly<Record<string, Plan>> = {
  ...foundClaims,
  ...foundLeaders,
  "two writes are carried out and never answered, one after the other": {
    beginning: "a replica",
    seed: 1,
    steps: [
      { atMs: 900, do: "API: writes fail", with: { how: "timeout after commit", times: 1 } },
      { atMs: 900, do: "API: writes fail", with: { how: "timeout after commit", times: 1 } },
      { atMs: 1000, do: "edit: a live setting", with: { settings: { timeout: "60" } } },
      { atMs: 1000, do: "edit: replicas", with: { replicas: 2 } },
      { atMs: 100000, do: "edit: paused", forMs: 100 },
    ],
  },
  "the operator is killed three times in a row, and each lease has to run out": {
    beginning: "no replicas",
    seed: 30005,
    managers: 2,
    steps: [
      { atMs: 17800, do: "operator: killed at a write", with: { in: 1, when: "before" } },
      { atMs: 23900, do: "pod: deleted", with: { which: 0.313, force: false } },
      { atMs: 35000, do: "operator: killed at a call to the application", with: { in: 1, when: "before" } },
      { atMs: 40100, do: "operator: killed at a write", with: { in: 7, when: "before" } },
      { atMs: 41600, do: "operator: killed at a write", with: { in: 2, when: "before" } },
      { atMs: 43300, do: "node: loses power", forMs: 9500, with: { which: 0.563 } },
      { atMs: 56400, do: "by hand: a child is deleted", with: { which: 0.309 } },
    ],
  },
  "the given certificate is replaced while the primary's volume is lost: whom to trust grew with every pass":
    {
      beginning: "a replica, with a given certificate",
      seed: 31028,
      steps: [
        { atMs: 20700, do: "edit: the given certificate is replaced, and its authority" },
        { atMs: 22400, do: "volume: destroyed", with: { which: 0.222, how: "wiped" } },
      ],
    },
  "the only volume is damaged while an upgrade begins: going back, nobody said that all data is lost": {
    beginning: "a replica",
    seed: 500245,
    steps: [
      { atMs: 600, do: "edit: replicas", with: { replicas: 0 } },
      { atMs: 11500, do: "edit: a newer version", with: { version: "8.0", migrations: [] } },
      { atMs: 12000, do: "volume: destroyed", with: { which: 0.599, how: "corrupt" } },
      { atMs: 28000, do: "edit: replicas", with: { replicas: 1 } },
    ],
  },
  "TLS is switched on while a failed upgrade goes back: servers waited for each other": {
    beginning: "two replicas",
    seed: 600215,
    steps: [
      {
        atMs: 1000,
        do: "edit: a newer version",
        with: {
          version: "8.0",
          migrations: [{ version: 1, name: "change", since: "8.0", script: failingScript }],
        },
      },
      { atMs: 5500, do: "edit: TLS is switched on or off", with: { tls: {} } },
      { atMs: 130000, do: "edit: paused", forMs: 100 },
    ],
  },
  "a label of a claim is removed while its server is not reached: the claim was nobody's": {
    beginning: "two replicas, each must acknowledge",
    seed: 600101,
    steps: [
      { atMs: 300, do: "API: watches break", with: { how: "lose history" } },
      { atMs: 700, do: "node: kubelet cut off", forMs: 5300, with: { which: 0.913 } },
      {
        atMs: 900,
        do: "line: operator to a pod",
        forMs: 6600,
        with: { how: "one-way", which: 0.067, all: false },
      },
      { atMs: 1300, do: "by hand: an annotation is removed", with: { which: 0.584, note: 0.971 } },
      { atMs: 1400, do: "pod: deleted", with: { which: 0.717, force: false } },
      {
        atMs: 1600,
        do: "by hand: a label is changed or removed",
        with: { which: 0.838, label: 1, value: null },
      },
    ],
  },
  "the only volume is wiped, and its server starts twice: it led with nothing": {
    beginning: "a replica",
    seed: 700008,
    steps: [
      { atMs: 34200, do: "pod: deleted", with: { which: 0.441, force: false } },
      { atMs: 51600, do: "edit: replicas", with: { replicas: 0 } },
      { atMs: 55900, do: "volume: destroyed", with: { which: 0.561, how: "wiped" } },
      { atMs: 57000, do: "API: slow", forMs: 3900, with: { ms: 200 } },
      { atMs: 57700, do: "pod: process hangs", forMs: 11500, with: { which: 0.008 } },
    ],
  },
  "the owner label of a Secret is changed while a pass waits for a server: nobody knew whose it was": {
    beginning: "a replica, with a given certificate",
    seed: 700167,
    steps: [
      {
        atMs: 113700,
        do: "line: a pod from everyone",
        forMs: 4800,
        with: { which: 0.984, how: "dropped" },
      },
      {
        atMs: 118000,
        do: "by hand: a label is changed or removed",
        with: { which: 0.457, label: 0.701, value: "other" },
      },
    ],
  },
  "the version is taken back when an upgrade begins: it was completed, and the old one refused": {
    beginning: "two replicas",
    seed: 801018,
    steps: [
      { atMs: 0, do: "edit: a newer version", with: { version: "8.0", migrations: [] } },
      { atMs: 10000, do: "edit: another version", with: { version: "7.0" } },
    ],
  },
  "the store does not answer while an upgrade is rehearsed: the pod of the Job never ended": {
    beginning: "two replicas",
    seed: 803015,
    steps: [
      { atMs: 14700, do: "edit: a newer version", with: { version: "8.0", migrations: [] } },
      { atMs: 20000, do: "backup: the store does not answer", forMs: 1800 },
    ],
  },
  "a replica's files are damaged while an upgrade waits for an image: nobody gave it an empty volume": {
    beginning: "a replica, with a given password",
    seed: 62000129,
    steps: [
      { atMs: 11400, do: "by hand: the status is wiped" },
      { atMs: 15300, do: "pod: process killed", with: { which: 0.025 } },
      { atMs: 17500, do: "edit: a newer version, whose image is missing", forMs: 133900 },
      { atMs: 19300, do: "operator: killed at a write", with: { in: 11, when: "after" } },
      { atMs: 27600, do: "volume: destroyed", with: { which: 0.149, how: "corrupt" } },
      { atMs: 32500, do: "API: outage", forMs: 1300 },
      { atMs: 34000, do: "pod: deleted", with: { which: 0.899, force: false } },
    ],
  },
  "the clock is set back and the authority's Secret deleted: no server was told to read its certificate again":
    {
      beginning: "a replica, with TLS",
      seed: 64000547,
      steps: [
        { atMs: 0, do: "time: the wall clock jumps", with: { minutes: -60 } },
        { atMs: 0, do: "by hand: a child is deleted", with: { which: 0.407 } },
      ],
    },
  "a database is deleted while a kubelet is cut off: nobody said which server did not stop": {
    beginning: "two replicas",
    seed: 64000638,
    steps: [
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Snapshot" },
      },
      { atMs: 0, do: "node: kubelet cut off", forMs: 156300, with: { which: 0.325 } },
    ],
  },
  "a kubelet is cut off while replicas are upgraded: nobody said which replica was waited for": {
    beginning: "a replica, with a given password",
    seed: 64300151,
    steps: [
      { atMs: 0, do: "node: kubelet cut off", forMs: 324500, with: { which: 0.118 } },
      {
        atMs: 6000,
        do: "edit: a newer version",
        with: {
          version: "8.0",
          migrations: [{ version: 1, name: "change", since: "8.0", script: failingScript }],
        },
      },
      {
        atMs: 6000,
        do: "edit: a setting that needs a restart",
        with: { settings: { "tcp-backlog": "513" } },
      },
    ],
  },
  "a backup that is not there is named, and stays named: nobody said what to correct": {
    beginning: "no replicas",
    seed: 64600522,
    steps: [
      { atMs: 67100, do: "edit: restored from a backup that is not there", forMs: 600 },
      { atMs: 67100, do: "edit: restored from a backup that is not there", forMs: 600 },
    ],
  },
  "volumes are refused one size and then another while an upgrade ends: it was completed again and again": {
    beginning: "two replicas, each must acknowledge",
    seed: 64600488,
    steps: [
      { atMs: 0, do: "edit: storage", with: { storage: { size: "3Gi" } } },
      {
        atMs: 0,
        do: "edit: a newer version",
        with: {
          version: "8.0",
          migrations: [{ version: 1, name: "change", since: "8.0", script: "return 1" }],
        },
      },
      { atMs: 0, do: "edit: storage", with: { storage: { size: "2Gi" } } },
    ],
  },
  "a database that was made again is deleted: the last snapshot of the one before was taken for its own": {
    beginning: "two replicas, each must acknowledge",
    seed: 69000168,
    steps: [
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Snapshot" },
      },
      { atMs: 16000, do: "edit: deleted", with: { propagation: "Foreground", onDelete: "Snapshot" } },
    ],
  },
  "a status is lost after a restore: the volumes did not know of it, and the servers were stopped for another":
    {
      beginning: "a replica, with a given certificate",
      seed: 81000051,
      steps: [
        {
          atMs: 0,
          do: "edit: deleted and made again",
          with: { propagation: "Background", onDelete: "Snapshot" },
        },
        { atMs: 14000, do: "by hand: the status is wiped" },
      ],
    },
  "a status is lost after a restore in place: it was carried out again, and took back what was written since":
    {
      beginning: "a replica, with a given certificate",
      seed: 81000051,
      steps: [
        { atMs: 0, do: "edit: backups are asked for", with: { count: 1, primary: false } },
        { atMs: 20000, do: "edit: restored in place", with: { which: 0, request: "" } },
        { atMs: 60000, do: "by hand: the status is wiped" },
      ],
    },
  "a database is made again, and the volume of its last primary is empty: nobody said what a person can do": {
    beginning: "a replica, with a backup",
    seed: 82000542,
    steps: [
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Retain" },
      },
      { atMs: 0, do: "volume: destroyed", with: { which: 0.051, how: "wiped" } },
    ],
  },
  "a restore begins when an upgrade ends: the server that it added was filled, and never started": {
    beginning: "no replicas",
    seed: 84000102,
    steps: [
      {
        atMs: 30200,
        do: "edit: a newer version",
        with: {
          version: "8.0",
          migrations: [
            { version: 1, name: "change", since: "8.0", script: "return redis.error_reply('it fails')" },
          ],
        },
      },
      { atMs: 35900, do: "edit: restored in place", with: { which: 0.5562197893303659, request: "again" } },
    ],
  },
  "the API server goes back to before a handover: the primary of that time was promoted though another leads":
    {
      beginning: "two replicas, each must acknowledge",
      seed: 93000001,
      steps: [
        { atMs: 0, do: "by hand: the status and the marks of volumes are put back", forMs: 60_000 },
        { atMs: 2_000, do: "edit: a handover is asked for", with: { value: "db-1" } },
      ],
    },
  "the volume of a primary is lost while nobody reaches it: it started twice, and led with nothing": {
    beginning: "a replica",
    seed: 13,
    steps: [
      { atMs: 4500, do: "pod: process hangs", forMs: 2800, with: { which: 0.299 } },
      { atMs: 8700, do: "line: a pod from everyone", forMs: 15600, with: { which: 0.87, how: "dropped" } },
      { atMs: 8700, do: "volume: destroyed", with: { which: 0.865, how: "wiped" } },
    ],
  },
  "a database is made again with a setting that no server starts with: its correction was refused": {
    beginning: "a replica",
    seed: 84000289,
    steps: [
      { atMs: 0, do: "edit: a setting that no server starts with", forMs: 30000 },
      {
        atMs: 500,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", onDelete: "Retain" },
      },
    ],
  },
  "a backup without keys is restored, and all servers are reached at once: the one with the old data was advised":
    {
      beginning: "a replica, with a backup",
      seed: 1185,
      steps: [
        {
          atMs: 0,
          do: "line: operator to a pod",
          forMs: 21000,
          with: { how: "cut", which: 0, ms: 3000, all: true },
        },
        { atMs: 2000, do: "edit: restored in place", with: { which: 0, request: "" } },
      ],
    },
  "a setting changes when an upgrade ends: a replica waited for the old primary, which could not copy the new one":
    {
      beginning: "a replica",
      seed: 96000006,
      steps: [
        { atMs: 0, do: "edit: a setting that needs a restart", with: { settings: { "tcp-backlog": "515" } } },
        { atMs: 6600, do: "edit: a newer version", with: { version: "8.0", migrations: [] } },
        {
          atMs: 20100,
          do: "edit: a setting that needs a restart",
          with: { settings: { "tcp-backlog": "514" } },
        },
      ],
    },
  "a status is put back while a restore stops the servers: half of it stayed, and the rest was refused": {
    beginning: "a replica, with a backup",
    seed: 200000007,
    steps: [
      { atMs: 400, do: "edit: restored in place", with: { which: 0.409, request: "again" } },
      { atMs: 400, do: "by hand: the status and the marks of volumes are put back", forMs: 4000 },
    ],
  },
  "a database is made again from its snapshot with a number of databases that no server starts with": {
    beginning: "a replica",
    seed: 200000003,
    steps: [
      { atMs: 0, do: "edit: a setting that no server starts with", forMs: 11000 },
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Snapshot" },
      },
    ],
  },
  "a database is made again on its volumes while the given Secret is incomplete": {
    beginning: "a replica, with a given certificate",
    seed: 200000228,
    steps: [
      { atMs: 3500, do: "edit: the given Secret is incomplete", forMs: 2300 },
      {
        atMs: 3500,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Retain" },
      },
    ],
  },
  "the given certificate gets another authority while the database is made again around its servers": {
    beginning: "a replica, with a given certificate",
    seed: 99000714,
    steps: [
      { atMs: 14000, do: "edit: the given Secret is incomplete", forMs: 15500 },
      {
        atMs: 16300,
        do: "edit: deleted and made again",
        with: { propagation: "Orphan", onDelete: "Retain" },
      },
    ],
  },
  "volumes lose a label while the database is made again around its servers: nobody knew whose they were": {
    beginning: "no replicas",
    seed: 210000072,
    steps: [
      { atMs: 600, do: "pod: process hangs", forMs: 10000, with: { which: 0.948 } },
      { atMs: 1800, do: "edit: deleted and made again", with: { propagation: "Orphan", onDelete: "Retain" } },
      {
        atMs: 1800,
        do: "by hand: a label is removed from all pods",
        with: { label: 0.856, resource: "persistentvolumeclaims" },
      },
    ],
  },
  "a database is made again with fewer replicas, and only the volume of the one that went has data": {
    beginning: "two replicas, each must acknowledge",
    seed: 99000663,
    steps: [
      { atMs: 500, do: "edit: replicas", with: { replicas: 1 } },
      {
        atMs: 500,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Snapshot" },
      },
      { atMs: 500, do: "volume: destroyed", with: { which: 0.1, how: "corrupt" } },
      { atMs: 500, do: "volume: destroyed", with: { which: 0.491, how: "wiped" } },
    ],
  },
  "the status is wiped after an upgrade went back: the next one went back to volumes that were not set aside again":
    {
      beginning: "a replica",
      seed: 1,
      steps: [
        {
          atMs: 1000,
          do: "edit: a newer version",
          with: {
            version: "8.0",
            migrations: [{ version: 1, name: "change", since: "8.0", script: failingScript }],
          },
        },
        { atMs: 60000, do: "by hand: the status is wiped" },
        { atMs: 120000, do: "edit: paused", forMs: 100 },
      ],
    },
  "the only volume is damaged, and it is kept when the database is deleted: making it again was no way out": {
    beginning: "no replicas",
    seed: 1,
    steps: [
      {
        atMs: 1000,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Retain" },
      },
      { atMs: 30000, do: "volume: destroyed", with: { which: 0, how: "corrupt" } },
    ],
  },
  "a database is deleted before the pod of a backup has started: it stayed for an hour": {
    beginning: "a replica",
    seed: 211000086,
    steps: [
      { atMs: 4800, do: "edit: backups are asked for", with: { count: 1, primary: true } },
      { atMs: 4900, do: "edit: deleted", with: { propagation: "Background", onDelete: "Retain" } },
    ],
  },
  "the store is wiped after the last snapshot was proven: nobody has the data any more": {
    beginning: "two replicas",
    seed: 500000019,
    steps: [
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", onDelete: "Snapshot" },
      },
      { atMs: 3000, do: "API: stale cache", forMs: 46100, with: { resource: 0.484 } },
      { atMs: 5000, do: "volume: destroyed", with: { which: 0.949, how: "wiped" } },
    ],
  },
  "the StatefulSet is deleted while a setting comes that no server starts with: its correction was refused": {
    beginning: "a replica, with TLS",
    seed: 500001187,
    steps: [
      { atMs: 500, do: "edit: a setting that needs a restart", with: { settings: { "tcp-backlog": "514" } } },
      {
        atMs: 1600,
        do: "by hand: a label is changed or removed",
        with: { which: 0.833, label: 0.861, value: null },
      },
      { atMs: 3800, do: "edit: a live setting", with: { settings: { timeout: "0" } } },
      { atMs: 7400, do: "line: a pod from everyone", forMs: 4200, with: { which: 0.411, how: "dropped" } },
      { atMs: 8800, do: "by hand: a child is deleted", with: { which: 0.952 } },
      { atMs: 9000, do: "edit: a setting that no server starts with", forMs: 3000 },
    ],
  },
  "the claim of the only server is deleted, and the database later: made again, it led with nothing": {
    beginning: "no replicas",
    seed: 500001444,
    steps: [
      { atMs: 8500, do: "volume: destroyed", with: { which: 0.373, how: "claim deleted" } },
      { atMs: 54600, do: "pod: deleted", with: { which: 0.752, force: false } },
      {
        atMs: 145100,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", onDelete: "Retain" },
      },
    ],
  },
  "the store does not answer when a database is made again from its snapshot: the restore was given up": {
    beginning: "a replica",
    seed: 750003639,
    steps: [
      {
        atMs: 32000,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Snapshot" },
      },
      { atMs: 38500, do: "backup: the store does not answer", forMs: 9000 },
    ],
  },
  "the claim is deleted that a restore has just filled: the pod of the restore kept it for ever": {
    beginning: "no replicas",
    seed: 700003361,
    steps: [
      {
        atMs: 2700,
        do: "line: a pod from everyone",
        forMs: 108300,
        with: { which: 0.053, how: "refused" },
      },
      {
        atMs: 27800,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", onDelete: "Snapshot" },
      },
      { atMs: 37800, do: "line: a pod from everyone", forMs: 9300, with: { which: 0.934, how: "dropped" } },
      { atMs: 48000, do: "volume: destroyed", with: { which: 0.655, how: "claim deleted" } },
    ],
  },
  "the primary is damaged while the only replica is scaled away: nobody could be asked": {
    beginning: "a replica, with a given password",
    seed: 700003923,
    steps: [
      { atMs: 18100, do: "edit: replicas", with: { replicas: 0 } },
      { atMs: 18100, do: "volume: destroyed", with: { which: 0.458, how: "corrupt" } },
    ],
  },
  "the target of a handover is damaged, and the primary stops: it was awaited for ever": {
    beginning: "two replicas, each must acknowledge",
    seed: 750002451,
    steps: [
      { atMs: 0, do: "API: writes fail", with: { how: "refused", times: 1 } },
      { atMs: 0, do: "pod: deleted", with: { which: 0.105, force: false } },
      { atMs: 300, do: "volume: destroyed", with: { which: 0.473, how: "corrupt" } },
    ],
  },
  "the claim of the store is deleted while the last snapshot is taken: nobody made it again": {
    beginning: "no replicas",
    seed: 700003361,
    steps: [
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", onDelete: "Snapshot" },
      },
      { atMs: 2000, do: "volume: destroyed", with: { which: 0.655, how: "claim deleted" } },
    ],
  },
  "a database is made again with an older version than its snapshot: nobody said which one reads it": {
    beginning: "a replica",
    seed: 1,
    steps: [
      { atMs: 0, do: "edit: a newer version", with: { version: "8.0", migrations: [] } },
      { atMs: 60000, do: "edit: another version", with: { version: "7.0" } },
      {
        atMs: 70000,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", onDelete: "Snapshot" },
      },
    ],
  },
  "a database is deleted while it is filled from its snapshot: who makes it again names that snapshot": {
    beginning: "a replica, with TLS",
    seed: 850000325,
    steps: [
      {
        atMs: 75700,
        do: "edit: deleted and made again",
        with: { propagation: "Background", onDelete: "Snapshot" },
      },
      { atMs: 79800, do: "backup: the store does not answer", forMs: 37800 },
      {
        atMs: 84700,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", onDelete: "Snapshot" },
      },
    ],
  },
  "an old password ends when everything is at rest: that is no write of an operator that does not come to rest":
    {
      beginning: "a replica",
      seed: 870000052,
      steps: [
        { atMs: 18200, do: "edit: passwords are rotated", with: { value: "309518" } },
        { atMs: 470000, do: "edit: paused", forMs: 100 },
      ],
    },
  "the ConfigMap is deleted before the last snapshot is ordered: its pod waited for ever": {
    beginning: "two replicas, each must acknowledge",
    seed: 880004342,
    steps: [
      { atMs: 15700, do: "operator: stopped for a while", forMs: 55700 },
      {
        atMs: 32600,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", onDelete: "Snapshot" },
      },
      { atMs: 37900, do: "by hand: a child is deleted", with: { which: 0.729 } },
    ],
  },
  "a database is deleted right after a server leads, which no status says: its last snapshot waited for a primary":
    {
      beginning: "a replica, with TLS",
      seed: 3300003906,
      steps: [
        {
          atMs: 0,
          do: "edit: deleted and made again",
          with: { propagation: "Foreground", onDelete: "Snapshot" },
        },
        { atMs: 5200, do: "operator: killed at a write", with: { in: 8, when: "after" } },
        {
          atMs: 9000,
          do: "edit: deleted and made again",
          with: { propagation: "Background", onDelete: "Snapshot" },
        },
      ],
    },
  "the label of a claim that says its server is changed, and the status wiped: the StatefulSet had NaN replicas":
    {
      beginning: "a replica, with TLS",
      seed: 3500000740,
      lease: true,
      steps: [
        { atMs: 200, do: "API: outage", forMs: 17600 },
        { atMs: 200, do: "by hand: the status is wiped" },
        {
          atMs: 200,
          do: "by hand: a label is changed or removed",
          with: { which: 0.832, label: 0.587, value: "other" },
        },
      ],
    },
  "the given certificate is replaced twice while nobody leads, and all pods with it: no server could be asked":
    {
      beginning: "a replica, with a given certificate",
      seed: 3600000802,
      lease: true,
      steps: [
        { atMs: 0, do: "edit: the given Secret is incomplete", forMs: 1400 },
        { atMs: 0, do: "operator: killed at a call to the application", with: { in: 3, when: "after" } },
        { atMs: 0, do: "edit: the given certificate is replaced, and its authority" },
        { atMs: 0, do: "pod: all deleted" },
      ],
    },
  "a database is orphaned, made again and deleted while the operator that took it over is dead: everything was left":
    {
      beginning: "a replica, with a backup",
      seed: 3500001299,
      lease: true,
      steps: [
        { atMs: 0, do: "operator: killed at a write", with: { in: 10, when: "before" } },
        {
          atMs: 0,
          do: "edit: deleted and made again",
          with: { propagation: "Orphan", onDelete: "Snapshot" },
        },
        { atMs: 2000, do: "edit: deleted", with: { propagation: "Foreground", onDelete: "Snapshot" } },
      ],
    },
  "a pod of an outdated template reads a file with fewer databases: its volume was marked with those of the template":
    {
      beginning: "a replica",
      seed: 3800000986,
      steps: [
        { atMs: 2500, do: "edit: a setting that no server starts with", forMs: 2600 },
        {
          atMs: 4700,
          do: "edit: deleted and made again",
          with: { propagation: "Background", onDelete: "Snapshot" },
        },
        { atMs: 4700, do: "API: writes fail", with: { how: "too many requests", times: 1 } },
        { atMs: 5900, do: "edit: a setting that no server starts with", forMs: 8100 },
      ],
    },
};
