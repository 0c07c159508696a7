/** Scenarios in which exploring once found a failure, by what happens in them. */
import type { Plan } from "@keelson/testing";
import { failingScript } from "./agent.ts";

export const found: Readonly<Record<string, Plan>> = {
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
};
