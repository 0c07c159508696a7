/** What the parts of the cluster need of this machine: commands, locks, temporary and cache directories. */
export { cacheDirectory, type Environment } from "./cache-directory.ts";
export { ClosingStack } from "./closing-stack.ts";
export { type CommandOptions, type CommandResult, pipeCommands, runCommand } from "./command.ts";
export { acquireHeartbeatLock, type HeartbeatLockOptions, withLock } from "./heartbeat-lock.ts";
export { chooseIdMap, type IdExtent, type IdMap, type IdMode, writeIdMap } from "./id-map.ts";
export { makeOnce } from "./once.ts";
export {
  type HeldLock,
  holdLock,
  isAbandoned,
  isStopped,
  markPattern,
  ownMark,
  startTicksOf,
} from "./owner.ts";
export { privateCache, privateDirectory } from "./private-directory.ts";
export { removeTree } from "./remove-tree.ts";
export { explainSystemError } from "./system-error.ts";
export { socketDirectory, sweepTemporary, temporaryDirectory } from "./temporary.ts";
