/** The syntax of names, labels and annotations, with the API server's own words for what is wrong. */
import type { Random } from "./ports.ts";

const label1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const labelKey = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = `(${labelKey})?`;

const exactly = (pattern: string): RegExp => new RegExp(`^${pattern}$`);
const label1123Pattern = exactly(label1123);
const subdomain1123Pattern = exactly(subdomain1123);
const label1035Pattern = exactly(label1035);
const labelKeyPattern = exactly(labelKey);
const labelValuePattern = exactly(labelValue);

const labelCharacters =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/** Annotations of one object together, keys and values, in bytes. */
export const maxAnnotationsBytes = 256 * 1024;
/** What `generateName` may keep of its base: 63 less the five random characters. */
export const maxGeneratedBase = 58;

/** The length of a string in UTF-8, which is what the API server counts. */
export function byteLength(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) length += 1;
    else if (code >= 0xd800 && code <= 0xdbff) {
      length += 2;
      i++;
    } else length += 2;
  }
  return length;
}

/** Object names are said to be too long in characters, label keys and values in bytes; both are counted in bytes. */
export function tooLong(max: number, unit: "bytes" | "characters" = "characters"): string {
  return `must be no more than ${max} ${unit}`;
}

export function patternMismatch(message: string, pattern: string, ...examples: string[]): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${pattern}')`;
  const list = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${list}regex used for validation is '${pattern}')`;
}

/** What is wrong with a DNS label (RFC 1123); empty when nothing is. */
export function validateDns1123Label(value: string): string[] {
  const problems: string[] = [];
  if (byteLength(value) > 63) problems.push(tooLong(63));
  if (!label1123Pattern.test(value)) {
    problems.push(
      subdomain1123Pattern.test(value)
        ? "must not contain dots"
        : patternMismatch(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            label1123,
            "my-name",
            "123-abc",
          ),
    );
  }
  return problems;
}

/** What is wrong with a DNS subdomain (RFC 1123): the names of most objects. */
export function validateDns1123Subdomain(value: string): string[] {
  return subdomainProblems(value, "characters");
}

function subdomainProblems(value: string, unit: "bytes" | "characters"): string[] {
  const problems: string[] = [];
  if (byteLength(value) > 253) problems.push(tooLong(253, unit));
  if (!subdomain1123Pattern.test(value)) {
    problems.push(
      patternMismatch(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        subdomain1123,
        "example.com",
      ),
    );
  }
  return problems;
}

/** What is wrong with a DNS label of RFC 1035, which starts with a letter: the names of services. */
export function validateDns1035Label(value: string): string[] {
  const problems: string[] = [];
  if (byteLength(value) > 63) problems.push(tooLong(63));
  if (!label1035Pattern.test(value)) {
    problems.push(
      patternMismatch(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        label1035,
        "my-name",
        "abc-123",
      ),
    );
  }
  return problems;
}

/** What is wrong with a qualified name: label keys, annotation keys, finalizers, condition types. */
export function validateQualifiedName(value: string): string[] {
  const problems: string[] = [];
  const mismatch = () => patternMismatch(labelCharacters, labelKey, "MyName", "my.name", "123-abc");
  const parts = value.split("/");
  if (parts.length > 2) {
    return [
      `a valid label key ${mismatch()} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts[parts.length - 1] ?? "";
  if (parts.length === 2) {
    const prefix = parts[0] ?? "";
    if (prefix === "") problems.push("prefix part must be non-empty");
    else problems.push(...subdomainProblems(prefix, "bytes").map((problem) => `prefix part ${problem}`));
  }
  if (name === "") problems.push("name part must be non-empty");
  else if (byteLength(name) > 63) problems.push(`name part ${tooLong(63, "bytes")}`);
  if (!labelKeyPattern.test(name)) problems.push(`name part ${mismatch()}`);
  return problems;
}

/** What is wrong with the value of a label; empty when nothing is. */
export function validateLabelValue(value: string): string[] {
  const problems: string[] = [];
  if (byteLength(value) > 63) problems.push(tooLong(63, "bytes"));
  if (!labelValuePattern.test(value)) {
    problems.push(
      patternMismatch(
        `a valid label must be an empty string or ${labelCharacters.slice("must ".length)}`,
        labelValue,
        "MyValue",
        "my_value",
        "12345",
      ),
    );
  }
  return problems;
}

/** Annotation keys follow the rule of qualified names whatever their case. */
export function validateAnnotationKey(key: string): string[] {
  return validateQualifiedName(key.toLowerCase());
}

/** Keys and values together, as the limit of {@link maxAnnotationsBytes} counts them. */
export function annotationsBytes(annotations: Readonly<Record<string, string>>): number {
  let total = 0;
  for (const key in annotations) total += byteLength(key) + byteLength(annotations[key] ?? "");
  return total;
}

/** What is wrong with a name; empty when nothing is. */
export type NameRule = (name: string) => string[];

/** Applies a rule to a `generateName`, whose trailing dash is allowed because characters follow. */
export function validateGenerateName(base: string, rule: NameRule): string[] {
  return rule(base.length > 1 && base.endsWith("-") ? `${base.slice(0, -2)}a` : base);
}

const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/** Random characters without vowels, so that no word appears by chance. */
export function randomSuffix(random: Random, length = 5): string {
  let out = "";
  while (out.length < length) out += suffixAlphabet[Math.floor(random.next() * suffixAlphabet.length)];
  return out;
}

/** A name from a `generateName`. The caller retries when it is taken. */
export function generateName(base: string, random: Random): string {
  return truncateBytes(base, maxGeneratedBase) + randomSuffix(random);
}

function truncateBytes(text: string, max: number): string {
  let cut = text;
  while (byteLength(cut) > max) cut = cut.slice(0, -1);
  return cut;
}
