/** Scenarios in which exploring once found a failure, by what happens in them. */
import type { Plan } from "@keelson/testing";

export const found: Readonly<Record<string, Plan>> = {};
