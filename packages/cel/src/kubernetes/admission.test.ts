import { describe, expect, test } from "vitest";
import { types } from "../values/types.ts";
import { AdmissionCompiler } from "./admission.ts";
import { applyConfigurationType, jsonPatchListType } from "./admission-types.ts";
import { toJson } from "./dynamic-json.ts";
import { type AuthorizerQuestion, authorizerValue, resourceAuthorizerValue } from "./library/authorizer.ts";

const request = {
  kind: { group: "apps", version: "v1", kind: "Deployment" },
  resource: { group: "apps", version: "v1", resource: "deployments" },
  name: "web",
  namespace: "shop",
  operation: "UPDATE",
  userInfo: { username: "ada", groups: ["dev"] },
};
const object = { metadata: { name: "web", labels: { tier: "front" } }, spec: { replicas: 3 } };
const oldObject = { ...object, spec: { replicas: 5 } };

describe("admission expressions", () => {
  test("read the objects, the request, the parameters and the namespace", () => {
    const compiler = new AdmissionCompiler({ hasParams: true });
    const expressions = [
      "object.spec.replicas < oldObject.spec.replicas",
      "request.userInfo.groups.exists(g, g == 'dev') && request.operation == 'UPDATE'",
      "object.spec.replicas <= params.max",
      "namespaceObject.metadata.labels['env'] == 'test'",
      "!has(object.spec.paused)",
    ].map((source) => compiler.compile(source, [types.bool]));
    const { results } = compiler.evaluate(expressions, {
      object,
      oldObject,
      request,
      params: { max: 4 },
      namespaceObject: { metadata: { name: "shop", labels: { env: "test" } } },
    });
    expect(results).toEqual(expressions.map(() => ({ value: true })));
  });

  test("see null where the request has no object", () => {
    const compiler = new AdmissionCompiler();
    const created = compiler.compile("oldObject == null", [types.bool]);
    expect(compiler.evaluate([created], { object, request }).results).toEqual([{ value: true }]);
  });

  test("must be of the right type and use what is declared", () => {
    const compiler = new AdmissionCompiler();
    expect(compiler.compile("1", [types.bool]).error).toBe("must evaluate to bool but got int");
    expect(compiler.compile("1", [types.string, types.null]).error).toBe(
      "must evaluate to one of [string null] but got int",
    );
    expect(compiler.compile("params.x").error).toContain("undeclared reference to 'params'");
    expect(compiler.compile("request.uid").error).toContain("undefined field 'uid'");
  });

  test("report what went wrong while running", () => {
    const compiler = new AdmissionCompiler();
    const broken = compiler.compile("object.spec.nothing == 1");
    expect(compiler.evaluate([broken], { object, request }).results).toEqual([
      { error: "expression 'object.spec.nothing == 1' resulted in error: no such key: nothing" },
    ]);
  });

  test("share a budget", () => {
    const compiler = new AdmissionCompiler();
    const costly = compiler.compile("[1, 2, 3].all(x, x > 0)");
    expect(compiler.evaluate([costly, costly], { object, request }, 20)).toEqual({
      results: [],
      remainingBudget: -1,
      error: "validation failed due to running out of cost budget, no further validation rules will be run",
    });
  });
});

describe("variables", () => {
  test("are typed, see those before them, and are computed once and only when read", () => {
    const compiler = new AdmissionCompiler({
      variables: [
        { name: "replicas", expression: "int(object.spec.replicas)" },
        { name: "double", expression: "variables.replicas * 2" },
        { name: "never", expression: "1 / 0" },
      ],
    });
    expect(compiler.variableErrors).toEqual([]);
    const twice = compiler.compile("variables.double == 6 && variables.double == variables.replicas + 3");
    const wrong = compiler.compile("variables.replicas == 'x'");
    expect(wrong.error).toContain("found no matching overload for '_==_' applied to '(int, string)'");
    const once = compiler.evaluate([twice], { object, request });
    expect(once.results).toEqual([{ value: true }]);
    expect(10_000_000 - once.remainingBudget).toBeLessThan(20);
  });

  test("that fail fail the expression that reads them", () => {
    const compiler = new AdmissionCompiler({
      variables: [
        { name: "broken", expression: "object.nothing" },
        { name: "bad", expression: "1 +" },
      ],
    });
    expect(compiler.variableErrors.map(({ name }) => name)).toEqual(["bad"]);
    const expressions = ["variables.broken == 1", "variables.bad == 1"].map((source) =>
      compiler.compile(source),
    );
    const [broken, bad] = compiler.evaluate(expressions, { object, request }).results;
    expect(broken?.error).toContain('composited variable "broken" fails to evaluate: no such key: nothing');
    expect(bad?.error).toContain('composited variable "bad" fails to compile: compilation failed: ERROR:');
  });
});

test("the authorizer is asked in the user's name or in a service account's", () => {
  const asked: AuthorizerQuestion[] = [];
  const authorize = (question: AuthorizerQuestion) => {
    asked.push(question);
    return { allowed: question.verb === "get", reason: "because" };
  };
  const user = { name: "ada", groups: ["dev"] };
  const compiler = new AdmissionCompiler({ hasAuthorizer: true });
  const expressions = [
    "authorizer.group('').resource('pods').namespace('shop').name('p').subresource('log').check('get').allowed()",
    "authorizer.path('/healthz').check('post').allowed()",
    "authorizer.serviceAccount('shop', 'web').group('apps').resource('deployments').labelSelector('a=b').check('get').reason() == 'because'",
    "authorizer.requestResource.check('get').allowed()",
    "authorizer.path('').check('get').allowed()",
  ].map((source) => compiler.compile(source, [types.bool]));
  const { results } = compiler.evaluate(expressions, {
    object,
    request,
    authorizer: authorizerValue(user, authorize),
    requestResource: resourceAuthorizerValue(user, authorize, {
      group: "apps",
      resource: "deployments",
      subresource: "",
      namespace: "shop",
      name: "web",
    }),
  });
  expect(results.map((result) => result.value ?? result.error)).toEqual([
    true,
    false,
    true,
    true,
    "expression 'authorizer.path('').check('get').allowed()' resulted in error: path must not be empty",
  ]);
  expect(asked[0]).toMatchObject({ user, verb: "get", resource: "pods", subresource: "log", name: "p" });
  expect(asked[1]).toEqual({ user, verb: "post", path: "/healthz" });
  expect(asked[2]).toMatchObject({ user: { name: "system:serviceaccount:shop:web" }, labelSelector: "a=b" });
});

test("mutations build objects and patches", () => {
  const compiler = new AdmissionCompiler({ hasPatchTypes: true });
  const apply = compiler.compile("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}", [
    applyConfigurationType,
  ]);
  const patch = compiler.compile(
    "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b~c'), value: {'x': 1}}]",
    [jsonPatchListType],
  );
  expect([apply.error, patch.error]).toEqual([undefined, undefined]);
  const { results } = compiler.evaluate([apply, patch], { object, request });
  expect(results.map((result) => toJson(result.value ?? null))).toEqual([
    { spec: { replicas: 4 } },
    [{ op: "add", path: "/metadata/labels/a~1b~0c", value: { x: 1 } }],
  ]);
});
