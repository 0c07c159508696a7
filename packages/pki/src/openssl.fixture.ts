/** Whether this machine has openssl, which is the judge of our encoding in the tests. */
import { spawnSync } from "node:child_process";

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
