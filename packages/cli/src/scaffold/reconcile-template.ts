/** The template "reconcile": ordered steps with full control, and something to wait for. */
import type { ApiNames } from "./names.ts";

export const reconcileSpec = {
  fields: `  spec: z.object({
    secretName: z.string().min(1).max(253).describe("The Secret with the key that is needed."),
  }),
  status: z.object({
    keyLength: z.int().optional().describe("How long the key is that was found."),
  }),
  columns: { Secret: ".spec.secretName" },
`,
  example: "  secretName: example-key\n",
};

export function reconcileController({ controller, kind }: ApiNames): string {
  return `/** What happens with a ${kind}: it waits for its Secret, then keeps a ConfigMap. */
import { controller, done, fail, ref, waiting } from "keelson";
import { ConfigMap, Secret } from "keelson/kinds";
import { ${kind} } from "./api.ts";

export const ${controller} = controller(${kind}, {
  owns: { config: ConfigMap },
  reads: { secret: ref(Secret, ({ spec }) => ({ name: spec.secretName })) },

  async reconcile({ spec }, ctx) {
    const { secret } = ctx.read;
    if (!secret) return waiting("SecretMissing", \`Secret \${spec.secretName} does not exist\`);
    const key = secret.data?.key;
    if (key === undefined) return fail("SecretInvalid", \`Secret \${spec.secretName} has no key named "key"\`);

    const keyLength = Buffer.from(key, "base64").length;
    await ctx.own.config.apply({ data: { keyLength: String(keyLength) } });
    ctx.setStatus({ keyLength });
    return done();
  },

  async finalize(_object, ctx) {
    ctx.event("Normal", "Released", "nothing outside the cluster is left of it");
    return done();
  },
});
`;
}

export function reconcileTest({ controller, folder, kind }: ApiNames): string {
  return `/** What is promised of a ${kind}. */
import { cluster, everyCrash } from "@keelson/testing";
import { ConfigMap, Secret } from "keelson/kinds";
import { expect, test } from "vitest";
import { ${kind} } from "../src/${folder}/api.ts";
import { ${controller} } from "../src/${folder}/controller.ts";

const controllers = [${controller}];
const here = { namespace: "default", name: "example" };
const example = ${kind}.object({ metadata: here, spec: { secretName: "key" } });
const secret = { metadata: { namespace: "default", name: "key" }, stringData: { key: "12345" } };

test("waits for its Secret, and goes when it is deleted", async () => {
  await using c = await cluster({ controllers });
  const examples = c.client.kind(${kind});
  await examples.create(example);
  await c.converges({ ready: false });
  const waits = await examples.get(here);
  expect(waits.status?.conditions?.find(({ type }) => type === "Ready")?.reason).toBe("SecretMissing");

  await c.client.kind(Secret).create(secret);
  await c.converges();
  expect((await examples.get(here)).status?.keyLength).toBe(5);

  await examples.delete(here);
  await c.until(async () => (await examples.find(here)) === undefined);
});

test("leaves nothing half done, whenever its manager dies", async () => {
  await everyCrash({ controllers }, async (c) => {
    await c.client.kind(Secret).create(secret);
    await c.client.kind(${kind}).create(example);
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(here)).data?.keyLength).toBe("5");
  });
});
`;
}
