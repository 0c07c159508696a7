/** The README names every field that users write and read. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "keelson";
import { expect, it } from "vitest";
import { EtcdBackup, EtcdBackupSchedule } from "../src/api/backup.ts";
import { EtcdCluster } from "../src/api/cluster.ts";
import { annotations, conditions } from "../src/index.ts";

const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Names of the fields on the lowest level, and of objects that have no fields of their own. */
function leaves(schema: Schema): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, value]) =>
    value.properties ? leaves(value) : [name],
  );
}

function schemaOf(resource: Resource, part: "spec" | "status"): Schema {
  const crd = resource.crd() as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
  return crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.[part] ?? {};
}

const isNamed = (field: string) => new RegExp(`[.\`]${field}\``).test(readme);

it("every field of a spec is in the README", () => {
  const fields = [EtcdCluster, EtcdBackup, EtcdBackupSchedule].flatMap((resource) =>
    leaves(schemaOf(resource, "spec")),
  );
  expect(fields.length).toBeGreaterThan(60);
  expect(fields.filter((field) => !isNamed(field))).toEqual([]);
});

it("every field of the cluster's status and every condition is in the README", () => {
  const own = Object.keys(schemaOf(EtcdCluster, "status").properties ?? {}).filter(
    (field) => !["conditions", "observedGeneration", "inventory", "steps"].includes(field),
  );
  expect([...own, ...Object.values(conditions)].filter((field) => !isNamed(field))).toEqual([]);
});

it("every annotation that users write is in the README", () => {
  for (const name of [annotations.approveRecovery, annotations.rotateAuthorities, annotations.removeData])
    expect(readme).toContain(name);
});

it("no line of the README is longer than 300 characters", () => {
  expect(readme.split("\n").filter((line) => line.length > 300)).toEqual([]);
});
