/** The signatures that the S3 documentation prints for its example requests. */
import { describe, expect, it } from "vitest";
import { emptyHash, encodePath, encodeQuery, sha256, signed } from "./signature.ts";

const scope = {
  region: "us-east-1",
  credentials: {
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  },
  nowMs: Date.UTC(2013, 4, 24),
};
const host = "examplebucket.s3.amazonaws.com";
const signatureOf = (headers: Record<string, string>) => headers["authorization"]?.split("Signature=")[1];

describe("the signature of a request", () => {
  it("is the documented one for reading a range of an object", () => {
    const headers = signed(
      {
        method: "GET",
        host,
        path: "/test.txt",
        query: {},
        headers: { Range: "bytes=0-9" },
        bodyHash: emptyHash,
      },
      scope,
    );
    expect(headers["authorization"]).toBe(
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request," +
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date," +
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
  });

  it("is the documented one for writing an object whose key needs encoding", () => {
    const headers = signed(
      {
        method: "PUT",
        host,
        path: encodePath("/test$file.text"),
        query: {},
        headers: { Date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
        bodyHash: sha256("Welcome to Amazon S3."),
      },
      scope,
    );
    expect(signatureOf(headers)).toBe("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  });

  it("is the documented one for a query without a value and for one with several", () => {
    const get = (query: Record<string, string>) =>
      signatureOf(signed({ method: "GET", host, path: "/", query, headers: {}, bodyHash: emptyHash }, scope));
    expect(get({ lifecycle: "" })).toBe("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    expect(get({ "max-keys": "2", prefix: "J" })).toBe(
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });

  it("covers the token of temporary credentials", () => {
    const headers = signed(
      { method: "GET", host, path: "/", query: {}, headers: {}, bodyHash: emptyHash },
      { ...scope, credentials: { ...scope.credentials, sessionToken: "token" } },
    );
    expect(headers["x-amz-security-token"]).toBe("token");
    expect(headers["authorization"]).toContain("x-amz-security-token,");
  });

  it("encodes what encodeURIComponent leaves alone, and keeps slashes of a path", () => {
    expect(encodePath("/a b/c(1)*'!.db")).toBe("/a%20b/c%281%29%2A%27%21.db");
    expect(encodeQuery({ b: "x/y", a: "1" })).toBe("a=1&b=x%2Fy");
  });
});
