/** What our own packages need of core. No promise is made for it: it may change in any release. */

export { type CronSchedule, parseSchedule } from "./cron/cron-schedule.ts";
export { scheduleProblem, timeZoneProblems } from "./cron/schedule-problem.ts";
export { clockIn, WallClock, type WallMs } from "./cron/wall-clock.ts";
export { asError, errorText } from "./error-text.ts";
export { formatGoDuration, parseGoDuration } from "./go-duration.ts";
export { goQuote } from "./go-quote.ts";
export { grpcFrame, grpcMessages } from "./grpc-frame.ts";
export { compareBytes, isObject, numberFromDigits } from "./json.ts";
export { isSameJson, jsonProblem } from "./json-problem.ts";
export { lookupTable } from "./lookup-table.ts";
export {
  annotationsBytes,
  byteLength,
  generateName,
  maxAnnotationsBytes,
  maxGeneratedBase,
  type NameRule,
  randomSuffix,
  validateGenerateName,
} from "./names.ts";
export { everything, labelRequirement, nothing, requiredFieldValue, requiredLabelValue } from "./selector.ts";
export { setKey } from "./set-key.ts";
export { backgroundClock } from "./system.ts";
export { compareApiVersions, compareVersionNumbers } from "./version-order.ts";
