/** How a hook is called, as it stands in a definition. */
import { z } from "zod";

const secretRef = z.object({ name: z.string(), namespace: z.string() });
const keyRef = z.object({
  name: z.string(),
  namespace: z.string(),
  key: z.string().default("ca.crt").describe("The key in its data."),
});

const caBundle = z
  .object({
    inline: z.string().optional().describe("Certificates in PEM."),
    secretRef: keyRef.optional(),
    configMapRef: keyRef.optional(),
  })
  .describe("Who signs the hook's certificate: exactly one of the fields. Default: whom the system trusts.");

const connection = {
  caBundle: caBundle.optional(),
  clientTLS: z
    .object({
      secretRef,
      certKey: z.string().default("tls.crt"),
      privateKeyKey: z.string().default("tls.key"),
    })
    .optional()
    .describe("A certificate that is shown to the hook."),
  authorization: z
    .object({
      type: z.string().default("Bearer").describe("The scheme of the header; Basic has a field of its own."),
      secretRef: z.object({ name: z.string(), namespace: z.string(), key: z.string() }),
    })
    .optional()
    .describe("What the header Authorization says."),
  basicAuth: z
    .object({
      secretRef,
      usernameKey: z.string().default("username"),
      passwordKey: z.string().default("password"),
    })
    .optional()
    .describe("A user and a password. Not together with authorization."),
};

/** Settings for all hooks at one host. */
export const endpointConfigSchema = z.object({
  host: z.string().describe("A host, or host:port, as it stands in a hook's URL."),
  ...connection,
});

/** Where a hook is and how it is called. */
export const webhookSchema = z.object({
  url: z.string().optional().describe("The whole address. Takes precedence over service and path."),
  service: z
    .object({
      name: z.string(),
      namespace: z.string(),
      port: z.int().optional().describe("Default: 80."),
      protocol: z.string().optional().describe("http or https. Default: http."),
    })
    .optional(),
  path: z.string().optional().describe("The path behind the service."),
  timeout: z.string().optional().describe("How long an answer may take, such as 10s. Default: 10s."),
  etag: z
    .object({
      enabled: z.boolean().optional(),
      cacheTimeoutSeconds: z
        .int()
        .optional()
        .describe("How long an answer is remembered. Default: for ever."),
      cacheCleanupSeconds: z.int().optional(),
    })
    .optional()
    .describe("Remembers answers with an ETag, and asks with If-None-Match."),
  responseUnMarshallMode: z
    .enum(["loose", "strict"])
    .optional()
    .describe("strict refuses unknown and repeated fields. Default: loose for v1, strict for v2."),
  ...connection,
});

/** A hook. */
export const hookSchema = z.object({
  version: z
    .enum(["v1", "v2"])
    .default("v1")
    .describe("How objects are named in requests: v1 relative to the parent, v2 always namespace/name."),
  webhook: webhookSchema.optional(),
});

export type Webhook = z.output<typeof webhookSchema>;
export type Hook = z.output<typeof hookSchema>;
export type EndpointConfig = z.output<typeof endpointConfigSchema>;
