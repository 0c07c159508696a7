/** Brings a container's image here, with the waiting reasons and events that people know. */
import { parseJson } from "@keelson/core";
import type { Container } from "@keelson/core/kinds";
import { ImageError, type ResolvedImage } from "@keelson/images";
import type { StoredPod } from "../api/api.ts";
import { containerBackoff, RestartBackoff } from "./restart-backoff.ts";
import type { KubeletServices, PullSecret } from "./services.ts";

export type PullResult =
  | { readonly image: ResolvedImage }
  | { readonly waiting: { readonly reason: string; readonly message: string }; readonly retryMs: number };

export interface PullEvents {
  normal(reason: string, message: string): void;
  warning(reason: string, message: string): void;
}

export class ImagePuller {
  readonly #services: KubeletServices;
  readonly #backoff: RestartBackoff;
  readonly #failures = new Map<string, { message: string; at: number }>();

  constructor(services: KubeletServices) {
    this.#services = services;
    this.#backoff = new RestartBackoff(services.clock, containerBackoff);
  }

  async pull(pod: StoredPod, container: Container, events: PullEvents): Promise<PullResult> {
    const { images, clock } = this.#services;
    const name = container.image ?? "";
    const policy = container.imagePullPolicy ?? (/(:latest|^[^:@]+)$/.test(name) ? "Always" : "IfNotPresent");
    const quoted = JSON.stringify(name);
    try {
      const present = await images.find(name);
      if (present !== undefined && (policy !== "Always" || present.origin !== "registry")) {
        events.normal("Pulled", `Container image ${quoted} already present on machine`);
        return { image: present };
      }
      if (policy === "Never") {
        const message = `Container image ${quoted} is not present with pull policy of Never`;
        events.warning("ErrImageNeverPull", message);
        return { waiting: { reason: "ErrImageNeverPull", message }, retryMs: containerBackoff.initialMs };
      }
    } catch (error) {
      if (error instanceof ImageError && error.code === "InvalidReference")
        return this.#invalid(name, error, events);
      throw error;
    }
    const failed = this.#failures.get(name);
    const remaining = failed === undefined ? 0 : this.#backoff.remainingMs(name, failed.at);
    if (failed !== undefined && remaining > 0) {
      const message = `Back-off pulling image ${quoted}: ErrImagePull: ${failed.message}`;
      events.normal("BackOff", `Back-off pulling image ${quoted}`);
      return { waiting: { reason: "ImagePullBackOff", message }, retryMs: remaining };
    }
    events.normal("Pulling", `Pulling image ${quoted}`);
    const begun = clock.monotonic();
    try {
      const image = await images.pull(name, await this.#secrets(pod));
      const seconds = `${((clock.monotonic() - begun) / 1000).toFixed(3)}s`;
      events.normal(
        "Pulled",
        `Successfully pulled image ${quoted} in ${seconds} (${seconds} including waiting). Image size: ${image.sizeBytes} bytes.`,
      );
      this.#failures.delete(name);
      this.#backoff.forget(name);
      return { image };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#backoff.advance(name, failed?.at ?? clock.now());
      this.#failures.set(name, { message, at: clock.now() });
      events.warning("Failed", `Failed to pull image ${quoted}: ${message}`);
      events.warning("Failed", "Error: ErrImagePull");
      // The next look comes soon and finds the back-off.
      return { waiting: { reason: "ErrImagePull", message }, retryMs: 2_000 };
    }
  }

  #invalid(name: string, error: ImageError, events: PullEvents): PullResult {
    const message = `Failed to apply default image tag ${JSON.stringify(name)}: ${error.message}`;
    events.warning("InspectFailed", message);
    return { waiting: { reason: "InvalidImageName", message }, retryMs: containerBackoff.maxMs };
  }

  /** From the pod's `imagePullSecrets`, in the format that `docker login` writes. */
  async #secrets(pod: StoredPod): Promise<PullSecret[]> {
    const references = this.#services.references.for(pod.metadata.uid);
    const found: PullSecret[] = [];
    for (const { name } of pod.spec.imagePullSecrets ?? []) {
      const secret = name ? await references.secret(pod.metadata.namespace ?? "", name) : undefined;
      const encoded = secret?.data?.[".dockerconfigjson"];
      if (encoded === undefined) continue;
      found.push(...parseDockerConfig(Buffer.from(encoded, "base64").toString("utf8")));
    }
    return found;
  }
}

function parseDockerConfig(text: string): PullSecret[] {
  try {
    const { auths = {} } = parseJson(text) as {
      auths?: Record<string, { auth?: string; username?: string; password?: string }>;
    };
    return Object.entries(auths).map(([registry, { auth, username = "", password = "" }]) => {
      const [user = "", ...rest] = auth
        ? Buffer.from(auth, "base64").toString("utf8").split(":")
        : [username];
      return { registry, username: user, password: auth ? rest.join(":") : password };
    });
  } catch {
    // A malformed secret is as good as none; the registry will say that it wants one.
    return [];
  }
}
