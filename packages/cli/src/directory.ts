/** `-C`, `--directory`: the operator that a command is about. */

/** The flag, for every command that works on a project. */
export const directory = {
  kind: "parsed",
  parse: String,
  brief: "The operator's package",
  default: ".",
} as const;

/** Its short form, as git and npm have it. */
export const directoryAlias = { C: "directory" } as const;
