/** What the command says when it cannot do what it was asked. */

export type CliErrorCode =
  | "NoPackage"
  | "NoOperator"
  | "BadEntry"
  | "NotBuilt"
  | "NotInstalled"
  | "InvalidName"
  | "FolderInUse"
  | "NoPackages"
  | "CannotWrite"
  | "InstallFailed"
  | "BadKubeconfig"
  | "NoContext"
  | "NoCluster"
  | "CrdMissing"
  | "IncompatibleCrd"
  | "NotPermitted"
  | "AlreadyRuns"
  | "OperatorEnded"
  | "BadValues"
  | "BadBundle"
  | "Stale"
  | "NoRelease"
  | "CannotApply"
  | "NotReady"
  | "NoRegistry"
  | "NoImage"
  | "NoManifests"
  | "UnknownKind"
  | "CannotEdit"
  | "NoScaffold"
  | "UpgradeConflict"
  | "CannotEject";

/** Why a command cannot do what it is asked, by code. Its message is for people. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
