/** The webhooks that scenarios ask: each path answers in its own way. */

interface Review {
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly object?: { metadata?: { labels?: Record<string, string> } };
  };
}

export interface WebhookAnswer {
  readonly status: number;
  readonly body: string;
}

/** Undefined is no answer at all. */
export function answer(path: string, text: string): WebhookAnswer | undefined {
  const { apiVersion, request } = JSON.parse(text) as Review;
  const say = (response: object): WebhookAnswer => ({
    status: 200,
    body: JSON.stringify({ apiVersion, kind: "AdmissionReview", response }),
  });
  const allow = (more: object = {}) => say({ uid: request.uid, allowed: true, ...more });
  const patch = (operations: unknown[]) => ({
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
  });
  switch (path) {
    case "/warn":
      return allow({ warnings: ["careful", "very careful"] });
    case "/deny":
      return allow({ allowed: false });
    case "/deny-with-reason":
      return allow({
        allowed: false,
        status: {
          message: "no way",
          reason: "Conflict",
          code: 409,
          details: { causes: [{ message: "x", field: "spec" }] },
        },
      });
    case "/label": {
      const labels = request.object?.metadata?.labels ?? {};
      const value = { ...labels, [`h${Object.keys(labels).length}`]: "y" };
      return allow(patch([{ op: "add", path: "/metadata/labels", value }]));
    }
    case "/impossible-patch":
      return allow(patch([{ op: "remove", path: "/nope/nope" }]));
    case "/untyped-patch":
      return allow({ patch: "W10=" });
    case "/wrong-uid":
      return say({ uid: "x", allowed: true });
    case "/nothing":
      return { status: 200, body: JSON.stringify({ apiVersion, kind: "AdmissionReview" }) };
    case "/500":
      return { status: 500, body: "boom" };
    case "/404":
      return { status: 404, body: "404 page not found" };
    case "/silent":
      return undefined;
    default:
      return allow();
  }
}
