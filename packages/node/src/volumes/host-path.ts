/** Paths of the machine as volumes, with the checks that their type asks for. */
import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { NodeError } from "../errors.ts";

export async function hostPath(path: string, type: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  const wrong = (what: string) =>
    new NodeError("MountFailed", `hostPath type check failed: ${path} is not ${what}`);
  switch (type) {
    case "DirectoryOrCreate":
      if (found === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
      else if (!found.isDirectory()) throw wrong("a directory");
      return path;
    case "FileOrCreate":
      if (found === undefined) {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, "", { mode: 0o644 });
      } else if (!found.isFile()) throw wrong("a file");
      return path;
    case "Directory":
      if (!found?.isDirectory()) throw wrong("a directory");
      return path;
    case "File":
      if (!found?.isFile()) throw wrong("a file");
      return path;
    case "Socket":
      if (!found?.isSocket()) throw wrong("a socket file");
      return path;
    default:
      if (found === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
      return path;
  }
}
