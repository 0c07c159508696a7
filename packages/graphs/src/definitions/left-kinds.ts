/** Kinds that instances still have children of although their definition no longer makes any. */
import { type Client, ClientError } from "@keelson/client";
import type { AnyKind } from "@keelson/core";
import { kindText } from "../graph/compile.ts";
import { type Graph, ownedKinds } from "../graph/graph.ts";
import { CustomResourceDefinition, recordedKinds, type StoredCrd } from "./instance-crd.ts";

/** From what the generated CRD has on record. */
export async function leftKinds(client: Client, graph: Graph): Promise<AnyKind[]> {
  const crd = (await client.kind(CustomResourceDefinition).find({ name: graph.crd.metadata.name })) as
    | StoredCrd
    | undefined;
  const current = new Set(ownedKinds(graph).map(kindText));
  const kinds: AnyKind[] = [];
  for (const each of recordedKinds(crd).filter((text) => !current.has(text))) {
    const slash = each.lastIndexOf("/");
    try {
      kinds.push(await client.discover(each.slice(0, slash), each.slice(slash + 1)));
    } catch (error) {
      if (!(error instanceof ClientError && error.code === "KindUnknown")) throw error;
    }
  }
  return kinds;
}
