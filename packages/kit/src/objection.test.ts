/** What speaks against an action when the object is asked for again. */
import { expect, test } from "vitest";
import { objectionTo, type Pausable } from "./objection.ts";

const living: Pausable = { metadata: { uid: "a" }, spec: { paused: false } };
const paused: Pausable = { ...living, spec: { paused: true } };
const deletionTimestamp = "2026-01-01T12:00:00Z";
const going: Pausable = { ...living, metadata: { uid: "a", deletionTimestamp } };
const goingPaused: Pausable = { ...going, spec: { paused: true } };
const another: Pausable = { ...living, metadata: { uid: "b" } };

test.each<[string, Pausable, Pausable | undefined, string | undefined]>([
  ["nothing has changed", living, living, undefined],
  ["it was paused", living, paused, "spec.paused is set"],
  ["it was paused before", paused, paused, undefined],
  ["it is going on again", paused, living, undefined],
  ["it is gone", living, undefined, "the object is gone"],
  ["another has its name", living, another, "the object is gone"],
  ["it is being deleted", living, going, "the object is being deleted"],
  ["its deletion goes on", going, going, undefined],
  ["its deletion goes on although it is paused", going, goingPaused, undefined],
])("an action is taken or not when %s", (_when, decidedBy, live, objection) => {
  expect(objectionTo(decidedBy, live)).toBe(objection);
});
