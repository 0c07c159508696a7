/** The files of a webhook: what is refused of a resource beyond its schema, what is filled in, and a test of both. */
import { parse } from "yaml";
import { literalOf } from "./literal.ts";
import type { ScaffoldFile } from "./write-files.ts";

export interface WebhookPlan {
  readonly kind: string;
  /** `etcd-cluster` */
  readonly folder: string;
  /** The operator's name. */
  readonly operator: string;
  /** The resource's example, as YAML: its spec is one that the schema takes. */
  readonly example: string | undefined;
}

export function webhookFiles(plan: WebhookPlan): ScaffoldFile[] {
  return [
    { path: `src/${plan.folder}/webhook.ts`, content: webhookFile(plan) },
    { path: `test/${plan.folder}-webhook.test.ts`, content: testFile(plan) },
  ];
}

/** `etcd-cluster` has `etcdClusterWebhook`. */
export function webhookName(folder: string): string {
  return `${folder.replace(/-([a-z0-9])/g, (_, first: string) => first.toUpperCase())}Webhook`;
}

function specOf(example: string | undefined): unknown {
  if (example === undefined) return {};
  return (parse(example) as { spec?: unknown } | null)?.spec ?? {};
}

function webhookFile({ folder, kind, operator }: WebhookPlan): string {
  const name = webhookName(folder);
  return `/** What is refused of a ${kind} beyond its schema, and what is filled in. */
import { deny, webhook } from "keelson";
import { ${kind} } from "./api.ts";

/** Names of children are longer than their owner's, and a label holds 63 characters. */
const LONGEST_NAME = 50;

export const ${name} = webhook(${kind}, {
  mutate(object) {
    object.metadata.labels = {
      ...object.metadata.labels,
      "app.kubernetes.io/managed-by": "${operator}",
    };
  },

  validate(object) {
    if (object.metadata.name.length <= LONGEST_NAME) return;
    return deny(\`a name has at most \${LONGEST_NAME} characters\`, { field: "metadata.name" });
  },
});
`;
}

function testFile({ example, folder, kind, operator }: WebhookPlan): string {
  const name = webhookName(folder);
  return `/** What the webhook of a ${kind} promises. */
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { ${kind} } from "../src/${folder}/api.ts";
import { ${name} } from "../src/${folder}/webhook.ts";

type Input = Parameters<typeof ${kind}.object>[0];

const named = (name: string): Input => ({
  metadata: { namespace: "default", name },
  spec: ${literalOf(specOf(example), 2, "spec: ,".length)},
});

test("a ${kind} is marked as this operator's", async () => {
  await using c = await cluster({ webhooks: [${name}] });
  const { metadata } = await c.client.kind(${kind}).create(named("example"));
  const operator = "${operator}";
  expect(metadata.labels?.["app.kubernetes.io/managed-by"]).toBe(operator);
});

test("a name that is too long for its children is refused", async () => {
  await using c = await cluster({ webhooks: [${name}] });
  const tooLong = c.client.kind(${kind}).create(named("x".repeat(51)));
  await expect(tooLong).rejects.toThrow(/at most 50 characters/);
});
`;
}
