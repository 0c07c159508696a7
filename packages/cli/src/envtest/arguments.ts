/** The command lines of kube-apiserver and etcd, as far as the stand-ins understand them. */

/** `--name=value` and `--name value` by name; a flag without a value is `true`. The last one counts. */
export function parseFlags(args: readonly string[]): Map<string, string> {
  const flags = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const match = /^--?([a-z][\w-]*)(?:=([\s\S]*))?$/.exec(args[i] ?? "");
    if (!match) continue;
    const [, name = "", value] = match;
    const next = args[i + 1];
    if (value !== undefined) flags.set(name, value);
    else if (next !== undefined && !next.startsWith("-")) {
      flags.set(name, next);
      i++;
    } else flags.set(name, "true");
  }
  return flags;
}
