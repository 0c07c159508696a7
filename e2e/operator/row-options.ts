/** What every command understands that measures rows: a fault each, some runs of each. */
import { controlPlanes } from "./control-plane.ts";

export const rowOptions = {
  only: { text: "ID,…", help: "these rows alone" },
  runs: { number: "N", help: "runs of each row (default: the row's own number)" },
  "control-plane": {
    text: "NAME",
    oneOf: controlPlanes,
    default: "embedded",
    help: "where the operator runs",
  },
  resume: { help: "complete a row to its number of runs, or leave it alone" },
  list: { help: "name the rows, and run nothing" },
} as const;
