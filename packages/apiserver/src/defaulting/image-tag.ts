/** The tag of an image name, as far as pull policies depend on it. */

const separator = "(?:\\.|_|__|-+)";
const component = `[a-z0-9]+(?:${separator}[a-z0-9]+)*`;
const host = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `(?:${host}(?:\\.${host})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const reference = new RegExp(
  `^(?:${domain}/)?${component}(?:/${component})*(?::([\\w][\\w.-]{0,127}))?(@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
);
const identifier = /^[a-f0-9]{64}$/;

const longest = 255;
/** Repository, tag and digest together; no reference is longer. */
const longestImage = 4096;

function repositoryOf(image: string): string {
  const named = image.split("@", 1)[0] as string;
  const tag = named.lastIndexOf(":");
  return tag > named.lastIndexOf("/") ? named.slice(0, tag) : named;
}

/** Empty for a name that cannot be read, and for one that names a digest alone. */
function tagOf(image: string): string {
  if (image.length > longestImage || identifier.test(image)) return "";
  const match = reference.exec(image);
  if (!match || repositoryOf(image).length > longest) return "";
  return match[1] ?? (match[2] ? "" : "latest");
}

const known = new Map<string, "Always" | "IfNotPresent">();

/** `latest` moves, so it is always pulled. */
export function pullPolicyOf(image: string): "Always" | "IfNotPresent" {
  let policy = known.get(image);
  if (policy === undefined) {
    policy = tagOf(image) === "latest" ? "Always" : "IfNotPresent";
    if (known.size > 1000) known.clear();
    known.set(image, policy);
  }
  return policy;
}
