import { expect, test } from "vitest";
import { RuntimeError } from "../errors.ts";
import { LoopMeter, loopFamilies } from "./loop-meter.ts";
import { metricText } from "./metric-text.ts";

test("what a loop counts becomes counters and cumulative buckets", () => {
  const meter = new LoopMeter("cache", 4);
  for (const seconds of [0.001, 0.005, 0.2, 90]) {
    meter.added();
    meter.taken(seconds);
    meter.started();
    if (seconds === 90) meter.ended("error", seconds, new RuntimeError("ReconcileTimeout", "too long"));
    else meter.ended("success", seconds);
    meter.finished(seconds);
  }
  meter.started();
  const lines = metricText(loopFamilies([meter], [])).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      "# TYPE controller_runtime_reconcile_time_seconds histogram",
      'controller_runtime_reconcile_time_seconds_bucket{le="0.005",controller="cache"} 2',
      'controller_runtime_reconcile_time_seconds_bucket{le="0.2",controller="cache"} 3',
      'controller_runtime_reconcile_time_seconds_bucket{le="60",controller="cache"} 3',
      'controller_runtime_reconcile_time_seconds_bucket{le="+Inf",controller="cache"} 4',
      'controller_runtime_reconcile_time_seconds_count{controller="cache"} 4',
      'controller_runtime_reconcile_total{controller="cache",result="success"} 3',
      'controller_runtime_reconcile_total{controller="cache",result="error"} 1',
      'controller_runtime_reconcile_timeouts_total{controller="cache"} 1',
      'controller_runtime_reconcile_panics_total{controller="cache"} 0',
      'controller_runtime_active_workers{controller="cache"} 1',
      'workqueue_adds_total{name="cache",controller="cache"} 4',
    ]),
  );
});
