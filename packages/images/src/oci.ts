/** The documents of OCI images and of docker's, as far as we read them. */
import { arch } from "node:os";
import { parseJson } from "@keelson/core";
import { emptyConfig, type ImageConfig } from "./image.ts";

export interface Descriptor {
  readonly mediaType?: string;
  readonly digest: string;
  readonly size?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: { readonly os?: string; readonly architecture?: string; readonly variant?: string };
}

export interface ImageIndex {
  readonly manifests: readonly Descriptor[];
}

export interface ImageManifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** `manifest.json` of `docker save`. */
export interface DockerArchiveEntry {
  readonly Config: string;
  readonly RepoTags?: readonly string[] | null;
  readonly Layers: readonly string[];
}

interface ConfigDocument {
  readonly architecture?: string;
  readonly config?: {
    readonly Entrypoint?: readonly string[] | null;
    readonly Cmd?: readonly string[] | null;
    readonly Env?: readonly string[] | null;
    readonly WorkingDir?: string;
    readonly User?: string;
    readonly ExposedPorts?: Readonly<Record<string, unknown>> | null;
    readonly Volumes?: Readonly<Record<string, unknown>> | null;
    readonly StopSignal?: string;
    readonly Labels?: Readonly<Record<string, string>> | null;
  };
}

export const mediaType = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
  dockerList: "application/vnd.docker.distribution.manifest.list.v2+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;

export function isIndex(document: Partial<ImageIndex> & Partial<ImageManifest>): document is ImageIndex {
  return document.manifests !== undefined;
}

/** The manifest for this machine; one without a platform fits all. */
export function choosePlatform(index: ImageIndex): Descriptor | undefined {
  const names: Record<string, string> = { x64: "amd64", ia32: "386" };
  const own = names[arch()] ?? arch();
  // Attestations stand in the same list, with a platform that nobody has.
  const images = index.manifests.filter(({ platform }) => platform?.os !== "unknown");
  return (
    images.find(({ platform }) => platform?.architecture === own && (platform.os ?? "linux") === "linux") ??
    images.find(({ platform }) => platform === undefined)
  );
}

export function parseConfig(text: string): ImageConfig {
  const { config = {} } = parseJson(text) as ConfigDocument;
  return {
    entrypoint: config.Entrypoint ?? [],
    cmd: config.Cmd ?? [],
    env: config.Env ?? emptyConfig.env,
    workingDir: config.WorkingDir || "/",
    user: config.User ?? "",
    exposedPorts: Object.keys(config.ExposedPorts ?? {}),
    volumes: Object.keys(config.Volumes ?? {}),
    stopSignal: config.StopSignal ?? "",
    labels: config.Labels ?? {},
  };
}
