/** What an operator would only meet after its start, asked before it: a server, its kinds, permissions. */
import { type Client, ClientError } from "@keelson/client";
import { type ObjectOf, objectKey, type Stored } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { Deployment, SelfSubjectAccessReview } from "@keelson/core/kinds";
import { type PolicyRule, roleFor } from "@keelson/runtime";
import { CliError } from "../errors.ts";
import { selectorOf } from "../generate/site.ts";
import type { Target } from "../kubeconfig/target.ts";
import type { OperatorParts } from "../project.ts";

/** A server that needs longer for its version is not well. */
const ANSWER_WITHIN_MS = 5_000;
/** A sentence names this many at most. */
const NAMED = 3;

/** Throws in one sentence when nothing answers there. */
export async function checkAnswers(client: Client, { context, server }: Target): Promise<void> {
  try {
    await client.raw({ path: "/version", timeoutMs: ANSWER_WITHIN_MS });
  } catch (cause) {
    // A server that refuses is there.
    if (cause instanceof ClientError && typeof cause.code === "number" && cause.code !== 401) return;
    throw new CliError(
      "NoCluster",
      `the cluster of context ${context} does not answer at ${server}: ${(cause as Error).message}; ` +
        "keelson cluster up starts one on this machine",
      { cause },
    );
  }
}

/** Throws in one sentence when the server lacks a kind of the operator's own. */
export async function checkKinds(client: Client, parts: OperatorParts, { context }: Target): Promise<void> {
  for (const { group, kind, version } of parts.resources) {
    try {
      await client.discover(`${group}/${version}`, kind);
    } catch (cause) {
      if (!(cause instanceof ClientError && cause.code === "KindUnknown")) throw cause;
      throw new CliError(
        "CrdMissing",
        `the cluster of context ${context} does not serve ${kind} of ${group}/${version}; say --crds to apply the operator's CRDs first`,
        { cause },
      );
    }
  }
}

/** Throws in one sentence when the cluster runs the operator already: each would undo what the other does. */
export async function checkAlone(
  client: Client,
  { name }: OperatorParts,
  { context }: Target,
): Promise<void> {
  const labels = Object.entries(selectorOf(name)).map((pair) => pair.join("="));
  let items: readonly ObjectOf<typeof Deployment>[];
  try {
    ({ items } = await client.kind(Deployment).list({ labels: labels.join(",") }));
  } catch (cause) {
    // A user who may not look at Deployments has no way to know.
    if (cause instanceof ClientError && cause.code === 403) return;
    throw cause;
  }
  const running = items.find(({ spec }) => (spec?.replicas ?? 1) > 0);
  if (!running) return;
  const { namespace, name: deployment } = running.metadata;
  throw new CliError(
    "AlreadyRuns",
    `${name} runs in the cluster of context ${context} already, as Deployment ${objectKey(running)}: each would undo what the other does; ` +
      `stop it with kubectl scale -n ${namespace} deployment/${deployment} --replicas=0, or say --anyway`,
  );
}

/** As many objects of a kind are looked at. */
const LOOKED_AT = 500;

/** Throws in one sentence when an object that is stored would not fit the CRDs that are about to be applied. */
export async function checkStored(client: Client, { resources }: OperatorParts): Promise<void> {
  for (const resource of resources) {
    const { group, kind, version } = resource;
    let items: readonly Stored[];
    try {
      await client.discover(`${group}/${version}`, kind);
      ({ items } = await client.kind(resource).list({ limit: LOOKED_AT }));
    } catch {
      // Not served yet, or not to us: the server itself has the word.
      continue;
    }
    for (const object of items) {
      try {
        resource.parse(object);
      } catch (cause) {
        throw new CliError(
          "IncompatibleCrd",
          `${kind} ${objectKey(object)} is stored and does not fit the new schema: ${errorText(cause)}; nothing was applied: ` +
            "give a new field a default or make it optional, or add a version",
          { cause },
        );
      }
    }
  }
}

/** Throws in one sentence when the user may not do what the operator does. */
export async function checkPermissions(client: Client, parts: OperatorParts, target: Target): Promise<void> {
  const places = parts.namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  const wanted = roleFor(parts.controllers).flatMap(questionsOf);
  const refused = new Set<string>();
  await Promise.all(
    wanted.flatMap((attributes) =>
      places.map(async (where) => {
        const review = await client
          .kind(SelfSubjectAccessReview)
          .create({ metadata: {}, spec: { resourceAttributes: { ...attributes, ...where } } });
        if (!review.status?.allowed) refused.add(saidOf(attributes));
      }),
    ),
  );
  if (refused.size === 0) return;
  const more = refused.size > NAMED ? ` and ${refused.size - NAMED} more` : "";
  throw new CliError(
    "NotPermitted",
    `the user of context ${target.context} may not ${[...refused].sort().slice(0, NAMED).join(", ")}${more}, ` +
      "which the operator does; use a context whose user may",
  );
}

interface Question {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly name?: string;
}

function questionsOf({
  apiGroups,
  resources,
  resourceNames = [undefined],
  verbs,
}: PolicyRule | Nameless): Question[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource = "", subresource] = path.split("/");
      const what = { group, resource, ...(subresource === undefined ? {} : { subresource }) };
      return verbs.flatMap((verb) =>
        resourceNames.map((name) => ({ ...what, verb, ...(name === undefined ? {} : { name }) })),
      );
    }),
  );
}

type Nameless = Omit<PolicyRule, "resourceNames"> & { resourceNames?: (string | undefined)[] };

function saidOf({ group, resource, subresource, verb }: Question): string {
  const path = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `${verb} ${path}${group === "" ? "" : `.${group}`}`;
}
