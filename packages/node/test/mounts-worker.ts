/** Removes directories as a node does those of pods: `sandbox` by a script, `files` by itself. */
import { removeUnmounted } from "../src/runtime/mounts.ts";
import { removePodNamespace } from "../src/runtime/pod-namespace.ts";

const [sandbox = "", files = ""] = process.argv.slice(2);
await removePodNamespace({ ip: "ip", unshare: "unshare", nsenter: "nsenter" }, sandbox, undefined);
await removeUnmounted(files);
process.exit(0);
