/** Which certificates members present: a new Secret reaches a running pod only after a while. */
import { X509Certificate } from "node:crypto";
import type { InspectCertificate } from "@keelson/kit";
import type { TlsUse } from "../resources/certificate-names.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { clientPort, peerPort } from "../resources/names.ts";

/** Whether every member presents, on the port of this use, the certificate that its Secret holds. */
export type Presented = (
  use: TlsUse,
  expected: ReadonlyMap<string, string>,
  ctx: EtcdContext,
) => Promise<boolean>;

/** Asks all members at once; a missing member presents nothing. */
export function presentedBy(inspect: InspectCertificate): Presented {
  return async (use, expected, ctx) => {
    const shown = await Promise.all(
      [...expected].map(async ([member, certificate]) => {
        const found = await presentedAt(inspect, member, use === "peer" ? peerPort : clientPort, ctx);
        return found?.fingerprint256 === new X509Certificate(certificate).fingerprint256;
      }),
    );
    return shown.length > 0 && shown.every(Boolean);
  };
}

async function presentedAt(inspect: InspectCertificate, name: string, port: number, ctx: EtcdContext) {
  const pod = ctx.own.pods.list().find(({ metadata }) => metadata.name === name);
  if (!pod) return undefined;
  const { namespace = "default" } = pod.metadata;
  try {
    await using link = await ctx.connect({ pod: { namespace, name } }, port);
    return await inspect(link);
  } catch {
    return undefined;
  }
}
