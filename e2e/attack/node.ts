/** Attacks from inside a pod, as root, on the machine that runs it; and archives that leave their place. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { loadImages } from "@keelson/images";
import { type TarFile, writeTar } from "@keelson/images/internal";
import { Machine } from "../cluster/machine.ts";
import { type Attack, type Result, tryAll } from "./attack.ts";

export interface NodeOptions {
  readonly groups?: readonly string[];
  readonly tell: (result: Result) => void;
}

export async function attackNode({ groups, tell }: NodeOptions): Promise<void> {
  const wants = (group: string) => groups === undefined || groups.includes(group);
  if (wants("archives")) await tryAll("archives", undefined, archiveAttacks, tell);
  if (wants("pods")) await attackFromPod(tell);
}

/** What a shell in the pod prints as its last line when the attack succeeds. */
const success = "ATTACK SUCCEEDED";
/** The capabilities that container engines give by default, as a mask. */
const ofContainers = "0xa80425fb";

const inPod = (id: string, tries: string, script: string): Attack<Machine> => ({
  id,
  tries,
  async run(machine) {
    const output = await machine.kubectl("exec", "attacker", "--", "/bin/sh", "-c", `(${script}) 2>&1; true`);
    return output.includes(success) ? output.trim().slice(0, 200) : undefined;
  },
});

/** A pod whose first container puts a link into a volume, and whose second mounts the link as a subPath. */
const linked = (id: string, tries: string, linkTo: (place: string) => string): Attack<Machine> => ({
  id,
  tries,
  async run(machine) {
    const name = id.toLowerCase().replaceAll(" ", "-");
    await writeFile(join(machine.home, "precious"), "untouched");
    const image = "busybox";
    await machine.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: {
        initContainers: [
          {
            name: "link",
            image,
            command: ["/bin/sh", "-c", `ln -s ${linkTo(machine.home)} /data/link`],
            volumeMounts: [{ name: "data", mountPath: "/data" }],
          },
        ],
        containers: [
          {
            name: "c",
            image,
            command: ["/bin/sh", "-c", "sleep 100000"],
            volumeMounts: [{ name: "data", mountPath: "/linked", subPath: "link" }],
          },
        ],
        volumes: [{ name: "data", emptyDir: {} }],
      },
    });
    if ((await startedOrRefused(machine, name)) === "refused") return undefined;
    const output = await machine.kubectl("exec", name, "--", "/bin/sh", "-c", "cat /linked/precious; true");
    return output.includes("untouched") ? "read a file of the machine" : undefined;
  },
});

/** Whether the pod's container runs, or was refused with a reason that says so. */
async function startedOrRefused(machine: Machine, name: string): Promise<"started" | "refused"> {
  const until = performance.now() + 60_000;
  while (performance.now() < until) {
    const path = "{.status.containerStatuses[0].state.waiting.reason} {.status.containerStatuses[0].ready}";
    const state = await machine.kubectl("get", "pod", name, "-o", `jsonpath=${path}`);
    if (state.includes("true")) return "started";
    if (/CreateContainer\w*Error/.test(state)) return "refused";
    await new Promise((resume) => setTimeout(resume, 100));
  }
  throw new Error(`pod ${name} neither ran nor was refused`);
}

const writing = (path: string, value: string) =>
  inPod(
    `write ${path}`,
    `writes ${path}`,
    `old=$(cat ${path}); echo '${value}' > ${path} && echo ${success}; echo "$old" > ${path}`,
  );

const podAttacks: readonly Attack<Machine>[] = [
  writing("/proc/sys/kernel/core_pattern", "|/tmp/x"),
  writing("/proc/sys/vm/overcommit_memory", "1"),
  writing("/proc/sys/kernel/hostname", "attacked"),
  writing("/proc/sys/fs/file-max", "1000"),
  inPod("sysrq", "writes /proc/sysrq-trigger", `echo h > /proc/sysrq-trigger && echo ${success}`),
  inPod(
    "kcore",
    "reads the kernel's memory",
    `dd if=/proc/kcore bs=64 count=1 2>/dev/null | grep -q ELF && echo ${success}`,
  ),
  inPod(
    "remount",
    "makes /proc/sys writable",
    `mount -o remount,rw,bind /proc/sys && echo x > /proc/sys/kernel/core_pattern && echo ${success}`,
  ),
  inPod("mount", "mounts a file system", `mkdir -p /tmp/m && mount -t tmpfs none /tmp/m && echo ${success}`),
  inPod(
    "proc again",
    "mounts a /proc of its own",
    `mkdir -p /tmp/p && mount -t proc none /tmp/p && echo ${success}`,
  ),
  inPod("namespace", "makes a user namespace to be root in", `unshare -Ur true && echo ${success}`),
  inPod(
    "device",
    "makes a device of the first disk",
    `mknod /tmp/sda b 8 0 && dd if=/tmp/sda bs=1 count=1 2>/dev/null && echo ${success}`,
  ),
  inPod("module", "lists and loads modules", `insmod /x.ko 2>/dev/null && echo ${success}`),
  inPod(
    "other processes",
    "sees processes outside of the pod",
    `test "$(ls -d /proc/[0-9]* | wc -l)" -gt 30 && echo ${success}`,
  ),
  inPod(
    "privileges",
    "has capabilities beyond those of containers",
    `held=$(sed -n 's/CapEff:\\s*//p' /proc/self/status); test $((0x$held & ~${ofContainers})) -ne 0 && echo ${success}`,
  ),
  inPod(
    "seccomp",
    "runs without a filter of system calls",
    `grep -q 'Seccomp:.*0$' /proc/self/status && echo ${success}`,
  ),
  inPod(
    "processes",
    "has no limit on its processes",
    `test "$(cat /sys/fs/cgroup/pids.max 2>/dev/null)" = max && echo ${success}`,
  ),
  inPod(
    "token",
    "finds the node's credentials",
    `find / -xdev -name '*kubeconfig*' 2>/dev/null | grep -q . && echo ${success}`,
  ),
  linked("subPath link", "mounts a subPath that is a link to the machine's files", (place) => place),
  linked(
    "subPath link upwards",
    "mounts a subPath that is a link up and out of its volume",
    (place) => `${"../".repeat(40)}${place.slice(1)}`,
  ),
];

async function attackFromPod(tell: (result: Result) => void): Promise<void> {
  await using machine = await Machine.start();
  await machine.keelson("cluster", "up");
  try {
    await machine.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "attacker" },
      spec: {
        containers: [
          {
            name: "c",
            image: "busybox",
            command: ["/bin/sh", "-c", "sleep 100000"],
            volumeMounts: [{ name: "data", mountPath: "/data" }],
          },
        ],
        volumes: [{ name: "data", emptyDir: {} }],
      },
    });
    await machine.kubectl("wait", "--for=condition=Ready", "pod/attacker", "--timeout=60s");
    await tryAll("pods", machine, podAttacks, tell);
  } finally {
    await machine.keelson("cluster", "down");
  }
}

const file = (path: string, content: string | Buffer): TarFile => ({
  path,
  type: "file",
  mode: 0o644,
  content: Buffer.from(content),
});

/** Loads an archive of an image into a cache beside a file that it is after. */
const archive = (
  id: string,
  tries: string,
  layer: readonly TarFile[],
  manifest: object = {},
): Attack<undefined> => ({
  id,
  tries,
  async run() {
    const directory = await mkdtemp(join(tmpdir(), "keelson-archive-"));
    try {
      await writeFile(join(directory, "precious"), "untouched");
      const tar = writeTar(layer);
      const diffId = `sha256:${createHash("sha256").update(tar).digest("hex")}`;
      const rootfs = { type: "layers", diff_ids: id === "false digest" ? [] : [diffId] };
      const named = [{ Config: "config.json", RepoTags: ["evil:1"], Layers: ["layer.tar"], ...manifest }];
      const image = join(directory, "image.tar");
      const config = JSON.stringify({ architecture: "amd64", os: "linux", rootfs });
      await writeFile(
        image,
        writeTar([
          file("config.json", config),
          file("layer.tar", tar),
          file("manifest.json", JSON.stringify(named)),
        ]),
      );
      const env = { ...process.env, KEELSON_CACHE: join(directory, "cache") };
      const loaded = await loadImages(image, { env }).then(
        () => true,
        () => false,
      );
      const left = (await readdir(directory)).filter((name) => !expectedHere.includes(name));
      if (left.length > 0) return `wrote ${left.join(", ")}`;
      if ((await readFile(join(directory, "precious"), "utf8")) !== "untouched")
        return "changed a file outside";
      if (existsSync(planted)) return `wrote ${planted}`;
      // A link is no harm by itself, when what follows it stays inside.
      return loaded && !layer.some(({ type }) => type === "symlink") ? "was loaded" : undefined;
    } finally {
      await rm(directory, { recursive: true, force: true });
      await rm(planted, { force: true });
    }
  },
});

/** Where a file would land that follows a link out of its root. */
const planted = join(tmpdir(), `keelson-planted-${process.pid}`);
const expectedHere = ["precious", "cache", "image.tar"];
const link = (path: string, target: string): TarFile => ({ path, type: "symlink", mode: 0o777, target });

const archiveAttacks: readonly Attack<undefined>[] = [
  archive("parent", "an entry outside of the root", [file("../../../../precious", "evil")]),
  archive("parent directory", "a directory ..", [{ path: "..", type: "directory", mode: 0o777 }]),
  archive("parent link", "a link in place of ..", [link("..", "/tmp")]),
  archive("link and file", "a link out of the root and a file below it", [
    link("out", tmpdir()),
    file(`out/${basename(planted)}`, "evil"),
  ]),
  archive("whiteout", "a whiteout of ..", [file(".wh...", "")]),
  archive("a layer of the machine", "a layer that is a file of the machine", [], {
    Layers: ["../../etc/passwd"],
  }),
  archive("false digest", "a configuration that does not name its layers", [file("a", "evil")]),
];
