/** How a snapshot becomes a data directory again: the command of each etcd version. */
import { parseVersion } from "@keelson/kit";

export interface RestoreCommand {
  readonly version: string;
  readonly file: string;
  readonly dataDirectory: string;
  readonly member: string;
  readonly peerUrl: string;
  /** Another than the old cluster's, so that members of the two can never talk to each other. */
  readonly token: string;
  /** Revisions to skip, so that watchers notice that time went back; 0 for none. */
  readonly bumpRevisions: number;
}

/** Until 3.4 the client restores; from 3.6 on only the tool does. Images have both in one place. */
export function restoreCommand(options: RestoreCommand, programs = "/usr/local/bin"): string[] {
  const { version, file, dataDirectory, member, peerUrl, token, bumpRevisions } = options;
  const tool = (parseVersion(version)?.minor ?? 0) <= 4 ? "etcdctl" : "etcdutl";
  const bump = bumpRevisions > 0 && canBumpRevisions(version);
  return [
    `${programs}/${tool}`,
    "snapshot",
    "restore",
    file,
    `--data-dir=${dataDirectory}`,
    `--name=${member}`,
    `--initial-cluster=${member}=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster-token=${token}`,
    ...(bump ? [`--bump-revision=${bumpRevisions}`, "--mark-compacted"] : []),
  ];
}

/** Whether the version's tool can raise revisions; what comes before restores them as they were. */
export function canBumpRevisions(version: string): boolean {
  const { minor, patch } = parseVersion(version) ?? { minor: 0, patch: 0 };
  return minor >= 6 || (minor === 5 && patch >= 10) || (minor === 4 && patch >= 27);
}
