/** Builds an operator's image and brings it where the cluster's nodes find it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Images, loadImages, parseImageReference } from "@keelson/images";
import { buildImage } from "../build/build-image.ts";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";
import { registryCredentials } from "./credentials.ts";

export interface DeliverOptions {
  readonly image: string;
  readonly base: string;
  /** Into this machine's store for an embedded cluster, or to the registry that the image names. */
  readonly how: "load" | "push";
  readonly onProgress: (sentence: string) => void;
}

/** The digest of what was delivered. */
export async function deliverImage(project: Project, options: DeliverOptions): Promise<string> {
  const { base, how, image, onProgress } = options;
  const reference = parseImageReference(image);
  if (how === "push") checkRegistry(image);
  const { archive, digest } = await buildImage(project, { image, base, onProgress });
  const directory = await mkdtemp(join(tmpdir(), "keelson-image-"));
  try {
    const path = join(directory, "image.tar");
    await writeFile(path, archive);
    onProgress(`loading ${image}`);
    await loadImages(path, { onProgress });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  if (how === "push") {
    const { pushImage } = await import("@keelson/images");
    const { store } = new Images();
    await pushImage(reference, { store, digest, credentials: await registryCredentials(), onProgress });
  }
  return digest;
}

/** Short names belong to Docker Hub, where nobody means to push by leaving a word out. */
export function checkRegistry(image: string): void {
  const [first = "", ...rest] = image.split("/");
  if (rest.length > 0 && (/[.:]/.test(first) || first === "localhost")) return;
  throw new CliError(
    "NoRegistry",
    `the nodes of that cluster cannot get ${image} from this machine; ` +
      `name a registry with --image, as registry.example.com/${image}`,
  );
}
