import { execFile, spawn } from "node:child_process";
import {
  accessSync,
  constants,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { locateKubernetes } from "@keelson/reference/locate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningApiServer, startApiServer } from "../src/index.ts";

interface Kubectl {
  /** Minor version. */
  readonly version: number;
  readonly path: string;
}

/** Every kubectl beside the one on the path, oldest first: `kubectl.1.27` … `kubectl.1.33`. */
function findKubectls(): Kubectl[] {
  const onPath = (process.env.PATH ?? "").split(delimiter).map((part) => join(part, "kubectl"));
  const found = onPath.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (!found) return [];
  const directory = dirname(realpathSync(found));
  return readdirSync(directory)
    .map((name) => ({ version: Number(/^kubectl\.1\.(\d+)$/.exec(name)?.[1]), path: join(directory, name) }))
    .filter(({ version }) => version > 0)
    .sort((a, b) => a.version - b.version);
}

const all = findKubectls();
const reference = locateKubernetes();
const built =
  "missing" in reference
    ? []
    : [{ version: Number(reference.version.split(".")[1]), path: reference.kubectl }];
/** The oldest and the newest of the machine, and the one of the real control plane where that is built. */
const chosen = [...(all.length > 1 ? [all[0] as Kubectl, all.at(-1) as Kubectl] : all), ...built];

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const deployment = (replicas: number) => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "example/web:1"}]}
`;

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, minimum: 1, description: How many.}}}
          status: {type: object, properties: {size: {type: integer}}}
`;

/** A request for CN=bob, O=dev, signed with a key that is gone. */
const certificateRequest =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWE1INENBUUF3SERFTU1Bb0dBMVVFQ2d3RFpHVjJNUXd3Q2dZRFZRUUREQU5pYjJJd1dUQVRCZ2NxaGtqTwpQUUlCQmdncWhrak9QUU1CQndOQ0FBUlRVY0x1MzkweUo4ZE5jNWVyY2FzR21oT0VIbks1b1dveU1xWHg1cmhZClFJeEEwbTNuS3Z1ck11SVBRSlpMNXJXbGVhSHZXcW1oVm90NmtjYit4YzR3b0FBd0NnWUlLb1pJemowRUF3SUQKU1FBd1JnSWhBTGM4ZjZiMmx4dzF3RU14MWVlU2Y1c1ZEV1dMZkxURE5uajhUTUVCKzlFSUFpRUEraG5NaDJFSApaR25GSFFjYlVPSi8vQUk0bFFEU2xkQVQ4dG5objJKWk10QT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

describe.skipIf(chosen.length === 0).each(chosen)("kubectl 1.$version", ({ version, path }) => {
  let server: RunningApiServer;
  let directory: string;
  beforeAll(async () => {
    server = await startApiServer({ port: 0, token: "admin-token" });
    directory = mkdtempSync(join(tmpdir(), "kubectl-"));
    await ok("create", "namespace", "work");
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  function run(args: readonly string[], input?: string, env: Record<string, string> = {}): Promise<Run> {
    return new Promise((resolve) => {
      const child = execFile(
        path,
        [`--kubeconfig=${server.kubeconfig}`, `--cache-dir=${directory}/cache`, ...args],
        { timeout: 30_000, env: { ...process.env, ...env } },
        (error, out, err) => resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
      );
      child.stdin?.end(input ?? "");
    });
  }

  async function ok(...args: string[]): Promise<string> {
    const { code, out, err } = await run(args);
    expect(code, `${args.join(" ")}: ${err}`).toBe(0);
    return out;
  }

  async function pipe(input: string, ...args: string[]): Promise<string> {
    const { code, out, err } = await run(args, input);
    expect(code, `${args.join(" ")}: ${err}`).toBe(0);
    return out;
  }

  it("creates by flags and from files", async () => {
    expect(await ok("-n", "work", "create", "configmap", "typed", "--from-literal=a=1")).toBe(
      "configmap/typed created\n",
    );
    expect(await ok("-n", "work", "create", "secret", "generic", "s", "--from-literal=p=q")).toBe(
      "secret/s created\n",
    );
    expect(await ok("-n", "work", "create", "serviceaccount", "robot")).toBe(
      "serviceaccount/robot created\n",
    );
    const file = join(directory, "d.yaml");
    writeFileSync(file, deployment(1));
    expect(await ok("-n", "work", "create", "-f", file)).toBe("deployment.apps/web created\n");
    const again = await run(["-n", "work", "create", "-f", file]);
    expect(again.err).toContain('deployments.apps "web" already exists');
  });

  it("applies from both sides", async () => {
    expect(await pipe(deployment(2), "-n", "work", "apply", "-f", "-")).toContain(
      "deployment.apps/web configured",
    );
    expect(await pipe(deployment(2), "-n", "work", "apply", "-f", "-")).toBe(
      "deployment.apps/web unchanged\n",
    );
    const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {x: '1'}\n";
    expect(await pipe(cm, "-n", "work", "apply", "--server-side", "-f", "-")).toBe(
      "configmap/ssa serverside-applied\n",
    );
    const other = await run(
      ["-n", "work", "apply", "--server-side", "--field-manager=other", "-f", "-"],
      cm.replace("'1'", "'2'"),
    );
    expect(other.err).toContain('conflict with "kubectl": .data.x');
    const typo = await run(["-n", "work", "apply", "-f", "-"], deployment(2).replace("replicas", "replics"));
    expect(typo.err).toContain("replics");
  });

  it("gets in every form", async () => {
    expect(await ok("-n", "work", "get", "deployments")).toMatch(
      /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0\/2/,
    );
    expect(await ok("-n", "work", "get", "deploy/web", "-o", "wide")).toContain("example/web:1");
    expect(await ok("-n", "work", "get", "deploy", "web", "-o", "yaml")).toContain("kind: Deployment");
    expect(JSON.parse(await ok("-n", "work", "get", "deploy", "web", "-o", "json")).spec.replicas).toBe(2);
    expect(await ok("-n", "work", "get", "deploy", "-o", "name")).toBe("deployment.apps/web\n");
    expect(await ok("-n", "work", "get", "deploy", "web", "-o", "jsonpath={.spec.replicas}")).toBe("2");
    expect(await ok("-n", "work", "get", "deploy", "-o", "custom-columns=N:.metadata.name")).toBe("N\nweb\n");
    expect(await ok("get", "deploy", "-A", "-l", "app=web", "--no-headers")).toMatch(/^work +web/);
    expect(await ok("-n", "work", "get", "cm", "--field-selector=metadata.name=typed", "-o", "name")).toBe(
      "configmap/typed\n",
    );
    expect(await ok("-n", "work", "get", "all")).toContain("deployment.apps/web");
  });

  it("follows changes", async () => {
    const watch = spawn(path, [
      `--kubeconfig=${server.kubeconfig}`,
      `--cache-dir=${directory}/cache`,
      "-n",
      "work",
      "get",
      "cm",
      "typed",
      "-w",
      "-o",
      "name",
    ]);
    const lines: string[] = [];
    const second = new Promise<void>((resolve) => {
      watch.stdout.on("data", (chunk: Buffer) => {
        lines.push(...chunk.toString().split("\n").filter(Boolean));
        if (lines.length === 1) void run(["-n", "work", "annotate", "cm", "typed", "x=y"]);
        if (lines.length >= 2) resolve();
      });
    });
    await second;
    watch.kill();
    expect(lines.slice(0, 2)).toEqual(["configmap/typed", "configmap/typed"]);
  });

  it("describes, labels, annotates, patches, scales and edits", async () => {
    expect(await ok("-n", "work", "describe", "deploy", "web")).toMatch(/Replicas: +2 desired/);
    expect(await ok("-n", "work", "label", "cm", "typed", "color=red")).toBe("configmap/typed labeled\n");
    expect(await ok("-n", "work", "label", "cm", "typed", "color-")).toBe("configmap/typed unlabeled\n");
    expect(await ok("-n", "work", "annotate", "cm", "typed", "note=hi")).toMatch(/annotated?\n$/);
    expect(await ok("-n", "work", "patch", "deploy", "web", "-p", '{"spec":{"minReadySeconds":3}}')).toBe(
      "deployment.apps/web patched\n",
    );
    expect(
      await ok(
        "-n",
        "work",
        "patch",
        "deploy",
        "web",
        "--type=json",
        "-p",
        '[{"op":"replace","path":"/spec/minReadySeconds","value":4}]',
      ),
    ).toBe("deployment.apps/web patched\n");
    expect(await ok("-n", "work", "scale", "deploy", "web", "--replicas=5")).toBe(
      "deployment.apps/web scaled\n",
    );
    expect(
      await ok(
        "-n",
        "work",
        "get",
        "deploy",
        "web",
        "-o",
        "jsonpath={.spec.replicas} {.spec.minReadySeconds}",
      ),
    ).toBe("5 4");
    const editor = join(directory, "editor");
    writeFileSync(editor, "#!/bin/sh\nexec sed -i 's/^  a: .*/  a: edited/' \"$1\"\n", { mode: 0o755 });
    const edited = await run(["-n", "work", "edit", "cm", "typed"], "", { KUBE_EDITOR: editor });
    expect(edited.out).toContain("configmap/typed edited");
    expect(await ok("-n", "work", "set", "image", "deploy/web", "main=example/web:2")).toContain(
      "image updated",
    );
  });

  it("explains and lists what there is", async () => {
    expect(await ok("explain", "deployment.spec.replicas")).toContain("replicas");
    expect(await ok("api-resources", "--api-group=apps", "-o", "name")).toContain("deployments.apps");
    expect(await ok("api-versions")).toContain("apps/v1\n");
    expect(await ok("version", "-o", "json")).toContain('"gitVersion": "v1.36.4"');
    expect(await ok("cluster-info")).toContain("is running at");
  });

  it("shows what would change", async () => {
    const same = await run(
      ["-n", "work", "diff", "-f", "-"],
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {x: '1'}\n",
    );
    expect(same.code).toBe(0);
    const other = await run(
      ["-n", "work", "diff", "-f", "-"],
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {x: '9'}\n",
    );
    expect(other.code).toBe(1);
    expect(other.out).toContain('+  x: "9"');
    expect(await ok("-n", "work", "create", "cm", "dry", "--dry-run=server", "-o", "name")).toBe(
      "configmap/dry\n",
    );
  });

  it("asks about permissions", async () => {
    expect(await ok("auth", "can-i", "create", "pods")).toBe("yes\n");
    const robot = await run(["auth", "can-i", "create", "pods", "--as=system:serviceaccount:work:robot"]);
    expect(robot.out).toBe("no\n");
    expect(await ok("-n", "work", "create", "role", "reader", "--verb=get", "--resource=pods")).toContain(
      "created",
    );
    expect(
      await ok("-n", "work", "create", "rolebinding", "rb", "--role=reader", "--serviceaccount=work:robot"),
    ).toContain("created");
    expect(
      await ok("-n", "work", "auth", "can-i", "get", "pods", "--as=system:serviceaccount:work:robot"),
    ).toBe("yes\n");
    expect(await ok("-n", "work", "create", "token", "robot")).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+/);
  });

  it("acts as somebody else, whose groups may have commas in their names", async () => {
    const review = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}';
    const target = ["create", "--raw", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "-f", "-"];
    const somebody = ["--as=user1", "--as-group=group2", "--as-group=group1", "--as-group=,,,chameleon"];
    const { status } = JSON.parse(await pipe(review, ...target, ...somebody));
    expect(status.userInfo.groups).toEqual(["group2", "group1", ",,,chameleon", "system:authenticated"]);
  });

  it("approves certificates", async () => {
    await pipe(
      `apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: bob}\nspec: {request: ${certificateRequest}, signerName: example.com/signer, usages: [client auth]}\n`,
      "create",
      "-f",
      "-",
    );
    expect(await ok("certificate", "approve", "bob")).toContain("approved");
    expect(await ok("get", "csr", "bob", "-o", "jsonpath={.status.conditions[0].type}")).toBe("Approved");
  });

  it("works with custom resources", async () => {
    expect(await pipe(definition, "apply", "-f", "-")).toContain("created");
    await ok("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s");
    const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";
    expect(await pipe(widget, "-n", "work", "apply", "-f", "-")).toBe("widget.example.com/w created\n");
    expect(await pipe(widget.replace("3", "4"), "-n", "work", "apply", "-f", "-")).toBe(
      "widget.example.com/w configured\n",
    );
    expect(await ok("-n", "work", "get", "wd")).toMatch(/^NAME +SIZE\nw +4/);
    expect(await ok("-n", "work", "scale", "widget/w", "--replicas=6")).toContain("scaled");
    expect(await ok("explain", "widget.spec.size")).toContain("How many.");
    const bad = await run(["-n", "work", "apply", "-f", "-"], widget.replace("3", "0"));
    expect(bad.err).toContain("should be greater than or equal to 1");
    expect(await ok("-n", "work", "describe", "widget", "w")).toMatch(/Size: +6/);
  });

  it("shows events", async () => {
    await pipe(
      `apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: work}\ninvolvedObject: {kind: Deployment, name: web, namespace: work, apiVersion: apps/v1}\nreason: Because\nmessage: it happened\ntype: Normal\nfirstTimestamp: "2026-01-01T00:00:00Z"\nlastTimestamp: "2026-01-01T00:00:00Z"\ncount: 1\n`,
      "create",
      "-f",
      "-",
    );
    expect(await ok("-n", "work", "events")).toContain("it happened");
    expect(await ok("-n", "work", "events", "--for", "deployment/web")).toContain("Because");
  });

  it("waits and deletes", async () => {
    expect(await ok("-n", "work", "delete", "cm", "typed")).toContain('configmap "typed" deleted');
    await ok("-n", "work", "create", "cm", "held");
    await ok(
      "-n",
      "work",
      "patch",
      "cm",
      "held",
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":["example.com/hold"]}}',
    );
    await ok("-n", "work", "delete", "cm", "held", "--wait=false");
    const waiting = run(["-n", "work", "wait", "--for=delete", "cm/held", "--timeout=20s"]);
    await ok("-n", "work", "patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}');
    expect((await waiting).code).toBe(0);
    await ok("-n", "work", "delete", "deploy", "--all");
    expect((await run(["-n", "work", "get", "deploy", "web"])).err).toContain("NotFound");
    expect(version).toBeGreaterThan(0);
  });
});
