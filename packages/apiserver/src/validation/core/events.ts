/** Events, as core/v1 and as events.k8s.io/v1. */
import { deepEqual, validateDns1123Subdomain, validateQualifiedName } from "@keelson/core";
import type { Event } from "@keelson/core/kinds";
import type { Strategy } from "../../contracts/strategy.ts";
import type { Errors } from "../checks/errors.ts";
import { checkImmutable, checking, checkingUpdate } from "../checks/strategies.ts";

type StoredEvent = Event & { eventTime?: string | null };

function checkBoth(event: StoredEvent, group: string, errors: Errors): void {
  const own = event.metadata?.namespace ?? "";
  const about = event.involvedObject?.namespace ?? "";
  const mismatch = () => errors.invalid("involvedObject.namespace", about, "does not match event.namespace");
  if (!event.eventTime) {
    if (about ? about !== own : own !== "" && own !== "default") mismatch();
  } else {
    if (!about && own !== "default" && own !== "kube-system") mismatch();
    const controllerField = group === "" ? "reportingComponent" : "reportingController";
    const controller = event.reportingComponent ?? "";
    if (!controller) errors.required(controllerField);
    errors.messages(controllerField, controller, validateQualifiedName(controller));
    checkText("reportingInstance", event.reportingInstance, 128, true, errors);
    checkText("action", event.action, 128, true, errors);
    checkText("reason", event.reason, 128, true, errors);
    checkText("message", event.message, 1024, false, errors);
  }
  errors.messages("namespace", own, validateDns1123Subdomain(own));
}

function checkText(path: string, text = "", max: number, needed: boolean, errors: Errors): void {
  if (needed && !text) errors.required(path);
  if (text.length > max) errors.invalid(path, "", `can have at most ${max} characters`);
}

function checkSeries(event: StoredEvent, errors: Errors): void {
  if (!event.series) return;
  if ((event.series.count ?? 0) < 2) errors.invalid("series.count", "", "should be at least 2");
  if (!event.series.lastObservedTime) errors.required("series.lastObservedTime");
}

function checkNewStyle(event: StoredEvent, errors: Errors): void {
  checkSeries(event, errors);
  if (!event.eventTime) errors.required("eventTime");
  if (event.type !== "Normal" && event.type !== "Warning")
    errors.invalid("type", "", `has invalid value: ${event.type ?? ""}`);
  if (event.firstTimestamp) errors.invalid("firstTimestamp", "", "needs to be unset");
  if (event.lastTimestamp) errors.invalid("lastTimestamp", "", "needs to be unset");
  if (event.count) errors.invalid("count", "", "needs to be unset");
  if (event.source?.component || event.source?.host) errors.invalid("source", "", "needs to be unset");
}

const fixed = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "reason",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingController",
  "reportingInstance",
] as const;

/** Stored as core/v1 in both groups, so the fields have that group's names. */
export function events(group: string): Strategy {
  return {
    ...(group === "" && { validateName: () => [] }),
    validate: checking<StoredEvent>((event, errors) => {
      checkBoth(event, group, errors);
      if (group !== "") checkNewStyle(event, errors);
    }),
    validateUpdate: checkingUpdate<StoredEvent>((event, old, errors) => {
      checkBoth(event, group, errors);
      if (group === "") return;
      if (!deepEqual(event.series, old.series)) checkSeries(event, errors);
      for (const field of fixed) {
        const stored = field === "reportingController" ? "reportingComponent" : field;
        checkImmutable(field, event[stored], old[stored], errors);
      }
    }),
  };
}
