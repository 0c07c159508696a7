/** The `keelson` command. Each subcommand loads what it needs when it is asked for. */
export { main } from "./main.ts";
