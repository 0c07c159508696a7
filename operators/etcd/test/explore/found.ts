/** Scenarios in which exploring once found a failure, by what happens in them. */
import type { Plan } from "@keelson/testing";

export const found: Readonly<Record<string, Plan>> = {
  "a map in the status becomes empty while a rollout is under way": {
    beginning: "three members",
    seed: 55,
    steps: [
      { atMs: 7700, do: "node: the pool is relabelled" },
      { atMs: 20200, do: "edit: size", with: { size: 1 } },
      { atMs: 37800, do: "operator: stopped for a while", forMs: 1200 },
    ],
  },
  "a voter is added by hand to the only member": {
    beginning: "one member",
    seed: 2,
    steps: [
      { atMs: 0, do: "API: reads fail", with: { how: "reset", times: 3 } },
      {
        atMs: 0,
        do: "line: between two pods",
        forMs: 152600,
        with: { how: "cut", which: 0.262, ms: 30000, other: 0.272 },
      },
      { atMs: 0, do: "etcd: a voter is added by hand", forMs: 62000 },
      { atMs: 0, do: "API: writes fail", with: { how: "reset", times: 1 } },
      { atMs: 0, do: "edit: size", with: { size: 3 } },
    ],
  },
  "version and size change together": {
    beginning: "three members of 3.5",
    seed: 24,
    steps: [
      { atMs: 1300, do: "edit: version", with: { version: "3.6.17" } },
      { atMs: 2800, do: "API: writes fail", with: { how: "too many requests", times: 1 } },
      { atMs: 4800, do: "edit: size", with: { size: 3 } },
    ],
  },
  "an upgrade is paused while the API server is slow": {
    beginning: "three members of 3.5",
    seed: 34,
    steps: [
      { atMs: 10800, do: "edit: version", with: { version: "3.7.3" } },
      { atMs: 11900, do: "API: reads fail", with: { how: "refused", times: 1 } },
      { atMs: 13200, do: "API: slow", forMs: 58900, with: { ms: 2000 } },
      { atMs: 18700, do: "edit: changed and taken back", with: { size: 5, afterMs: 300 } },
      { atMs: 21600, do: "API: writes fail", with: { how: "too many requests", times: 2 } },
      { atMs: 22700, do: "edit: paused", forMs: 25400 },
    ],
  },
  "only clients do not reach the member": {
    beginning: "one member",
    seed: 50,
    managers: 2,
    steps: [
      { atMs: 200, do: "pod: deleted", with: { which: 0.887, force: true } },
      { atMs: 2600, do: "edit: storage", with: { size: "1Gi" } },
      {
        atMs: 4500,
        do: "line: clients to a pod",
        forMs: 88400,
        with: { how: "one-way", which: 0.811, ms: 3000 },
      },
      { atMs: 6700, do: "API: writes fail", with: { how: "answer lost", times: 2 } },
      { atMs: 9800, do: "application: a call fails", with: { in: 3, how: "refuse" } },
      { atMs: 31200, do: "by hand: the status is wiped" },
      { atMs: 36200, do: "edit: version", with: { version: "3.6.16" } },
      {
        atMs: 52200,
        do: "line: operator to a pod",
        forMs: 2100,
        with: { how: "dropped", which: 0.972, ms: 300, all: false },
      },
    ],
  },
  "the wall clock goes back by an hour during a rollout": {
    beginning: "one member",
    seed: 101,
    steps: [
      { atMs: 0, do: "edit: quota", with: { quotaBytes: 2000000 } },
      { atMs: 100, do: "time: the wall clock jumps", with: { minutes: -60 } },
      { atMs: 300, do: "API: slow", forMs: 4400, with: { ms: 2000 } },
      { atMs: 400, do: "edit: quota", with: { quotaBytes: 8000000 } },
      { atMs: 500, do: "API: slow", forMs: 52300, with: { ms: 200 } },
      { atMs: 500, do: "edit: version", with: { version: "3.6.17" } },
    ],
  },
  "Secrets of certificates lose labels and are deleted": {
    beginning: "three members with TLS and a password",
    seed: 120,
    steps: [
      {
        atMs: 4100,
        do: "by hand: a label is changed or removed",
        with: { which: 0.856, label: 0.719, value: null },
      },
      { atMs: 14200, do: "by hand: a child is deleted", with: { which: 0.845 } },
      { atMs: 15600, do: "API: writes fail", with: { how: "unavailable", times: 1 } },
      { atMs: 16600, do: "by hand: a child is deleted", with: { which: 0.93 } },
      { atMs: 28100, do: "edit: a node pool that does not exist", forMs: 66100 },
      { atMs: 51600, do: "by hand: an annotation is removed", with: { which: 0.865, note: 0.949 } },
    ],
  },
  "a hibernated cluster wakes up while writes time out": {
    beginning: "three members with a small quota",
    seed: 1018,
    steps: [
      { atMs: 5900, do: "edit: hibernated", forMs: 44700 },
      { atMs: 14000, do: "API: writes fail", with: { how: "internal error", times: 2 } },
      { atMs: 23800, do: "line: a pod from everyone", forMs: 108000, with: { which: 0.829, how: "refused" } },
      { atMs: 33300, do: "edit: paused", forMs: 4200 },
      { atMs: 40100, do: "line: a pod from everyone", forMs: 10000, with: { which: 0.428, how: "dropped" } },
      { atMs: 40300, do: "API: writes fail", with: { how: "timeout after commit", times: 1 } },
    ],
  },
  "the operator does not reach the leader while the cluster shrinks": {
    beginning: "three members of 3.5",
    seed: 1024,
    steps: [
      { atMs: 4000, do: "edit: settings", with: { snapshotCount: 20000 } },
      { atMs: 7700, do: "application: a call fails", with: { in: 3, how: "refuse" } },
      { atMs: 9700, do: "edit: changed and taken back", with: { size: 2, afterMs: 40000 } },
      { atMs: 9900, do: "etcd: out of space" },
      { atMs: 15000, do: "edit: settings", with: { snapshotCount: 5000 } },
      { atMs: 15300, do: "node: kubelet cut off", forMs: 2600, with: { which: 0.758 } },
      {
        atMs: 15600,
        do: "line: operator to a pod",
        forMs: 90900,
        with: { how: "refused", which: 0.187, ms: 300, all: false },
      },
      { atMs: 16600, do: "edit: version", with: { version: "4.0.0" } },
    ],
  },
  "a member is removed by hand while no pod is reached": {
    beginning: "three members with TLS and a password",
    seed: 1090,
    managers: 2,
    steps: [
      {
        atMs: 16800,
        do: "line: operator to a pod",
        forMs: 178600,
        with: { how: "one-way", which: 0.864, ms: 300, all: true },
      },
      { atMs: 30400, do: "pod: process hangs", forMs: 23000, with: { which: 0.162 } },
      { atMs: 36000, do: "edit: resources that no node has", forMs: 39800 },
      { atMs: 43100, do: "etcd: a member is removed by hand", with: { which: 0.192 } },
      { atMs: 70700, do: "node: kubelet cut off", forMs: 3500, with: { which: 0.368 } },
      { atMs: 71100, do: "edit: automatic recovery" },
      { atMs: 96800, do: "node: the pool is relabelled" },
      { atMs: 113700, do: "operator: killed at a call to the application", with: { in: 2, when: "before" } },
    ],
  },
  "a volume is full during a rollout": {
    beginning: "three members with a small quota",
    seed: 1133,
    steps: [
      { atMs: 2900, do: "volume: claims stay Pending", forMs: 74400 },
      { atMs: 3100, do: "edit: size", with: { size: 3 } },
      { atMs: 3400, do: "edit: changed and taken back", with: { size: 5, afterMs: 40000 } },
      { atMs: 6200, do: "volume: full", forMs: 43300, with: { which: 0.123 } },
      { atMs: 6300, do: "edit: quota", with: { quotaBytes: 0 } },
    ],
  },
  "a pod is cut off from everyone during a rollout": {
    beginning: "three members on a node pool",
    seed: 1145,
    steps: [
      { atMs: 0, do: "edit: changed and taken back", with: { size: 2, afterMs: 40000 } },
      {
        atMs: 100,
        do: "line: operator to a pod",
        forMs: 51100,
        with: { how: "dropped", which: 0.068, ms: 300, all: false },
      },
      { atMs: 100, do: "node: loses power", forMs: 4400, with: { which: 0.605 } },
      { atMs: 200, do: "API: stale cache", forMs: 20300, with: { resource: 0.612 } },
      { atMs: 200, do: "edit: settings", with: { snapshotCount: 10000 } },
      { atMs: 200, do: "line: a pod from everyone", forMs: 147900, with: { which: 0.047, how: "dropped" } },
    ],
  },
  "the status is wiped in a rollout while nobody is ready: one that answered was restarted beside a voter that was down":
    {
      beginning: "three members on volumes that grow",
      seed: 91000300,
      steps: [
        { atMs: 2000, do: "edit: settings", with: { snapshotCount: 5000 } },
        { atMs: 12200, do: "etcd: a voter is added by hand", forMs: 900 },
        {
          atMs: 12200,
          do: "line: a pod from everyone",
          forMs: 26600,
          with: { which: 0.448, how: "refused" },
        },
        { atMs: 15000, do: "by hand: the status is wiped" },
      ],
    },
  "the clock is set back by a minute: the newest revision was stored two minutes later": {
    beginning: "three members with TLS and a password",
    seed: 96000003,
    managers: 2,
    steps: [
      { atMs: 500, do: "edit: version", with: { version: "3.7.3" } },
      { atMs: 25800, do: "edit: size", with: { size: 1 } },
      { atMs: 60300, do: "pod: deleted", with: { which: 0.866, force: false } },
      { atMs: 81400, do: "time: the wall clock jumps", with: { minutes: -1 } },
    ],
  },
  "a version that is not supported stays for a while: the refusal did not name the field": {
    beginning: "three members of 3.5",
    seed: 96000059,
    steps: [
      { atMs: 0, do: "edit: version", with: { version: "4.0.0" } },
      {
        atMs: 0,
        do: "line: between two pods",
        forMs: 150000,
        with: { how: "cut", which: 0.702, ms: 30000, other: 0.372 },
      },
    ],
  },
  "three changes that cannot run are tried one after the other: nobody said what is in their way": {
    beginning: "two members",
    seed: 98000399,
    steps: [
      { atMs: 83300, do: "edit: a node pool that does not exist", forMs: 167500 },
      { atMs: 136700, do: "edit: version", with: { version: "3.7.3" } },
      { atMs: 149900, do: "edit: version", with: { version: "3.6.99" } },
    ],
  },
  "a learner reaches nobody at its first start, and joins at the second: its volume was taken for empty": {
    beginning: "two members",
    seed: 99_000_520,
    steps: [
      { atMs: 0, do: "edit: size", with: { size: 3 } },
      {
        atMs: 300,
        do: "line: a pod from everyone",
        forMs: 700,
        with: { which: 0.723, how: "refused" },
      },
    ],
  },
  "the wall clock goes back by an hour while authorities are rotated": {
    beginning: "three members with TLS and a password",
    seed: 7,
    steps: [
      { atMs: 0, do: "edit: authorities are rotated", with: { value: "0.5" } },
      { atMs: 5000, do: "time: the wall clock jumps", with: { minutes: -60 } },
    ],
  },
  "the wall clock goes back by an hour before a backup is tried again": {
    beginning: "one member",
    seed: 7,
    steps: [
      { atMs: 0, do: "backup: the store does not answer", forMs: 20000 },
      { atMs: 100, do: "edit: backups are asked for", with: { count: 3 } },
      { atMs: 15000, do: "time: the wall clock jumps", with: { minutes: -60 } },
    ],
  },
  "a write is stuck when authorities are to be rotated": {
    beginning: "three members with TLS and a password",
    seed: 3050001308,
    steps: [
      { atMs: 0, do: "API: writes fail", with: { how: "timeout after commit", times: 1 } },
      { atMs: 0, do: "edit: authorities are rotated", with: { value: "0.31369771406849944" } },
    ],
  },
  "the status is wiped while authorities are rotated": {
    beginning: "three members with TLS and a password",
    seed: 3,
    steps: [
      { atMs: 0, do: "edit: authorities are rotated", with: { value: "1" } },
      { atMs: 1000, do: "by hand: the status is wiped" },
    ],
  },
  "writes still fail when the API server is back after two minutes": {
    beginning: "three members with a small quota",
    seed: 300001511,
    steps: [
      { atMs: 0, do: "edit: paused", forMs: 900 },
      {
        atMs: 400,
        do: "line: operator to a pod",
        forMs: 213300,
        with: { how: "cut", which: 0.031, ms: 30000, all: false },
      },
      { atMs: 400, do: "API: outage", forMs: 109900 },
      { atMs: 400, do: "API: writes fail", with: { how: "refused", times: 1 } },
      { atMs: 400, do: "API: writes fail", with: { how: "refused", times: 1 } },
    ],
  },
  "a pod is deleted by hand in the moment in which a rollout restarts another": {
    beginning: "three members on a node pool",
    seed: 300002266,
    steps: [
      { atMs: 17800, do: "pod: deleted", with: { which: 0.848, force: false } },
      { atMs: 28500, do: "edit: a node pool that does not exist", forMs: 6000 },
      {
        atMs: 37900,
        do: "line: operator to a pod",
        forMs: 123800,
        with: { how: "slow", which: 0.745, all: false },
      },
      { atMs: 48300, do: "pod: deleted", with: { which: 0.005, force: false } },
    ],
  },
  "etcd is out of space, and the operator does not reach a member": {
    beginning: "three members with a small quota",
    seed: 500001583,
    steps: [
      {
        atMs: 0,
        do: "line: operator to a pod",
        forMs: 146300,
        with: { how: "dropped", which: 0.296, ms: 30000 },
      },
      { atMs: 0, do: "etcd: out of space" },
    ],
  },
  "a voter is added by hand while the operator reaches no pod": {
    beginning: "two members",
    seed: 510000074,
    steps: [
      {
        atMs: 0,
        do: "line: operator to a pod",
        forMs: 129400,
        with: { how: "dropped", which: 0.566, all: true },
      },
      { atMs: 0, do: "etcd: a voter is added by hand", forMs: 77900 },
    ],
  },
  "the pod that tries a new version is deleted from a node that has lost power": {
    beginning: "three members of 3.5",
    seed: 1300002973,
    steps: [
      { atMs: 3500, do: "edit: version", with: { version: "3.6.99" } },
      { atMs: 5000, do: "node: loses power", forMs: 162800, with: { which: 0.131 } },
      { atMs: 5000, do: "pod: deleted", with: { which: 0.954, force: false } },
      { atMs: 5000, do: "pod: deleted", with: { which: 0.012, force: true } },
    ],
  },
  "the pod that tries a new configuration runs on a node that has lost power": {
    beginning: "three members with a small quota",
    seed: 1350003699,
    steps: [
      { atMs: 0, do: "edit: settings", with: { snapshotCount: 20000 } },
      { atMs: 400, do: "node: loses power", forMs: 471600, with: { which: 0.163 } },
    ],
  },
  "the last member of the old minor goes while a rollout of the old minor begins": {
    beginning: "three members of 3.5",
    seed: 1300009278,
    steps: [
      { atMs: 0, do: "edit: version", with: { version: "3.7.3" } },
      { atMs: 0, do: "node: the pool is relabelled" },
      { atMs: 0, do: "volume: claims are deleted while their pods run", with: { which: 0.256, all: true } },
    ],
  },
  "etcd is out of space while one member does not hear the leader": {
    beginning: "three members with a small quota",
    seed: 1300008104,
    steps: [
      {
        atMs: 0,
        do: "line: between two pods",
        forMs: 243400,
        with: { how: "dropped", which: 0.026, other: 0.651 },
      },
      { atMs: 0, do: "etcd: out of space" },
    ],
  },
  "the pod of a learner that was just promoted is deleted, and nobody recorded its vote": {
    beginning: "one member",
    seed: 1350014664,
    steps: [
      { atMs: 0, do: "edit: size", with: { size: 3 } },
      { atMs: 400, do: "operator: killed at a call to the application", with: { in: 1, when: "after" } },
      { atMs: 6300, do: "pod: deleted", with: { which: 0.51, force: false } },
    ],
  },
  "a volume is full while the nodes of the pool get other labels, and so does the spec": {
    beginning: "three members of 3.5",
    seed: 1300005870,
    steps: [
      { atMs: 0, do: "node: the pool is relabelled" },
      { atMs: 0, do: "volume: full", forMs: 36000, with: { which: 0.263 } },
      { atMs: 0, do: "volume: full", forMs: 600, with: { which: 0.34 } },
    ],
  },
  "hibernation is taken back while a pass waits for a member that does not answer": {
    beginning: "three members with a small quota",
    seed: 2000007494,
    steps: [
      {
        atMs: 105000,
        do: "line: a pod from everyone",
        forMs: 48300,
        with: { which: 0.78, how: "dropped" },
      },
      { atMs: 142900, do: "edit: hibernated", forMs: 600 },
    ],
  },
  "the connections break while the members' hashes are compared": {
    beginning: "three members with a small quota",
    seed: 3000002694,
    steps: [
      { atMs: 22700, do: "edit: version", with: { version: "3.6.17" } },
      { atMs: 24000, do: "pod: deleted", with: { which: 0.667, force: false } },
      {
        atMs: 29000,
        do: "line: operator to a pod",
        forMs: 9300,
        with: { how: "slow", which: 0.092, all: false },
      },
      { atMs: 31000, do: "edit: quota", with: { quotaBytes: 8000000 } },
      {
        atMs: 38300,
        do: "line: operator to a pod",
        forMs: 1400,
        with: { how: "dropped", which: 0.301, ms: 3000, all: true },
      },
    ],
  },
};
