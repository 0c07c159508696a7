import { expect, test } from "vitest";
import { sizeOfNewClaim, sizeProblem } from "./claims.ts";

const spec = (size: string) => ({ storage: { size } });
const claims = (...sizes: string[]) => sizes.map((requested) => ({ requested, deleting: false }));

test("a size below that of every volume is refused, and no new volume has it", () => {
  expect(sizeProblem(spec("1Gi"), claims("2Gi", "3Gi"))).toContain("set spec.storage.size to 2Gi,");
  expect(sizeOfNewClaim(spec("1Gi"), claims("2Gi", "3Gi"))).toBe("2Gi");
});

test("a larger size, the same in other words, and one that some volumes were refused are no problem", () => {
  expect(sizeProblem(spec("3Gi"), claims("2Gi"))).toBeUndefined();
  expect(sizeProblem(spec("1024Mi"), claims("1Gi"))).toBeUndefined();
  expect(sizeProblem(spec("2Gi"), claims("2Gi", "3Gi"))).toBeUndefined();
  expect(sizeProblem(spec("1Gi"), [])).toBeUndefined();
  expect(sizeProblem(spec("1Gi"), [{ requested: "2Gi", deleting: true }])).toBeUndefined();
  expect(sizeOfNewClaim(spec("3Gi"), claims("2Gi"))).toBe("3Gi");
});
