/** Errors of the machine in words: what is in the way, and what to do about it. */

/** A sentence for errors that a person can fix outside of this program; undefined for any other. */
export function explainSystemError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, syscall, path, address, port } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
  };
  if (syscall === "listen" && code === "EADDRINUSE") {
    return `port ${port} on ${address} is taken by another program; choose another with --port`;
  }
  if (syscall === "listen" && code === "EACCES") {
    return `only root may listen on port ${port}; choose one above 1023 with --port`;
  }
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return (
        `there is no room left on the disk${path === undefined ? "" : ` for ${path}`}; make room, or set ` +
        "KEELSON_STATE and KEELSON_CACHE to folders on another one"
      );
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return path === undefined
        ? undefined
        : `${path} cannot be written; set KEELSON_STATE and KEELSON_CACHE to folders that you may write to`;
    default:
      return undefined;
  }
}
