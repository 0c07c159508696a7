/** A bucket of an S3-compatible service as a store. */
import { BackupError } from "../../errors.ts";
import { type S3Options, S3Requests, type S3Response } from "./s3-requests.ts";
import type { PutOptions, Store, StoredObject } from "./store.ts";
import { element, elements, escapeText } from "./xml.ts";

/** A bucket, and where in it the store is. */
export interface S3StoreOptions extends S3Options {
  /** Begins every key in the bucket; a slash follows it. Default: none. */
  readonly prefix?: string;
  /** Size of one part of a large upload, which is held in memory. Default: 8 MiB. S3 demands at least 5 MiB. */
  readonly partBytes?: number;
}

/** Keeps objects in a bucket. Large ones are multipart uploads; nothing of them is visible until they are complete. */
export class S3Store implements Store {
  readonly #requests: S3Requests;
  readonly #prefix: string;
  readonly #partBytes: number;

  constructor(options: S3StoreOptions) {
    this.#requests = new S3Requests(options);
    const prefix = (options.prefix ?? "").replace(/^\/+|\/+$/g, "");
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
    this.#partBytes = options.partBytes ?? 8 * 1024 * 1024;
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<void> {
    const headers: Record<string, string> = options.ifAbsent ? { "if-none-match": "*" } : {};
    const parts = inParts(content, this.#partBytes);
    const first = await parts.next();
    const second = first.done ? first : await parts.next();
    if (second.done) {
      const body = first.done ? new Uint8Array() : first.value;
      await this.#put(key, body, headers);
      return;
    }
    const rest = chained([first.value as Buffer, second.value], parts);
    await this.#multipart(key, rest, headers);
  }

  async *get(key: string): AsyncIterable<Uint8Array> {
    let offset = 0;
    let etag: string | undefined;
    for (let breaks = 0; ; breaks++) {
      const response = await this.#read(key, offset, etag);
      etag ??= response.headers.etag;
      const total = offset + Number(response.headers["content-length"] ?? 0);
      try {
        for await (const chunk of response.body) {
          offset += (chunk as Buffer).length;
          yield chunk as Buffer;
        }
        if (offset >= total) return;
      } catch (cause) {
        if (breaks >= 5) throw unavailable(`reading ${key} broke off at byte ${offset}`, cause);
      }
      if (breaks >= 5) throw unavailable(`reading ${key} ended early at byte ${offset} of ${total}`);
    }
  }

  async head(key: string): Promise<StoredObject | undefined> {
    const response = await this.#requests.send({ method: "HEAD", key: this.#key(key), expect: [404] });
    response.body.resume();
    if (response.status === 404) return undefined;
    return { key, sizeBytes: Number(response.headers["content-length"] ?? 0) };
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    let token: string | undefined;
    do {
      const { text } = await this.#requests.text({
        method: "GET",
        query: {
          "list-type": "2",
          prefix: this.#key(prefix),
          ...(token === undefined ? {} : { "continuation-token": token }),
        },
      });
      for (const item of elements(text, "Contents")) {
        const key = element(item, "Key") ?? "";
        yield { key: key.slice(this.#prefix.length), sizeBytes: Number(element(item, "Size") ?? 0) };
      }
      token = element(text, "NextContinuationToken");
    } while (token !== undefined);
  }

  async delete(key: string): Promise<void> {
    await this.#abortUploads(key);
    const response = await this.#requests.send({ method: "DELETE", key: this.#key(key), expect: [404] });
    response.body.resume();
  }

  #key(key: string): string {
    return `${this.#prefix}${key}`;
  }

  async #put(key: string, body: Uint8Array, headers: Record<string, string>): Promise<void> {
    const response = await this.#requests.send({
      method: "PUT",
      key: this.#key(key),
      headers,
      body,
      expect: [412],
    });
    response.body.resume();
    if (response.status === 412) throw alreadyExists(key);
  }

  /** Nothing of the object is visible until the last request. */
  async #multipart(
    key: string,
    parts: AsyncIterable<Buffer>,
    headers: Record<string, string>,
  ): Promise<void> {
    await this.#abortUploads(key);
    const started = await this.#requests.text({
      method: "POST",
      key: this.#key(key),
      query: { uploads: "" },
    });
    const uploadId = element(started.text, "UploadId");
    if (uploadId === undefined)
      throw new BackupError("StoreRefused", `the store did not start an upload of ${key}`);
    try {
      const etags: string[] = [];
      let sizeBytes = 0;
      for await (const body of parts) {
        const query = { partNumber: String(etags.length + 1), uploadId };
        const response = await this.#requests.send({ method: "PUT", key: this.#key(key), query, body });
        response.body.resume();
        etags.push(response.headers.etag ?? "");
        sizeBytes += body.length;
      }
      await this.#complete(key, uploadId, etags, headers, sizeBytes);
    } catch (error) {
      // Parts of an unfinished upload are stored and paid for until it is aborted.
      await this.#abort(key, uploadId).catch(() => {});
      throw error;
    }
  }

  async #complete(
    key: string,
    uploadId: string,
    etags: readonly string[],
    headers: Record<string, string>,
    sizeBytes: number,
  ): Promise<void> {
    const parts = etags.map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeText(etag)}</ETag></Part>`,
    );
    const { status, text, repeated } = await this.#requests.text({
      method: "POST",
      key: this.#key(key),
      query: { uploadId },
      headers,
      body: Buffer.from(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`),
      expect: [404, 412],
    });
    if (status === 412) throw alreadyExists(key);
    if (status === 404) {
      // An earlier attempt completed the upload, and only its answer was lost.
      if (repeated && (await this.head(key))?.sizeBytes === sizeBytes) return;
      throw unavailable(`the upload of ${key} is gone`);
    }
    // The service answers 200 before it knows the outcome, and reports errors in the body.
    if (text.includes("<Error>")) {
      throw unavailable(
        `the store could not finish the upload of ${key}: ${element(text, "Message") ?? text}`,
      );
    }
  }

  async #abortUploads(key: string): Promise<void> {
    const { text } = await this.#requests.text({
      method: "GET",
      query: { uploads: "", prefix: this.#key(key) },
      // Some services do not list uploads, and clean up by themselves.
      expect: [400, 403, 404, 405, 501],
    });
    for (const upload of elements(text, "Upload")) {
      const uploadId = element(upload, "UploadId");
      if (element(upload, "Key") === this.#key(key) && uploadId) await this.#abort(key, uploadId);
    }
  }

  async #abort(key: string, uploadId: string): Promise<void> {
    const response = await this.#requests.send({
      method: "DELETE",
      key: this.#key(key),
      query: { uploadId },
      expect: [404],
    });
    response.body.resume();
  }

  async #read(key: string, offset: number, etag: string | undefined): Promise<S3Response> {
    const response = await this.#requests.send({
      method: "GET",
      key: this.#key(key),
      headers: offset === 0 ? {} : { range: `bytes=${offset}-`, ...(etag ? { "if-match": etag } : {}) },
      expect: [404, 412],
    });
    if (response.status < 300) return response;
    response.body.resume();
    if (response.status === 404) throw new BackupError("NotFound", `the store has no ${key}`);
    throw new BackupError("StoredDamaged", `${key} changed while it was read`);
  }
}

/** The same bytes in buffers of one size; only the last may be smaller. */
async function* inParts(content: AsyncIterable<Uint8Array>, partBytes: number): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    let left = chunk;
    while (bytes + left.length >= partBytes) {
      waiting.push(left.subarray(0, partBytes - bytes));
      left = left.subarray(partBytes - bytes);
      yield Buffer.concat(waiting);
      waiting = [];
      bytes = 0;
    }
    waiting.push(left);
    bytes += left.length;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function* chained(first: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield* first;
  yield* rest;
}

function alreadyExists(key: string): BackupError {
  return new BackupError("NotOurs", `${key} exists already`);
}

function unavailable(message: string, cause?: unknown): BackupError {
  return new BackupError("StoreUnavailable", message, { cause });
}
