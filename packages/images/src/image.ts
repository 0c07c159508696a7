/** What an image is once it is on this machine: a root file system and how to start it. */

/** The run-time part of an image's configuration. */
export interface ImageConfig {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
  readonly workingDir: string;
  /** `uid`, `uid:gid`, `name` or `name:group`; empty means root. */
  readonly user: string;
  /** `6379/tcp`. */
  readonly exposedPorts: readonly string[];
  readonly volumes: readonly string[];
  /** As `SIGTERM`; empty means SIGTERM. */
  readonly stopSignal: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Where an image came from. */
export type ImageOrigin = "store" | "registry" | "packages" | "machine" | "reference";

/** An image that is on this machine: a root file system and how to start it. */
export interface ResolvedImage {
  /** The reference asked for, in full form. */
  readonly reference: string;
  /** `sha256:…` of the configuration, or of what the image was made from. */
  readonly id: string;
  /** `repository@sha256:…`, as the kubelet reports it in `imageID`. */
  readonly repoDigest: string;
  /** Every name the image answers to here. */
  readonly names: readonly string[];
  /** A directory that must not be written to: containers get a layer above it. */
  readonly rootfs: string;
  readonly config: ImageConfig;
  readonly origin: ImageOrigin;
  readonly sizeBytes: number;
}

export const emptyConfig: ImageConfig = {
  entrypoint: [],
  cmd: [],
  env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
  workingDir: "/",
  user: "",
  exposedPorts: [],
  volumes: [],
  stopSignal: "",
  labels: {},
};
