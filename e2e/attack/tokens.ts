/** Tokens that nobody should believe. */
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import type { ApiTarget } from "./api-target.ts";
import type { Attack } from "./attack.ts";

const core = "/api/v1/namespaces/default";
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

interface Genuine {
  readonly token: string;
  readonly header: { alg: string; kid?: string };
  readonly claims: Record<string, unknown>;
}

async function genuine(target: ApiTarget, spec: object = {}): Promise<Genuine> {
  await target.mustCreate(`${core}/serviceaccounts`, { metadata: { name: "victim" } });
  const { status, body, text } = await target.ask(`${core}/serviceaccounts/victim/token`, {
    method: "POST",
    body: { spec },
  });
  if (status !== 201) throw new Error(`no token: ${text}`);
  const token: string = body.status.token;
  const part = (index: number) =>
    JSON.parse(Buffer.from(token.split(".")[index] ?? "", "base64url").toString());
  return { token, header: part(0), claims: part(1) };
}

/** Who the server takes the bearer for, if for anybody. */
async function bearer(target: ApiTarget, token: string): Promise<string | undefined> {
  const { status, body } = await target.ask("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    method: "POST",
    token,
    body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
  });
  return status === 201 ? `believed to be ${body.status.userInfo.username}` : undefined;
}

const forged = (id: string, tries: string, make: (genuine: Genuine) => string): Attack<ApiTarget> => ({
  id,
  tries,
  run: async (target) => bearer(target, make(await genuine(target))),
});

const withSignature = (header: object, claims: object, signature: (text: string) => string): string => {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${signature(text)}`;
};

export const tokenAttacks: readonly Attack<ApiTarget>[] = [
  forged("alg none", "sends a token without a signature", ({ claims }) =>
    withSignature({ alg: "none" }, claims, () => ""),
  ),
  forged("alg none, signature kept", "says that the signature counts for nothing", ({ token, claims }) =>
    withSignature({ alg: "None" }, claims, () => token.split(".")[2] ?? ""),
  ),
  forged("HS256", "signs with a public name as the secret", ({ header, claims }) =>
    withSignature({ ...header, alg: "HS256" }, claims, (text) =>
      createHmac("sha256", header.kid ?? "")
        .update(text)
        .digest("base64url"),
    ),
  ),
  forged("embedded key", "signs with a key of its own and sends it along", ({ claims }) => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const header = { alg: "RS256", jwk: publicKey.export({ format: "jwk" }) };
    return withSignature(header, claims, (text) =>
      sign("sha256", Buffer.from(text), privateKey).toString("base64url"),
    );
  }),
  forged("other claims", "changes the account and keeps the signature", ({ token, header, claims }) =>
    withSignature(
      header,
      { ...claims, sub: "system:serviceaccount:kube-system:default" },
      () => token.split(".")[2] ?? "",
    ),
  ),
  forged("cut signature", "leaves half of the signature out", ({ token }) => token.slice(0, -40)),
  forged("a kid that is a path", "names a file as the key", ({ token, header, claims }) =>
    withSignature({ ...header, kid: "../../../etc/passwd" }, claims, () => token.split(".")[2] ?? ""),
  ),
  {
    id: "wrong audience",
    tries: "uses a token that is for somebody else",
    run: async (target) => bearer(target, (await genuine(target, { audiences: ["vault"] })).token),
  },
  {
    id: "deleted account",
    tries: "uses the token of an account that is gone",
    async run(target) {
      const { token } = await genuine(target);
      await target.ask(`${core}/serviceaccounts/victim`, { method: "DELETE" });
      return bearer(target, token);
    },
  },
  {
    id: "recreated account",
    tries: "uses the token of an account that was deleted and made again",
    async run(target) {
      const { token } = await genuine(target);
      await target.ask(`${core}/serviceaccounts/victim`, { method: "DELETE" });
      await genuine(target);
      return bearer(target, token);
    },
  },
  {
    id: "deleted pod",
    tries: "uses a token that was bound to a pod that is gone",
    async run(target) {
      const pod = {
        metadata: { name: "bound" },
        spec: { serviceAccountName: "victim", containers: [{ name: "c", image: "i" }] },
      };
      const { body } = await target.mustCreate(`${core}/pods`, pod);
      const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "bound", uid: body.metadata.uid };
      const { token } = await genuine(target, { boundObjectRef });
      await target.ask(`${core}/pods/bound?gracePeriodSeconds=0`, { method: "DELETE" });
      return bearer(target, token);
    },
  },
  ...[
    "",
    " ",
    "admin",
    "undefined",
    "null",
    "abcdef.0123456789abcdef",
    "a.b.c",
    "..",
    "\u00e9",
    "x".repeat(8000),
  ].map(
    (token, index): Attack<ApiTarget> => ({
      id: `garbage ${index + 1}`,
      tries: "sends a text that is no token",
      run: async (target) => (token === "" ? undefined : bearer(target, token.replace(/[^\x20-\x7e]/g, "?"))),
    }),
  ),
];
