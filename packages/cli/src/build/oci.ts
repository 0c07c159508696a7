/** An OCI image layout in one tar file, which every container tool reads. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { type TarFile, writeTar } from "@keelson/images/internal";

export interface ImageSpec {
  readonly name: string;
  /** Uncompressed layers, or layers that were packed before, from the bottom. */
  readonly layers: readonly (Buffer | PackedLayer)[];
  readonly architecture: string;
  readonly config: {
    readonly Entrypoint: readonly string[];
    readonly Cmd?: readonly string[];
    readonly Env: readonly string[];
    readonly WorkingDir: string;
    readonly User: string;
    readonly Labels?: Readonly<Record<string, string>>;
  };
}

/** A layer as it lies in an image, and the digest of what is in it. */
export interface PackedLayer {
  readonly diffId: string;
  readonly gzip: Buffer;
}

/** Half faster than the default level, for a layer one thirtieth larger: this is most of a build's time. */
const LEVEL = 4;

export function packLayer(layer: Buffer, level = LEVEL): PackedLayer {
  return { diffId: sha256(layer), gzip: gzipSync(layer, { level }) };
}

interface Blob {
  readonly digest: string;
  readonly size: number;
  readonly bytes: Buffer;
}

/** Equal inputs give equal bytes: no times, no host names. */
export function ociArchive(image: ImageSpec): { readonly archive: Buffer; readonly digest: string } {
  const layers = image.layers.map((layer) => {
    const { diffId, gzip } = "diffId" in layer ? layer : packLayer(layer);
    return { diffId, blob: blobOf(gzip) };
  });
  const config = blobOf(
    json({
      architecture: image.architecture,
      os: "linux",
      config: image.config,
      rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    }),
  );
  const manifest = blobOf(
    json({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: descriptor("application/vnd.oci.image.config.v1+json", config),
      layers: layers.map(({ blob }) => descriptor("application/vnd.oci.image.layer.v1.tar+gzip", blob)),
    }),
  );
  const index = json({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      {
        ...descriptor("application/vnd.oci.image.manifest.v1+json", manifest),
        annotations: {
          "io.containerd.image.name": image.name,
          "org.opencontainers.image.ref.name": image.name,
        },
      },
    ],
  });
  const blobs = [...layers.map(({ blob }) => blob), config, manifest];
  const entries: TarFile[] = [
    file("oci-layout", json({ imageLayoutVersion: "1.0.0" })),
    file("index.json", index),
    { path: "blobs", type: "directory", mode: 0o755 },
    { path: "blobs/sha256", type: "directory", mode: 0o755 },
    ...blobs.map((blob) => file(`blobs/sha256/${blob.digest.slice("sha256:".length)}`, blob.bytes)),
  ];
  return { archive: writeTar(entries), digest: manifest.digest };
}

function file(path: string, content: Buffer): TarFile {
  return { path, type: "file", mode: 0o644, content };
}

function blobOf(bytes: Buffer): Blob {
  return { bytes, size: bytes.length, digest: sha256(bytes) };
}

function descriptor(mediaType: string, { digest, size }: Blob) {
  return { mediaType, digest, size };
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
