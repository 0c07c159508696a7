/** The syntax of values inside objects, with the server's own words for what is wrong. */
import { validateDns1123Label } from "@keelson/core";
import { byteLength } from "@keelson/core/internal";

export type Rule = (value: string) => string[];

const exactly = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$(?![\\s\\S])`);

export function patternMismatch(message: string, pattern: string, ...examples: string[]): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${pattern}')`;
  const list = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${list}regex used for validation is '${pattern}')`;
}

export function tooLong(max: number): string {
  return `must be no more than ${max} characters`;
}

export function rangeError(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

export const notNegative = "must be greater than or equal to 0";
export const positive = "must be greater than zero";
export const immutable = "field is immutable";
export const fileMode = "must be a number between 0 and 0777 (octal), both inclusive";

export function portNumber(port: number): string[] {
  return port >= 1 && port <= 65535 ? [] : [rangeError(1, 65535)];
}

const maxInt32 = 2 ** 31 - 1;

/** User and group ids. */
export function accountId(id: number): string[] {
  return id >= 0 && id <= maxInt32 ? [] : [rangeError(0, maxInt32)];
}

const portNameCharacters = /^[-a-z0-9]+$/;

export function portName(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 15) problems.push(tooLong(15));
  if (!portNameCharacters.test(name))
    problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(name)) problems.push("must contain at least one letter (a-z)");
  if (name.includes("--")) problems.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) problems.push("must not begin or end with a hyphen");
  return problems;
}

const percentPattern = "[0-9]+%";
const percentExpression = exactly(percentPattern);

export function percent(text: string): string[] {
  if (percentExpression.test(text)) return [];
  return [
    patternMismatch(
      "a valid percent string must be a numeric string followed by an ending '%'",
      percentPattern,
      "1%",
      "93%",
    ),
  ];
}

const headerPattern = "[-A-Za-z0-9]+";
const headerExpression = exactly(headerPattern);

export function headerName(name: string): string[] {
  if (headerExpression.test(name)) return [];
  return [
    patternMismatch(
      "a valid HTTP header must consist of alphanumeric characters or '-'",
      headerPattern,
      "X-Header-Name",
    ),
  ];
}

const printableName = /^[\x20-\x3c\x3e-\x7e]*$/;

export function environmentName(name: string): string[] {
  if (name === "") return ["environment variable name must be non-empty"];
  if (printableName.test(name)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

const keyPattern = "[-._a-zA-Z0-9]+";
const keyExpression = exactly(keyPattern);

/** Keys of config maps and secrets. */
export function configKey(key: string): string[] {
  const problems: string[] = [];
  if (byteLength(key) > 253) problems.push(tooLong(253));
  if (!keyExpression.test(key))
    problems.push(
      patternMismatch(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        keyPattern,
        "key.name",
        "KEY_NAME",
        "key-name",
      ),
    );
  if (key === ".") problems.push("must not be '.'");
  else if (key === "..") problems.push("must not be '..'");
  else if (key.startsWith("..")) problems.push("must not start with '..'");
  return problems;
}

const underscoreLabel = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const underscorePattern = `${underscoreLabel}(\\.${underscoreLabel})*`;
const underscoreExpression = exactly(underscorePattern);

/** A DNS subdomain in which labels may hold underscores, as search paths do. */
export function searchDomain(value: string): string[] {
  const problems: string[] = [];
  if (byteLength(value) > 253) problems.push(tooLong(253));
  if (!underscoreExpression.test(value))
    problems.push(
      patternMismatch(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
        underscorePattern,
        "example.com",
      ),
    );
  return problems;
}

const wildcardPattern = "\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const wildcardExpression = exactly(wildcardPattern);

export function wildcardDomain(value: string): string[] {
  const problems: string[] = [];
  if (byteLength(value) > 253) problems.push(tooLong(253));
  if (!wildcardExpression.test(value))
    problems.push(
      patternMismatch(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        wildcardPattern,
        "*.example.com",
      ),
    );
  return problems;
}

export const labelName: Rule = validateDns1123Label;

/** A name to which characters will be appended. */
export function namePrefix(name: string, rule: Rule): string[] {
  return rule(name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name);
}
