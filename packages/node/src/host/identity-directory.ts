/** Where a node's certificate and key are kept: apart from what its pods have. */
import { join } from "node:path";

export function identityDirectory(dataDirectory: string, nodeName: string): string {
  return join(dataDirectory, "pki", nodeName);
}
