import { expect, it } from "vitest";
import { metricText } from "./metric-text.ts";

it("writes an operator's own metrics as Prometheus reads them", () => {
  const text = metricText([
    {
      name: "db_ready",
      help: "Who serves.",
      type: "gauge",
      samples: [
        { labels: { name: 'a"b' }, value: 1 },
        { labels: {}, value: 0.5 },
      ],
    },
  ]);
  expect(text).toBe(
    '# HELP db_ready Who serves.\n# TYPE db_ready gauge\ndb_ready{name="a\\"b"} 1\ndb_ready 0.5\n',
  );
});
