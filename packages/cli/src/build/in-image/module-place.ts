/** What `import.meta` says to a module that is part of a bundle: where the module itself lies in the image. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The bundler writes here how /app is reached from the file that this becomes a part of. */
const app = new URL("KEELSON_APP_FROM_HERE_____________________", import.meta.url);

/** The `import.meta` of a module, by its path below /app. */
export function placeOf(path: string, main = false): Omit<ImportMeta, "env"> {
  const { href: url } = new URL(path, app);
  const filename = fileURLToPath(url);
  const resolve = (name: string) =>
    /^\.{0,2}\//.test(name) ? new URL(name, url).href : import.meta.resolve(name);
  return { url, filename, dirname: dirname(filename), main, resolve };
}
