/** Provokes every error of @keelson/pki. */
import { createAuthority, createLeaf, type PkiErrorCode, readCertificateRequest } from "@keelson/pki";
import type { Provocations } from "../provoked.ts";

/** A request of openssl for CN=a, signed with its own key. */
const request = `-----BEGIN CERTIFICATE REQUEST-----
MIHHMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BIV2Cu7XA2J/FZrPhWKR+bStwqG9Qd+Wo0gvPPOv54oFVSUHPZph5cjRrxUDTpfB
1xoW5ihAVzFNw3i9v4g3H1qgADAKBggqhkjOPQQDAgNJADBGAiEAxrfPi4yw2K+C
sMlLpSsZ6uY5H//OJI2oI8zrhIuQh84CIQD5i7q3j6xVkWMYLQ1FzMxh+l4wmO4c
2ZhDPladG127Jw==
-----END CERTIFICATE REQUEST-----
`;

export const pki: Provocations<PkiErrorCode> = {
  BadEncoding: () =>
    createLeaf({ certificate: pem("CERTIFICATE", Buffer.of(0x30, 9)), key: authority().key }, leaf),
  BadRequest: () => readCertificateRequest(authority().certificate),
  BadSignature: () => {
    const bytes = Buffer.from(request.replaceAll(/-----.*-----|\n/g, ""), "base64");
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
    return readCertificateRequest(pem("CERTIFICATE REQUEST", bytes));
  },
};

const [notBeforeMs, notAfterMs] = [Date.UTC(2026, 0), Date.UTC(2027, 0)];
const leaf = { subject: { commonName: "a" }, usages: ["client"], notBeforeMs, notAfterMs } as const;
const authority = () => createAuthority("ca", notBeforeMs, notAfterMs);

function pem(type: string, bytes: Uint8Array): string {
  return `-----BEGIN ${type}-----\n${Buffer.from(bytes).toString("base64")}\n-----END ${type}-----\n`;
}
