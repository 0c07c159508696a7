import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  everything,
  formatFieldSelector,
  formatLabelSelector,
  type LabelRequirement,
  labelRequirement,
  labelSelectorFrom,
  labelSelectorFromLabels,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  requiredFieldValue,
  requiredLabelValue,
} from "./selector.ts";

const matches = (selector: string, labels: Record<string, string>) =>
  matchesLabels(parseLabelSelector(selector), labels);

describe("label selectors as text", () => {
  test("all forms parse, and print by key", () => {
    const selector = parseLabelSelector("c!=d, a = b,e in (g,f),!h,i,j notin (), k>3,l < 4,m==n");
    expect(formatLabelSelector(selector)).toBe("a=b,c!=d,e in (f,g),!h,i,j notin (),k>3,l<4,m==n");
  });

  test("in and notin are operators only where one is due", () => {
    expect(formatLabelSelector(parseLabelSelector("in in (notin,in)"))).toBe("in in (in,notin)");
    expect(matches("in=notin", { in: "notin" })).toBe(true);
  });

  test("an empty value is a value", () => {
    expect(matches("a=", { a: "" })).toBe(true);
    expect(matches("a=", {})).toBe(false);
    expect(matches("a in (,b)", { a: "" })).toBe(true);
    expect(matches("a in ()", { a: "" })).toBe(true);
  });

  test("the negative operators match what lacks the key", () => {
    expect(matches("a!=b", {})).toBe(true);
    expect(matches("a notin (b)", {})).toBe(true);
    expect(matches("!a", { a: "" })).toBe(false);
    expect(matches("a", { a: "" })).toBe(true);
  });

  test("greater and less compare whole numbers of 64 bits", () => {
    expect(matches("a>9007199254740993", { a: "9007199254740994" })).toBe(true);
    expect(matches("a<5", { a: "-7" })).toBe(true);
    expect(matches("a>5", { a: "six" })).toBe(false);
    expect(matches("a>5", {})).toBe(false);
  });

  test("a label named like an inherited property is not there", () => {
    expect(matches("constructor", {})).toBe(false);
  });

  test("no requirement matches everything", () => {
    expect(matches("", { a: "b" })).toBe(true);
    expect(matchesLabels(everything, undefined)).toBe(true);
  });

  const nameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const valueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

  // The first four answers were recorded from a real API server.
  test.each([
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a=!", "unable to parse requirement: found '!', expected: identifier"],
    ["-a", `unable to parse requirement: <nil>: Invalid value: "-a": ${nameRule}`],
    ["a=-b", `unable to parse requirement: values[0][a]: Invalid value: "-b": ${valueRule}`],
    [",a", "found ',', expected: !, identifier, or 'end of string'"],
    ["a,", "found '', expected: identifier after ','"],
    ["!a b", "found 'b', expected: ',' or 'end of string'"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    [
      "a>b",
      "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ])("%s is refused in the server's words", (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(
      expect.objectContaining({ code: "InvalidSelector", message }),
    );
  });

  test("what is printed parses to the same selector", () => {
    const word = fc.stringMatching(/^[a-z0-9]([-a-z0-9_.]{0,5}[a-z0-9])?$/);
    const value = fc.oneof(word, fc.constant(""));
    const requirement = fc.oneof(
      fc.tuple(word, fc.constantFrom("=", "==", "!="), value).map(([k, o, v]) => labelRequirement(k, o, [v])),
      fc
        .tuple(word, fc.constantFrom("in", "notin"), fc.uniqueArray(value, { minLength: 1, maxLength: 4 }))
        .map(([k, o, v]) => labelRequirement(k, o, v.sort())),
      fc.tuple(word, fc.constantFrom("exists", "!")).map(([k, o]) => labelRequirement(k, o, [])),
      fc
        .tuple(word, fc.constantFrom("gt", "lt"), fc.nat())
        .map(([k, o, n]) => labelRequirement(k, o, [String(n)])),
    ) as fc.Arbitrary<LabelRequirement>;
    fc.assert(
      fc.property(
        fc.uniqueArray(requirement, { selector: ({ key }) => key, maxLength: 5 }),
        (requirements) => {
          const selector = parseLabelSelector(formatLabelSelector({ requirements }));
          expect(formatLabelSelector(parseLabelSelector(formatLabelSelector(selector)))).toBe(
            formatLabelSelector(selector),
          );
          expect(new Set(selector.requirements.map(({ key, operator }) => `${key} ${operator}`))).toEqual(
            new Set(requirements.map(({ key, operator }) => `${key} ${operator}`)),
          );
        },
      ),
    );
  });
});

describe("label selectors in objects", () => {
  test("absent selects nothing, empty selects everything", () => {
    expect(matchesLabels(labelSelectorFrom(undefined), { a: "b" })).toBe(false);
    expect(matchesLabels(labelSelectorFrom(null), {})).toBe(false);
    expect(matchesLabels(labelSelectorFrom({}), { a: "b" })).toBe(true);
  });

  test("labels and expressions must all hold", () => {
    const selector = labelSelectorFrom({
      matchLabels: { app: "x" },
      matchExpressions: [
        { key: "tier", operator: "In", values: ["a", "b"] },
        { key: "old", operator: "DoesNotExist" },
      ],
    });
    expect(formatLabelSelector(selector)).toBe("app=x,!old,tier in (a,b)");
    expect(matchesLabels(selector, { app: "x", tier: "b" })).toBe(true);
    expect(matchesLabels(selector, { app: "x", tier: "b", old: "" })).toBe(false);
  });

  test("an unknown operator and a missing value are refused in the server's words", () => {
    expect(() => labelSelectorFrom({ matchExpressions: [{ key: "a", operator: "Foo" }] })).toThrow(
      '"Foo" is not a valid label selector operator',
    );
    expect(() => labelSelectorFrom({ matchExpressions: [{ key: "a", operator: "In" }] })).toThrow(
      "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    );
  });

  test("a selector of labels demands each of them", () => {
    const selector = labelSelectorFromLabels({ b: "2", a: "1" });
    expect(formatLabelSelector(selector)).toBe("a=1,b=2");
    expect(requiredLabelValue(selector, "a")).toBe("1");
    expect(requiredLabelValue(parseLabelSelector("a!=1"), "a")).toBeUndefined();
  });
});

describe("field selectors", () => {
  test("terms are sorted, == is =, and values may hold escaped characters", () => {
    const selector = parseFieldSelector("spec.x==a\\,b\\=c\\\\d,metadata.name!=y");
    expect(selector.requirements).toEqual([
      { field: "metadata.name", operator: "!=", value: "y" },
      { field: "spec.x", operator: "=", value: "a,b=c\\d" },
    ]);
    expect(formatFieldSelector(selector)).toBe("metadata.name!=y,spec.x=a\\,b\\=c\\\\d");
  });

  test("an absent field reads as the empty string", () => {
    const match = (text: string, fields: Record<string, string>) =>
      matchesFields(parseFieldSelector(text), (field) => fields[field]);
    expect(match("a=", {})).toBe(true);
    expect(match("a!=x", {})).toBe(true);
    expect(match("a=x,b!=y", { a: "x", b: "z" })).toBe(true);
    expect(match("a=x,b!=y", { a: "x", b: "y" })).toBe(false);
  });

  test("the value demanded of a field is found", () => {
    expect(requiredFieldValue(parseFieldSelector("metadata.name=x"), "metadata.name")).toBe("x");
    expect(requiredFieldValue(parseFieldSelector("metadata.name!=x"), "metadata.name")).toBeUndefined();
  });

  test.each([
    ["a", "invalid selector: 'a'; can't understand 'a'"],
    ["spec.nodeName=a\\x", "invalid field selector: invalid escape sequence: \\x"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
    ["a=b\\", "invalid field selector: invalid escape sequence: \\"],
  ])("%s is refused in the server's words", (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(
      expect.objectContaining({ code: "InvalidSelector", message }),
    );
  });

  test("what is printed parses to the same selector", () => {
    const requirement = fc.record({
      field: fc.stringMatching(/^[a-z][a-z.]{0,8}$/),
      operator: fc.constantFrom("=" as const, "!=" as const),
      value: fc.string({ maxLength: 6 }),
    });
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 4 }), (requirements) => {
        const printed = formatFieldSelector(parseFieldSelector(formatFieldSelector({ requirements })));
        expect(parseFieldSelector(printed).requirements).toEqual(
          expect.arrayContaining(requirements.map((each) => expect.objectContaining(each))),
        );
      }),
    );
  });
});
