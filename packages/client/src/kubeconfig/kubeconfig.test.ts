import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProcessPort, ProcessResult, RunOptions } from "@keelson/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/fake-clock.ts";
import { systemWorld } from "../system.ts";
import { parseServer } from "../transport/server-address.ts";
import { connect, loadKubeconfig } from "./connect.ts";
import { inClusterConnection, isInCluster, kubeconfigConnection } from "./connection.ts";
import { environmentProxy } from "./environment-proxy.ts";
import { kubeconfigPaths, parseKubeconfig, readKubeconfig } from "./kubeconfig.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keelson-kubeconfig-"));
});
afterAll(async () => await rm(folder, { recursive: true }));

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** A process that answers every command by a function, and counts them. */
function fakeProcess(
  env: Record<string, string> = {},
  answer: (
    command: string,
    args: readonly string[],
    options?: RunOptions,
  ) => Partial<ProcessResult> | Error = () => ({}),
) {
  const calls: { command: string; args: readonly string[]; options?: RunOptions }[] = [];
  const process: ProcessPort = {
    env,
    hostname: "here",
    pid: 1,
    run: async (command, args, options) => {
      calls.push({ command, args, options });
      const result = answer(command, args, options);
      if (result instanceof Error) throw result;
      return { code: 0, signal: null, stdout: "", stderr: "", ...result };
    },
  };
  return { process, calls };
}

const minimal = (user: object = {}, cluster: object = {}, context: object = {}) => ({
  "current-context": "one",
  contexts: [{ name: "one", context: { cluster: "c", user: "u", ...context } }],
  clusters: [{ name: "c", cluster: { server: "https://api.example.com:6443", ...cluster } }],
  users: [{ name: "u", user }],
});

async function resolve(
  document: object,
  options: { context?: string; process?: ProcessPort; clock?: FakeClock } = {},
) {
  return await kubeconfigConnection(parseKubeconfig(document, join(folder, "config")), {
    process: fakeProcess().process,
    clock: new FakeClock(),
    interactive: false,
    ...options,
  });
}

describe("kubeconfig files", () => {
  it("are found in KUBECONFIG, else in the home directory", () => {
    expect(kubeconfigPaths({ KUBECONFIG: "/a::/b:/a" })).toEqual(["/a", "/b"]);
    expect(kubeconfigPaths({ HOME: "/home/me" })).toEqual(["/home/me/.kube/config"]);
    expect(kubeconfigPaths({})).toEqual([]);
  });

  it("are merged, the first file winning entry by entry", async () => {
    const first = await file(
      "first.yaml",
      `apiVersion: v1
kind: Config
contexts:
- {name: a, context: {cluster: c1, user: u1}}
clusters:
- {name: c1, cluster: {server: https://first}}
`,
    );
    const second = await file(
      "second.yaml",
      `current-context: b
contexts:
- {name: a, context: {cluster: other, user: other, namespace: other}}
- {name: b, context: {cluster: c1, user: u1, namespace: ns}}
clusters:
- {name: c1, cluster: {server: https://second, tls-server-name: x}}
users:
- {name: u1, user: {token: t}}
`,
    );
    const config = await readKubeconfig([first, join(folder, "absent"), second]);
    expect(config.currentContext).toBe("b");
    expect(config.contexts.get("a")).toEqual({ cluster: "c1", user: "u1" });
    expect(config.clusters.get("c1")).toEqual({ server: "https://first" });
    expect(config.users.get("u1")?.token).toBe("t");
  });

  it("agree with kubectl on what is merged and where relative paths lead", async ({ skip }) => {
    const first = await file(
      "k1.yaml",
      `contexts:
- {name: a, context: {cluster: c1, user: u1, namespace: n1}}
clusters:
- {name: c1, cluster: {server: "https://one:1/prefix", certificate-authority: ca.crt}}
users:
- {name: u1, user: {client-certificate: ./x/tls.crt, client-key: ../tls.key, as: me, as-groups: [g]}}
`,
    );
    const second = await file(
      "k2.yaml",
      `current-context: b
contexts:
- {name: b, context: {cluster: c1, user: u2}}
- {name: a, context: {cluster: c2, user: u2}}
clusters:
- {name: c2, cluster: {server: "https://two", insecure-skip-tls-verify: true, proxy-url: "http://p:1"}}
- {name: c1, cluster: {server: "https://lost"}}
users:
- {name: u2, user: {tokenFile: token, exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/plugin, interactiveMode: Never, args: [a]}}}
`,
    );
    let view: string;
    try {
      view = execFileSync("kubectl", ["config", "view", "--raw", "-o", "json"], {
        env: { ...process.env, KUBECONFIG: `${first}:${second}` },
        stdio: ["ignore", "pipe", "ignore"],
        encoding: "utf8",
      });
    } catch {
      return skip("there is no kubectl");
    }
    const theirs = parseKubeconfig(JSON.parse(view), join(folder, "config"));
    const ours = await readKubeconfig([first, second]);
    expect(ours.currentContext).toBe(theirs.currentContext);
    expect(sorted(ours.contexts)).toEqual(sorted(theirs.contexts));
    expect(sorted(ours.clusters)).toEqual(sorted(theirs.clusters));
    expect(sorted(ours.users)).toEqual(sorted(theirs.users));
  });

  it.each([
    [
      "a missing file",
      "absent.yaml",
      undefined,
      /the kubeconfig .*absent.yaml does not exist; set KUBECONFIG/,
    ],
    ["broken YAML", "broken.yaml", "contexts:\n- name: a\n  - b: [\n", /broken.yaml is not YAML: line 3: /],
    ["a list on top", "list.yaml", "- a\n", /list.yaml is malformed: the document must be a mapping/],
    [
      "a number as server",
      "number.yaml",
      "clusters: [{name: c, cluster: {server: 8080}}]",
      /clusters\[0\].cluster.server must be a string; put it in quotes/,
    ],
    ["an entry without name", "name.yaml", "users: [{user: {}}]", /users\[0\].name is missing/],
    [
      "a name used twice",
      "twice.yaml",
      "users: [{name: a, user: {}}, {name: a, user: {}}]",
      /users has two entries named "a"/,
    ],
    [
      "data that is no base64",
      "data.yaml",
      "clusters: [{name: c, cluster: {certificate-authority-data: 'a b!'}}]",
      /certificate-authority-data must be base64/,
    ],
  ])("with %s say where and what", async (_what, name, content, message) => {
    const path = content === undefined ? join(folder, name) : await file(name, content);
    await expect(readKubeconfig([path])).rejects.toThrow(message);
  });

  it("may be JSON, and an empty one has no context", async () => {
    const json = await file("c.json", JSON.stringify(minimal()));
    expect((await readKubeconfig([json])).currentContext).toBe("one");
    const empty = await readKubeconfig([await file("empty.yaml", "")]);
    await expect(kubeconfigConnection(empty, { ...systemWorld, interactive: false })).rejects.toThrow(
      /empty.yaml has no current-context; there is no context at all/,
    );
  });
});

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

describe("a context", () => {
  it.each([
    ["an absent context", minimal(), "two", /has no context "two"; choose one of one/],
    [
      "an absent cluster",
      minimal({}, {}, { cluster: "x" }),
      undefined,
      /names the cluster "x", which is not there; choose one of c/,
    ],
    [
      "an absent user",
      minimal({}, {}, { user: "x" }),
      undefined,
      /names the user "x", which is not there; choose one of u/,
    ],
    ["no server", minimal({}, { server: "" }), undefined, /cluster "c" has no server/],
    [
      "a server that is no address",
      minimal({}, { server: "ftp://x" }),
      undefined,
      /its scheme must be https, http or unix/,
    ],
    [
      "a missing authority",
      minimal({}, { "certificate-authority": "nowhere.crt" }),
      undefined,
      /nowhere.crt of cluster "c" cannot be read: it does not exist/,
    ],
    [
      "trust and distrust at once",
      minimal({}, { "certificate-authority-data": "eA==", "insecure-skip-tls-verify": true }),
      undefined,
      /both a certificate-authority and insecure/,
    ],
    [
      "a certificate without key",
      minimal({ "client-certificate-data": "eA==" }),
      undefined,
      /user "u" cannot be used: it has a client-certificate and no client-key/,
    ],
    ["token and password", minimal({ token: "t", username: "x" }), undefined, /both a token and a password/],
    [
      "a removed auth provider",
      minimal({ "auth-provider": { name: "gcp" } }),
      undefined,
      /auth-provider "gcp" was removed/,
    ],
    [
      "groups without a user",
      minimal({ "as-groups": ["g"] }),
      undefined,
      /as-groups or as-user-extra and no as/,
    ],
    [
      "a plugin without command",
      minimal({ exec: { apiVersion: "client.authentication.k8s.io/v1" } }),
      undefined,
      /user "u" cannot be used: exec.command is missing/,
    ],
    [
      "an old plugin version",
      minimal({ exec: { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "x" } }),
      undefined,
      /exec.apiVersion must be/,
    ],
    [
      "no interactive mode in v1",
      minimal({ exec: { apiVersion: "client.authentication.k8s.io/v1", command: "x" } }),
      undefined,
      /exec.interactiveMode must be/,
    ],
  ])("with %s says so in one sentence", async (_what, document, context, message) => {
    await expect(resolve(document, { context })).rejects.toThrow(message);
  });

  it("gives address, namespace, names, proxy and impersonation", async () => {
    const connection = await resolve(
      minimal(
        { as: "jane", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": { reason: ["x", "y"] } },
        { "tls-server-name": "api", "proxy-url": "socks5://p:1", "certificate-authority-data": "Y2E=" },
        { namespace: "ns" },
      ),
    );
    expect(connection).toMatchObject({
      namespace: "ns",
      impersonate: { user: "jane", uid: "7", groups: ["dev"], extra: { reason: ["x", "y"] } },
      transport: {
        server: "https://api.example.com:6443",
        serverName: "api",
        proxy: "socks5://p:1",
        ca: "ca",
      },
    });
    expect(connection.transport.credentials).toBeUndefined();
  });

  it("never sends a secret in the clear to another machine", async () => {
    const credentials = async (server: string) =>
      (await resolve(minimal({ token: "t" }, { server }))).transport.credentials;
    expect(await credentials("http://api.example.com")).toBeUndefined();
    expect(await credentials("https://api.example.com")).toBeDefined();
    expect(await credentials("http://127.0.0.1:8080")).toBeDefined();
    expect(await credentials("unix:/run/x.sock")).toBeDefined();
  });
});

describe("credentials", () => {
  const header = async (user: object) => {
    const { transport } = await resolve(minimal(user));
    return (await transport.credentials?.current())?.headers?.authorization;
  };

  it("come from a token, a file, or a user and password", async () => {
    await file("token", "from-file\n");
    expect(await header({ token: "plain" })).toBe("Bearer plain");
    expect(await header({ token: "plain", tokenFile: "token" })).toBe("Bearer from-file");
    expect(await header({ username: "me", password: "pw" })).toBe(
      `Basic ${Buffer.from("me:pw").toString("base64")}`,
    );
  });

  it("follow a token file as it rotates, and keep the last one while it is away", async () => {
    const path = await file("rotating", "one");
    const clock = new FakeClock();
    const { transport } = await resolve(minimal({ tokenFile: path }), { clock });
    const now = async () => (await transport.credentials?.current())?.headers?.authorization;
    expect(await now()).toBe("Bearer one");
    await writeFile(path, "two");
    await clock.advance(49_000);
    expect(await now()).toBe("Bearer one");
    await clock.advance(1_000);
    expect(await now()).toBe("Bearer two");
    await rm(path);
    await clock.advance(60_000);
    expect(await now()).toBe("Bearer two");
  });

  it("read a token file again at once when the server refuses", async () => {
    const path = await file("refused", "one");
    const { transport } = await resolve(minimal({ tokenFile: path }));
    const first = await transport.credentials?.current();
    expect(await transport.credentials?.refused(first ?? {})).toBe(false);
    await writeFile(path, "two");
    expect(await transport.credentials?.refused(first ?? {})).toBe(true);
    expect((await transport.credentials?.current())?.headers?.authorization).toBe("Bearer two");
  });

  it("say which file cannot be read", async () => {
    await expect(header({ tokenFile: "absent" })).rejects.toThrow(
      `the tokenFile of user "u" ${join(folder, "absent")} cannot be read: it does not exist`,
    );
    await expect(header({ "client-certificate": "absent.crt", "client-key-data": "eA==" })).rejects.toThrow(
      /the client-certificate of user "u" .*absent.crt cannot be read/,
    );
  });
});

describe("a credential plugin", () => {
  const exec = (more: object = {}) => ({
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "login",
      args: ["--quick"],
      env: [{ name: "REGION", value: "eu" }],
      interactiveMode: "IfAvailable",
      ...more,
    },
  });
  const answer = (status: object, apiVersion = "client.authentication.k8s.io/v1") => ({
    stdout: JSON.stringify({ apiVersion, kind: "ExecCredential", status }),
  });

  it("is run with its arguments and environment, once until its answer expires", async () => {
    const clock = new FakeClock();
    let n = 0;
    const { process, calls } = fakeProcess({ PATH: "/bin" }, () =>
      answer({ token: `t${++n}`, expirationTimestamp: new Date(clock.now() + 60_000).toISOString() }),
    );
    const { transport } = await resolve(minimal(exec()), { process, clock });
    const token = async () => (await transport.credentials?.current())?.headers?.authorization;
    expect(await Promise.all([token(), token()])).toEqual(["Bearer t1", "Bearer t1"]);
    await clock.advance(59_000);
    expect(await token()).toBe("Bearer t1");
    await clock.advance(1_000);
    expect(await token()).toBe("Bearer t2");
    expect(calls).toHaveLength(2);
    expect(calls[0]).toMatchObject({
      command: "login",
      args: ["--quick"],
      options: { env: { PATH: "/bin", REGION: "eu" } },
    });
    expect(JSON.parse(calls[0]?.options?.env?.KUBERNETES_EXEC_INFO ?? "")).toEqual({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      spec: { interactive: false },
    });
  });

  it("learns about the cluster when it asks for it", async () => {
    const { process, calls } = fakeProcess({}, () => answer({ token: "t" }));
    const cluster = {
      "certificate-authority-data": "Y2E=",
      extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "me" } }],
    };
    const { transport } = await resolve(minimal(exec({ provideClusterInfo: true }), cluster), { process });
    await transport.credentials?.current();
    expect(JSON.parse(calls[0]?.options?.env?.KUBERNETES_EXEC_INFO ?? "").spec.cluster).toEqual({
      server: "https://api.example.com:6443",
      "certificate-authority-data": "Y2E=",
      config: { audience: "me" },
    });
  });

  it("may give a certificate instead of a token", async () => {
    const { process } = fakeProcess({}, () =>
      answer({ clientCertificateData: "CERT", clientKeyData: "KEY" }),
    );
    const { transport } = await resolve(minimal(exec()), { process });
    expect(await transport.credentials?.current()).toMatchObject({ certificate: "CERT", key: "KEY" });
  });

  it("is run again when the server refuses its answer, but not in a loop", async () => {
    const clock = new FakeClock();
    let n = 0;
    const { process, calls } = fakeProcess({}, () => answer({ token: `t${++n}` }));
    const { transport } = await resolve(minimal(exec()), { process, clock });
    const first = (await transport.credentials?.current()) ?? {};
    expect(await transport.credentials?.refused(first)).toBe(false);
    await clock.advance(5_000);
    expect(await transport.credentials?.refused(first)).toBe(true);
    expect((await transport.credentials?.current())?.headers?.authorization).toBe("Bearer t2");
    expect(calls).toHaveLength(2);
  });

  it.each([
    [
      "is not installed",
      exec({ installHint: "brew install login" }),
      Object.assign(new Error("spawn"), { code: "ENOENT" }),
      'the credential plugin login of user "u" was not found; brew install login',
    ],
    ["fails", exec(), { code: 3, stderr: "log in first\n" }, "failed with exit code 3: log in first"],
    ["prints rubbish", exec(), { stdout: "hello" }, 'printed something that is no JSON: "hello"'],
    ["prints nothing useful", exec(), answer({}), "printed neither a token nor a certificate"],
    [
      "prints half a certificate",
      exec(),
      answer({ clientCertificateData: "x" }),
      "printed a certificate without its key",
    ],
    [
      "answers in another version",
      exec(),
      answer({ token: "t" }, "client.authentication.k8s.io/v1beta1"),
      "answered in version client.authentication.k8s.io/v1beta1",
    ],
    [
      "must ask a person",
      exec({ interactiveMode: "Always" }),
      {},
      "wants to ask a person, and there is no terminal",
    ],
  ])("that %s is explained", async (_what, user, result, message) => {
    const { process } = fakeProcess({}, () => result);
    const { transport } = await resolve(minimal(user), { process });
    await expect(transport.credentials?.current()).rejects.toThrow(message);
  });

  it("really runs as a process", async () => {
    const script = `console.log(JSON.stringify({apiVersion: JSON.parse(process.env.KUBERNETES_EXEC_INFO).apiVersion, status: {token: process.env.WHO + process.argv[1]}}))`;
    const user = exec({
      command: process.execPath,
      args: ["-e", script, "!"],
      env: [{ name: "WHO", value: "me" }],
    });
    const { transport } = await resolve(minimal(user), { process: systemWorld.process });
    expect((await transport.credentials?.current())?.headers?.authorization).toBe("Bearer me!");
  });
});

describe("proxies of the environment", () => {
  const env = { HTTPS_PROXY: "http://p:1", http_proxy: "http://p:2" };
  it.each([
    ["https://api.example.com", env, "http://p:1"],
    ["http://api.example.com", env, "http://p:2"],
    ["https://api.example.com", {}, undefined],
    ["https://localhost:6443", env, undefined],
    ["https://127.0.0.1:6443", env, undefined],
    ["unix:/run/x.sock", env, undefined],
    ["https://api.example.com", { ...env, NO_PROXY: "*" }, undefined],
    ["https://api.example.com", { ...env, NO_PROXY: "other.com, example.com" }, undefined],
    ["https://example.com", { ...env, NO_PROXY: ".example.com" }, "http://p:1"],
    ["https://api.example.com", { ...env, no_proxy: ".example.com" }, undefined],
    ["https://badexample.com", { ...env, NO_PROXY: "example.com" }, "http://p:1"],
    ["https://10.1.2.3", { ...env, NO_PROXY: "10.0.0.0/8" }, undefined],
    ["https://11.1.2.3", { ...env, NO_PROXY: "10.0.0.0/8" }, "http://p:1"],
    ["https://[fd00::1]:6443", { ...env, NO_PROXY: "fd00::/8" }, undefined],
    ["https://10.1.2.3:6443", { ...env, NO_PROXY: "10.1.2.3:443" }, "http://p:1"],
    ["https://10.1.2.3:6443", { ...env, NO_PROXY: "10.1.2.3:6443" }, undefined],
  ])("for %s with %o is %s", (server, environment, proxy) => {
    expect(environmentProxy(parseServer(server), environment)).toBe(proxy);
  });
});

describe("inside a cluster", () => {
  it("uses the service account, its namespace, its rotating token and authority", async () => {
    const account = await mkdtemp(join(folder, "account-"));
    await writeFile(join(account, "token"), "t1\n");
    await writeFile(join(account, "ca.crt"), "CA");
    await writeFile(join(account, "namespace"), "mine");
    const { process } = fakeProcess({ KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" });
    const clock = new FakeClock();
    expect(await isInCluster(process, account)).toBe(true);
    const { transport, namespace } = await inClusterConnection({ process, clock }, account);
    expect(transport.server).toBe("https://[fd00::1]:443");
    const authority = async () =>
      typeof transport.ca === "object" ? await transport.ca.read() : transport.ca;
    expect(await authority()).toBe("CA");
    await writeFile(join(account, "ca.crt"), "CA and its successor");
    expect(namespace).toBe("mine");
    expect((await transport.credentials?.current())?.headers?.authorization).toBe("Bearer t1");
    await writeFile(join(account, "token"), "t2\n");
    await clock.advance(50_000);
    expect((await transport.credentials?.current())?.headers?.authorization).toBe("Bearer t2");
    expect(await authority()).toBe("CA and its successor");
  });

  it("says what is missing outside", async () => {
    const { process } = fakeProcess();
    expect(await isInCluster(process, folder)).toBe(false);
    await expect(inClusterConnection({ process, clock: new FakeClock() }, folder)).rejects.toThrow(
      "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; pass a kubeconfig",
    );
  });
});

describe("connect", () => {
  it("takes namespace and impersonation from the context, and options before them", async () => {
    const document = minimal({ as: "jane" }, {}, { namespace: "ns" });
    const client = await connect({ kubeconfig: document });
    expect(client.namespace).toBe("ns");
    expect(client.headers["impersonate-user"]).toBe("jane");
    const other = await connect({ kubeconfig: document, namespace: "mine", impersonate: { user: "joe" } });
    expect(other.namespace).toBe("mine");
    expect(other.headers["impersonate-user"]).toBe("joe");
    await client.close();
    await other.close();
  });

  it("reads the files of the environment it was given", async () => {
    const path = await file("env.json", JSON.stringify(minimal()));
    const world = { ...systemWorld, process: fakeProcess({ KUBECONFIG: path }).process };
    expect((await loadKubeconfig({ world })).files).toEqual([path]);
    await expect(connect({ world, context: "nope" })).rejects.toThrow(
      'has no context "nope"; choose one of one',
    );
    await expect(
      connect({ world: { ...world, process: fakeProcess({ HOME: folder }).process } }),
    ).rejects.toThrow(`the kubeconfig ${join(folder, ".kube/config")} does not exist`);
  });

  it("takes the context that the environment names, unless the program names a kubeconfig or a context", async () => {
    const path = await file("named.json", JSON.stringify(minimal()));
    const env = { KUBECONFIG: path, KEELSON_CONTEXT: "another" };
    const world = { ...systemWorld, process: fakeProcess(env).process };
    await expect(connect({ world })).rejects.toThrow('has no context "another"; choose one of one');
    await (await connect({ world, context: "one" })).close();
    await (await connect({ world, kubeconfig: minimal() })).close();
  });
});
