/** Which security level a namespace asks for, by its labels. */
import { type FieldError, invalidField } from "../../contracts/field-error.ts";

export type Level = "privileged" | "baseline" | "restricted";
const strictness: readonly string[] = ["privileged", "baseline", "restricted"];

export interface LevelVersion {
  readonly level: Level;
  /** Minor number; infinity is the latest. */
  readonly minor: number;
}

export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

export function compareLevels(a: Level, b: Level): number {
  return strictness.indexOf(a) - strictness.indexOf(b);
}

export function showLevel({ level, minor }: LevelVersion): string {
  return `${level}:${minor === Number.POSITIVE_INFINITY ? "latest" : `v1.${minor}`}`;
}

const prefix = "pod-security.kubernetes.io/";
const latest = Number.POSITIVE_INFINITY;
const versionPattern = /^v1\.(0|[1-9]\d*)$/;

/** Wrong labels are reported; enforcing then falls back to the strictest, the others to nothing. */
export function policyOf(labels: Readonly<Record<string, string>> | undefined = {}): {
  policy: Policy;
  errors: FieldError[];
} {
  const errors: FieldError[] = [];
  const refuse = (label: string, value: string, why: string) =>
    errors.push(invalidField(`metadata.labels[${label}]`, value, why));
  const read = (mode: "enforce" | "audit" | "warn", fallback: Level) => {
    const levelLabel = `${prefix}${mode}`;
    const versionLabel = `${levelLabel}-version`;
    const level = labels[levelLabel];
    const version = labels[versionLabel];
    let chosen: Level | undefined;
    let wrong = false;
    if (level !== undefined) {
      wrong = !strictness.includes(level);
      chosen = wrong ? fallback : (level as Level);
      if (wrong) refuse(levelLabel, level, `must be one of ${strictness.join(", ")}`);
    }
    let minor: number | undefined;
    if (version !== undefined) {
      const match = versionPattern.exec(version);
      minor = match ? Number(match[1]) : latest;
      if (!match && version !== "latest") refuse(versionLabel, version, 'must be "latest" or "v1.x"');
    }
    return { level: chosen, minor, wrong };
  };
  const enforce = read("enforce", "restricted");
  const audit = read("audit", "privileged");
  const warn = read("warn", "privileged");
  const complete = ({
    level = "privileged",
    minor = latest,
  }: {
    level?: Level | undefined;
    minor?: number | undefined;
  }) => ({
    level,
    minor,
  });
  // What is enforced is also what deployments are warned about, unless they are told otherwise.
  const inherits =
    warn.level === undefined &&
    enforce.level !== undefined &&
    !enforce.wrong &&
    enforce.level !== "privileged";
  return {
    errors,
    policy: {
      enforce: complete(enforce),
      audit: complete(audit),
      warn: complete(inherits ? { level: enforce.level, minor: warn.minor ?? enforce.minor } : warn),
    },
  };
}
