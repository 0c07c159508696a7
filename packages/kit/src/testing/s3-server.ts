/** A small S3 server for tests: objects, listing, multipart uploads. It checks signatures and injects faults. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { signed } from "../backup/store/signature.ts";

/** A running server with one bucket. */
export interface S3Server extends AsyncDisposable {
  readonly endpoint: string;
  readonly bucket: "backups";
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Objects in the bucket, by key. */
  readonly objects: Map<string, Buffer>;
  /** Uploads that were started and neither completed nor aborted. */
  readonly uploads: Map<string, { readonly key: string; readonly parts: Map<number, Buffer> }>;
  /** Every request so far, as method, path and query. */
  readonly requests: string[];
  /** Connections that were made so far. */
  readonly connections: number;
  /**
   * The fault of each request: `refuse` answers 503, `cut` closes the connection before doing anything, `lose` does the
   * request and closes the connection, `truncate` closes it in the middle of the body, `stall` never answers, `full` has
   * no space left. Default: no faults.
   */
  fault: (request: string) => "refuse" | "cut" | "lose" | "truncate" | "stall" | "full" | undefined;
}

const credentials = { accessKeyId: "test-key", secretAccessKey: "test-secret" };
const bucket = "backups";

/** Starts a server. Default: on loopback, on a free port, with three objects on a page of a listing. */
export async function s3Server(
  at: { host?: string; port?: number; pageSize?: number } = {},
): Promise<S3Server> {
  const { pageSize = 3 } = at;
  const objects = new Map<string, Buffer>();
  const uploads: S3Server["uploads"] = new Map();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: Error) =>
      respond(response, 500, xmlError("InternalError", error.message)),
    );
  });

  let connections = 0;
  server.on("connection", () => connections++);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await Array.fromAsync(request));
    const url = new URL(request.url ?? "/", `http://${request.headers.host}`);
    const query = Object.fromEntries(url.searchParams);
    const said = `${request.method} ${decodeURIComponent(url.pathname)}${url.search}`;
    requests.push(said);
    const fault = self.fault(said);
    if (fault === "refuse") return respond(response, 503, xmlError("SlowDown", "reduce your request rate"));
    if (fault === "cut") return void request.socket.destroy();
    if (fault === "stall") return;
    if (fault === "full") return respond(response, 507, xmlError("QuotaExceeded", "the bucket is full"));
    const problem = signatureProblem(request, url, query, body);
    if (problem !== undefined) return respond(response, 403, xmlError("SignatureDoesNotMatch", problem));
    const key = decodeURIComponent(url.pathname).slice(`/${bucket}/`.length);
    const result = act(request, key, query, body);
    if (fault === "lose") return void request.socket.destroy();
    if (fault === "truncate") {
      response.writeHead(result.status, { ...result.headers, "content-length": result.body.length });
      response.write(result.body.subarray(0, result.body.length / 2), () => request.socket.destroy());
      return;
    }
    response.writeHead(result.status, { ...result.headers, "content-length": result.body.length });
    response.end(request.method === "HEAD" ? undefined : result.body);
  }

  function act(request: IncomingMessage, key: string, query: Record<string, string>, body: Buffer): Result {
    const taken = request.headers["if-none-match"] === "*" && objects.has(key);
    switch (request.method) {
      case "PUT": {
        const upload = uploads.get(query["uploadId"] ?? "");
        if (query["uploadId"] !== undefined) {
          if (!upload) return failure(404, "NoSuchUpload");
          upload.parts.set(Number(query["partNumber"]), body);
          return { status: 200, headers: { etag: etag(body) }, body: empty };
        }
        if (taken) return failure(412, "PreconditionFailed");
        objects.set(key, body);
        return { status: 200, headers: { etag: etag(body) }, body: empty };
      }
      case "POST": {
        if (query["uploads"] !== undefined) {
          const id = `upload-${requests.length}`;
          uploads.set(id, { key, parts: new Map() });
          return xml(
            `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
          );
        }
        const upload = uploads.get(query["uploadId"] ?? "");
        if (!upload) return failure(404, "NoSuchUpload");
        if (taken) return failure(412, "PreconditionFailed");
        const named = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&#34;(\w+)&#34;</g)];
        const parts = named.map(([, number, tag]) => {
          const part = upload.parts.get(Number(number));
          return part && etag(part) === `"${tag}"` ? part : undefined;
        });
        if (parts.length === 0 || parts.includes(undefined)) return failure(400, "InvalidPart");
        objects.set(key, Buffer.concat(parts as Buffer[]));
        uploads.delete(query["uploadId"] ?? "");
        return xml("<CompleteMultipartUploadResult></CompleteMultipartUploadResult>");
      }
      case "DELETE":
        if (query["uploadId"] !== undefined)
          return { ...nothing, status: uploads.delete(query["uploadId"]) ? 204 : 404 };
        objects.delete(key);
        return { ...nothing, status: 204 };
      case "HEAD":
      case "GET":
        return query["uploads"] !== undefined
          ? uploadList(query)
          : query["list-type"]
            ? list(query)
            : read(request, key);
      default:
        return failure(405, "MethodNotAllowed");
    }
  }

  function read(request: IncomingMessage, key: string): Result {
    const object = objects.get(key);
    if (!object) return failure(404, "NoSuchKey");
    if (request.headers["if-match"] && request.headers["if-match"] !== etag(object)) {
      return failure(412, "PreconditionFailed");
    }
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    return { status: from > 0 ? 206 : 200, headers: { etag: etag(object) }, body: object.subarray(from) };
  }

  function list(query: Record<string, string>): Result {
    const keys = [...objects.keys()].filter((key) => key.startsWith(query["prefix"] ?? "")).sort();
    const rest = keys.filter((key) => key > (query["continuation-token"] ?? ""));
    const page = rest.slice(0, pageSize);
    const contents = page.map(
      (key) =>
        `<Contents><Key>${key.replaceAll("&", "&amp;")}</Key><Size>${objects.get(key)?.length}</Size></Contents>`,
    );
    const next =
      rest.length > pageSize ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
    return xml(`<ListBucketResult>${contents.join("")}${next}</ListBucketResult>`);
  }

  function uploadList(query: Record<string, string>): Result {
    const found = [...uploads].filter(([, { key }]) => key.startsWith(query["prefix"] ?? ""));
    const items = found.map(
      ([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`,
    );
    return xml(`<ListMultipartUploadsResult>${items.join("")}</ListMultipartUploadsResult>`);
  }

  await new Promise<void>((resolve) => server.listen(at.port ?? 0, at.host ?? "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const self: S3Server = {
    endpoint,
    bucket,
    credentials,
    objects,
    uploads,
    requests,
    get connections() {
      return connections;
    },
    fault: () => undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return self;
}

interface Result {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

const empty = Buffer.alloc(0);
const nothing: Result = { status: 200, headers: {}, body: empty };

function xml(text: string): Result {
  return { status: 200, headers: { "content-type": "application/xml" }, body: Buffer.from(text) };
}

function failure(status: number, code: string): Result {
  return { ...xml(xmlError(code, "refused")), status };
}

function xmlError(code: string, message: string): string {
  return `<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
}

function respond(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "application/xml" }).end(text);
}

function etag(body: Buffer): string {
  return `"${createHash("md5").update(body).digest("hex")}"`;
}

function signatureProblem(
  request: IncomingMessage,
  url: URL,
  query: Record<string, string>,
  body: Buffer,
): string | undefined {
  const said = request.headers.authorization ?? "";
  const bodyHash = createHash("sha256").update(body).digest("hex");
  if (request.headers["x-amz-content-sha256"] !== bodyHash) return "the body does not match its signature";
  const names = /SignedHeaders=([^,]*),/.exec(said)?.[1]?.split(";") ?? [];
  const date = String(request.headers["x-amz-date"]);
  const nowMs = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  const headers = Object.fromEntries(
    names
      .filter((name) => !/^(host|x-amz-content-sha256|x-amz-date)$/.test(name))
      .map((name) => [name, String(request.headers[name])]),
  );
  const expected = signed(
    { method: request.method ?? "", host: url.host, path: url.pathname, query, headers, bodyHash },
    { region: "us-east-1", credentials, nowMs },
  );
  return expected["authorization"] === said ? undefined : "the signature does not match";
}
