/** The documents of OCI images and of docker's, as far as we read them. */
import { arch } from "node:os";
import { parseJson } from "@keelson/core";
import { ImageError } from "./errors.ts";
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
  readonly RepoTags: readonly string[];
  readonly Layers: readonly string[];
}

export const mediaType = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
  dockerList: "application/vnd.docker.distribution.manifest.list.v2+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;

/** `sha256:…`, the one kind of digest that we know. */
export const digestPattern = /^sha256:[0-9a-f]{64}$/;

/** What a document that an image hangs on says, when it says it as it should; throws `BadArchive` otherwise. */
export function readManifest(text: string, what: string): ImageIndex | ImageManifest {
  const document = object(text, what);
  if (document.manifests !== undefined)
    return { manifests: list(document.manifests, what).map(descriptor(what)) };
  return {
    config: descriptor(what)(document.config),
    layers: list(document.layers, what).map(descriptor(what)),
  };
}

export function isIndex(document: ImageIndex | ImageManifest): document is ImageIndex {
  return "manifests" in document;
}

/** `manifest.json` of `docker save`. */
export function readDockerArchive(text: string): DockerArchiveEntry[] {
  const what = "manifest.json";
  return list(parsed(text, what), what).map((entry) => {
    const { Config, RepoTags, Layers } = asObject(entry, what);
    return {
      Config: asText(Config, what),
      RepoTags: texts(RepoTags ?? [], what),
      Layers: texts(Layers, what),
    };
  });
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

export interface ImageConfigFile {
  readonly config: ImageConfig;
  /** Digests of the layers, unpacked, from the bottom. */
  readonly diffIds: readonly string[];
}

export function readConfig(text: string, what: string): ImageConfigFile {
  const document = object(text, what);
  const config = asObject(document.config ?? {}, what);
  const names = (value: unknown) => Object.keys(asObject(value ?? {}, what));
  const words = (value: unknown) => texts(value ?? [], what);
  const word = (value: unknown) => asText(value ?? "", what);
  const rootfs = asObject(document.rootfs ?? {}, what);
  return {
    config: {
      entrypoint: words(config.Entrypoint),
      cmd: words(config.Cmd),
      env: config.Env === undefined || config.Env === null ? emptyConfig.env : words(config.Env),
      workingDir: word(config.WorkingDir) || "/",
      user: word(config.User),
      exposedPorts: names(config.ExposedPorts),
      volumes: names(config.Volumes),
      stopSignal: word(config.StopSignal),
      labels: Object.fromEntries(
        Object.entries(asObject(config.Labels ?? {}, what)).map(([name, value]) => [
          name,
          asText(value, what),
        ]),
      ),
    },
    diffIds: texts(rootfs.diff_ids ?? [], what),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function descriptor(what: string): (value: unknown) => Descriptor {
  return (value) => {
    const { mediaType, digest, size, annotations, platform } = asObject(value, what);
    if (typeof digest !== "string" || !digestPattern.test(digest)) {
      throw malformed(what, `${JSON.stringify(digest)} is no digest that we know`);
    }
    if (size !== undefined && !(Number.isSafeInteger(size) && Number(size) >= 0)) {
      throw malformed(what, `${digest} has an invalid size`);
    }
    const named = Object.entries(asObject(annotations ?? {}, what));
    const { os, architecture, variant } = asObject(platform ?? {}, what);
    const optional = (text: unknown) => (text === undefined ? undefined : asText(text, what));
    return {
      digest,
      ...(mediaType === undefined ? {} : { mediaType: asText(mediaType, what) }),
      ...(size === undefined ? {} : { size: Number(size) }),
      ...(annotations === undefined
        ? {}
        : { annotations: Object.fromEntries(named.map(([key, text]) => [key, asText(text, what)])) }),
      ...(platform === undefined
        ? {}
        : {
            platform: { os: optional(os), architecture: optional(architecture), variant: optional(variant) },
          }),
    };
  };
}

function parsed(text: string, what: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw malformed(what, error instanceof Error ? error.message : String(error));
  }
}

function object(text: string, what: string): Fields {
  return asObject(parsed(text, what), what);
}

function asObject(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw malformed(what, "something is not an object that should be");
}

function list(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw malformed(what, "something is not a list that should be");
}

function texts(value: unknown, what: string): string[] {
  return list(value, what).map((each) => asText(each, what));
}

function asText(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw malformed(what, "something is not a text that should be");
}

function malformed(what: string, reason: string): ImageError {
  return new ImageError("BadArchive", `${what} is malformed: ${reason}`);
}
