/** Scenarios that the explorer found around authorities and promotions, in their smallest form. */
import type { Plan } from "@keelson/testing";

export const foundTrust: Readonly<Record<string, Plan>> = {
  "all claims and the authority of the peers are deleted at once": {
    beginning: "three members with TLS and a password",
    seed: 600001944,
    steps: [
      { atMs: 0, do: "volume: claims are deleted while their pods run", with: { which: 0.781, all: true } },
      { atMs: 0, do: "by hand: a child is deleted", with: { which: 0.869 } },
    ],
  },
  "a cluster is orphaned and made again, and the authority of the peers is deleted before it has a status": {
    beginning: "three members with TLS and a password",
    seed: 600003999,
    steps: [
      { atMs: 2800, do: "pod: deleted", with: { which: 0.412, force: false } },
      {
        atMs: 7400,
        do: "edit: deleted and made again",
        with: { propagation: "Orphan", finalBackup: true },
      },
      { atMs: 7500, do: "pod: deleted", with: { which: 0.316, force: false } },
      {
        atMs: 8500,
        do: "line: between two pods",
        forMs: 8100,
        with: { how: "one-way", which: 0.803, other: 0.415 },
      },
      { atMs: 8700, do: "by hand: a child is deleted", with: { which: 0.862 } },
    ],
  },
  "a Secret gets another owner's name before its cluster is made again": {
    beginning: "three members with TLS and a password",
    seed: 600002259,
    steps: [
      { atMs: 0, do: "API: outage", forMs: 18200 },
      {
        atMs: 0,
        do: "by hand: a label is changed or removed",
        with: { which: 0.734, label: 0.703, value: "other" },
      },
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Orphan", finalBackup: false },
      },
    ],
  },
  "a learner that has caught up restarts, and lacks what was written meanwhile": {
    beginning: "three members",
    seed: 650003714,
    steps: [
      { atMs: 7900, do: "edit: size", with: { size: 4 } },
      { atMs: 12900, do: "pod: process killed", with: { which: 0.831 } },
    ],
  },
  "a member whose certificate is gone with the authority's key restarts before those who are to trust it": {
    beginning: "three members with TLS and a password",
    seed: 1900001438,
    steps: [
      { atMs: 32700, do: "by hand: a child is deleted", with: { which: 0.838 } },
      { atMs: 32700, do: "by hand: a child is deleted", with: { which: 0.581 } },
    ],
  },
};
