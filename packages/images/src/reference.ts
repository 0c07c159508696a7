/** Image references: `[registry/]repository[:tag][@digest]`, as container tools read them. */
import { ImageError } from "./errors.ts";

/** The name of an image, in its parts. */
export interface ImageReference {
  /** `docker.io` when the reference names none. */
  readonly registry: string;
  /** With the implied `library/` of Docker Hub. */
  readonly repository: string;
  /** `latest` when neither tag nor digest is given; empty when only a digest is. */
  readonly tag: string;
  /** `sha256:…`, or empty. */
  readonly digest: string;
}

const repositoryPattern =
  /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;

/** Reads `registry/repository:tag@digest` with Docker’s defaults. Throws `InvalidReference`. */
export function parseImageReference(text: string): ImageReference {
  const at = text.indexOf("@");
  const digest = at < 0 ? "" : text.slice(at + 1);
  const named = at < 0 ? text : text.slice(0, at);
  const slash = named.indexOf("/");
  const first = slash < 0 ? "" : named.slice(0, slash);
  const hasRegistry = first === "localhost" || /[.:]/.test(first);
  const rest = hasRegistry ? named.slice(slash + 1) : named;
  const colon = rest.lastIndexOf(":");
  const path = colon < 0 ? rest : rest.slice(0, colon);
  const tag = colon < 0 ? (digest ? "" : "latest") : rest.slice(colon + 1);
  const registry = !hasRegistry || first === "index.docker.io" ? "docker.io" : first;
  const repository = registry === "docker.io" && !path.includes("/") ? `library/${path}` : path;
  const valid =
    repositoryPattern.test(path) &&
    (tag === "" ? digest !== "" : tagPattern.test(tag)) &&
    (at < 0 || digestPattern.test(digest));
  if (!valid) {
    throw new ImageError(
      "InvalidReference",
      `couldn't parse image name ${JSON.stringify(text)}: invalid reference format; write registry/repository:tag`,
    );
  }
  return { registry, repository, tag, digest };
}

/** The full form: `docker.io/library/redis:7`. */
export function formatImageReference(reference: ImageReference): string {
  const tag = reference.tag ? `:${reference.tag}` : "";
  const digest = reference.digest ? `@${reference.digest}` : "";
  return `${repositoryName(reference)}${tag}${digest}`;
}

/** Registry and repository without tag and digest. */
export function repositoryName(reference: ImageReference): string {
  return `${reference.registry}/${reference.repository}`;
}
