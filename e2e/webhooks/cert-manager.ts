/**
 * The part of cert-manager that webhooks meet: a Secret of type `kubernetes.io/tls` with `ca.crt` beside the pair, renewed
 * in place, and its injector, which writes that authority into what carries its annotation.
 */
import { type Client, isNotFound } from "@keelson/client";
import { createAuthority, createLeaf } from "@keelson/pki";
import {
  CustomResourceDefinition,
  MutatingWebhookConfiguration,
  Secret,
  ValidatingWebhookConfiguration,
} from "keelson/kinds";
import { Schedule } from "./operator/src/index.ts";

const injectFrom = "cert-manager.io/inject-ca-from";
const lifeMs = 90 * 24 * 3600_000;

export class CertManager {
  readonly #client: Client;
  readonly #secret: { readonly namespace: string; readonly name: string };
  readonly #operator: string;
  readonly #authority = createAuthority("cert-manager", Date.now() - 60_000, Date.now() + 4 * lifeMs);

  constructor(
    client: Client,
    options: { readonly secret: { namespace: string; name: string }; readonly operator: string },
  ) {
    this.#client = client;
    this.#secret = options.secret;
    this.#operator = options.operator;
  }

  /** Writes a new pair into the Secret; the first time in place of the one that our own manifests brought. */
  async issue(): Promise<void> {
    const { namespace, name } = this.#secret;
    const service = `${name}.${namespace}`;
    const leaf = createLeaf(this.#authority, {
      subject: { commonName: `${service}.svc` },
      names: [`${service}.svc`, `${service}.svc.cluster.local`],
      usages: ["server"],
      notBeforeMs: Date.now() - 60_000,
      notAfterMs: Date.now() + lifeMs,
    });
    const encoded = (text: string) => Buffer.from(text).toString("base64");
    const data = {
      "ca.crt": encoded(this.#authority.certificate),
      "tls.crt": encoded(leaf.certificate),
      "tls.key": encoded(leaf.key),
    };
    const secrets = this.#client.kind(Secret);
    const type = "kubernetes.io/tls";
    if ((await secrets.find(this.#secret))?.type !== type) {
      await secrets.delete(this.#secret);
      await secrets.create({ metadata: { ...this.#secret }, type, data });
      return;
    }
    await secrets.patch(this.#secret, { type: "merge", body: { data } });
  }

  /** Annotates what leads to the webhooks, as its manifests would be, and does what the injector does then. */
  async inject(): Promise<void> {
    const { namespace, name } = this.#secret;
    const metadata = { annotations: { [injectFrom]: `${namespace}/${name}` } };
    const caBundle = Buffer.from(this.#authority.certificate).toString("base64");
    for (const kind of [ValidatingWebhookConfiguration, MutatingWebhookConfiguration]) {
      const configurations = this.#client.kind(kind as typeof ValidatingWebhookConfiguration);
      const ref = { name: this.#operator };
      const found = await configurations.find(ref);
      if (!found) throw new Error(`${kind.kind} ${ref.name} does not exist`);
      const webhooks = (found.webhooks ?? []).map((each) => ({
        ...each,
        clientConfig: { ...each.clientConfig, caBundle },
      }));
      await configurations.update({
        ...found,
        metadata: {
          ...found.metadata,
          annotations: { ...found.metadata.annotations, ...metadata.annotations },
        },
        webhooks,
      });
    }
    const crd = { name: Schedule.crd().metadata.name };
    const conversion = { webhook: { clientConfig: { caBundle } } };
    await this.#client
      .kind(CustomResourceDefinition)
      .patch(crd, { type: "merge", body: { metadata, spec: { conversion } } as never })
      .catch((error: unknown) => {
        throw isNotFound(error) ? new Error(`CustomResourceDefinition ${crd.name} does not exist`) : error;
      });
  }
}
