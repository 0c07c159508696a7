/** Random objects for the differential test: valid as a rule, and overlapping, so that managers meet. */
import type { JsonObject, JsonValue } from "../src/index.ts";
import type { OpenApiSchema } from "../src/merge/index.ts";

const item: OpenApiSchema = {
  type: "object",
  required: ["key"],
  properties: {
    key: { type: "string" },
    port: { type: "integer", default: 1 },
    value: { type: "string" },
    tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    inner: { type: "object", properties: { a: { type: "string" }, b: { type: "integer" } } },
  },
};

export const customSchema: OpenApiSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer" },
        byKey: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["key", "port"],
          items: item,
        },
        set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        numbers: { type: "array", "x-kubernetes-list-type": "set", items: { type: "integer" } },
        atomic: { type: "array", "x-kubernetes-list-type": "atomic", items: item },
        plain: { type: "array", items: { type: "string" } },
        labels: { type: "object", additionalProperties: { type: "string" } },
        solid: {
          type: "object",
          "x-kubernetes-map-type": "atomic",
          properties: { a: { type: "string" }, b: { type: "string" } },
        },
        open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        either: { "x-kubernetes-int-or-string": true },
        nested: {
          type: "object",
          additionalProperties: {
            type: "object",
            properties: { x: { type: "string" }, y: { type: "boolean" } },
          },
        },
      },
    },
    status: { type: "object", properties: { ready: { type: "integer" } } },
  },
};

export class Maker {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Mulberry32: small, fast, the same everywhere. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  int(below: number): number {
    return Math.floor(this.#next() * below);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T;
  }

  some<T>(list: readonly T[]): T[] {
    const chosen = list.filter(() => this.chance(0.5));
    return this.chance(0.3) ? chosen.reverse() : chosen;
  }

  #object(fields: Record<string, () => JsonValue>, probability = 0.5): JsonObject {
    const out: JsonObject = {};
    for (const [key, make] of Object.entries(fields)) if (this.chance(probability)) out[key] = make();
    return out;
  }

  #strings(): JsonObject {
    return Object.fromEntries(this.some(["a", "b", "c"]).map((key) => [key, this.pick(["1", "2"])]));
  }

  #metadata(): JsonObject {
    return this.#object(
      {
        labels: () => this.#strings(),
        annotations: () => this.#strings(),
        finalizers: () => this.some(["example.com/a", "example.com/b"]),
      },
      0.3,
    );
  }

  configMap(): JsonObject {
    return { metadata: this.#metadata(), ...this.#object({ data: () => this.#strings() }, 0.9) };
  }

  service(): JsonObject {
    const ports = this.some([80, 81, 82, 443]).map((port) => ({
      port,
      name: `p${port}`,
      ...this.#object({
        targetPort: () => this.pick([8080, "web"]),
        protocol: () => "TCP",
        appProtocol: () => this.pick(["http", "x"]),
      }),
    }));
    return {
      metadata: this.#metadata(),
      spec: {
        ports: ports.length > 0 ? ports : [{ port: 80, name: "p80" }],
        ...this.#object({
          selector: () => this.#strings(),
          type: () => "ClusterIP",
        }),
      },
    };
  }

  deployment(): JsonObject {
    const names = this.some(["main", "side", "proxy"]);
    const containers = (names.length > 0 ? names : ["main"]).map((name) => this.#container(name));
    return {
      metadata: this.#metadata(),
      spec: {
        selector: { matchLabels: { app: "d" } },
        ...this.#object({
          replicas: () => this.int(3),
          strategy: () =>
            this.pick<JsonObject>([
              { type: "RollingUpdate" },
              { rollingUpdate: { maxSurge: this.pick([1, "25%"]) } },
            ]),
          minReadySeconds: () => 1 + this.int(3),
        }),
        template: {
          metadata: { labels: { app: "d", ...this.#strings() } },
          spec: {
            containers,
            ...this.#object(
              {
                volumes: () =>
                  this.some(["v", "w"]).map((name) => ({
                    name,
                    emptyDir: this.pick<JsonObject>([{}, { medium: "Memory" }]),
                  })),
                nodeSelector: () => this.#strings(),
                tolerations: () => this.some(["x", "y"]).map((key) => ({ key, operator: "Exists" })),
                terminationGracePeriodSeconds: () => this.pick([10, 30]),
                securityContext: () => this.pick<JsonObject>([{}, { runAsUser: 1 }]),
              },
              0.4,
            ),
          },
        },
      },
    };
  }

  #container(name: string): JsonObject {
    return {
      name,
      image: this.pick(["example/a:1", "example/a:2"]),
      ...this.#object(
        {
          env: () => this.some(["A", "B", "C"]).map((key) => ({ name: key, value: this.pick(["1", "2"]) })),
          ports: () =>
            this.some([80, 90]).map((containerPort) => ({
              containerPort,
              ...this.#object({
                protocol: () => "TCP",
                name: () => `n${containerPort}-${name}`.slice(0, 15),
              }),
            })),
          command: () => this.some(["x", "y"]),
          resources: () =>
            this.pick<JsonObject>([
              {},
              { limits: { cpu: "1" } },
              { requests: { cpu: "100m", memory: "1Gi" } },
            ]),
          imagePullPolicy: () => "Always",
          livenessProbe: () => ({ httpGet: { path: "/", port: this.pick<JsonValue>([80, "web"]) } }),
        },
        0.4,
      ),
    };
  }

  widget(): JsonObject {
    const made = (key: string): JsonObject => ({
      key,
      ...this.#object(
        {
          port: () => this.pick([1, 2, 10]),
          value: () => this.pick(["x", "<y>"]),
          tags: () => this.some(["s", "t"]),
          inner: () => this.#object({ a: () => "1", b: () => this.int(2) }),
        },
        0.4,
      ),
    });
    return {
      metadata: this.#metadata(),
      spec: this.#object(
        {
          size: () => this.int(3),
          byKey: () => this.some(["a", "b", "c"]).map(made),
          set: () => this.some(["a", "b", "c&d"]),
          numbers: () => this.some([1, 2, 10]),
          atomic: () => this.some(["a", "b"]).map(made),
          plain: () => this.some(["a", "b"]),
          labels: () => this.#strings(),
          solid: () => this.#object({ a: () => "1", b: () => this.pick(["1", "2"]) }),
          open: () =>
            this.#object({
              a: () => this.pick<JsonValue>([1, "x", [1, 2], { b: 1 }, {}]),
              b: () => ({ c: this.int(2) }),
            }),
          either: () => this.pick<JsonValue>([1, "50%"]),
          nested: () =>
            Object.fromEntries(
              this.some(["a", "b"]).map((key) => [
                key,
                this.#object({ x: () => "1", y: () => this.chance(0.5) }),
              ]),
            ),
        },
        0.35,
      ),
    };
  }
}
