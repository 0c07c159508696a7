// Builders that the cases of this folder share.
import { crd, crdPath, group, objectSchema, widgets } from "../_lib.mjs";

export const withoutHashes = {
  pick: (b) => ({
    ...b,
    resources: b.resources
      ?.map(({ storageVersionHash, ...r }) => r)
      .sort((x, y) => (x.name < y.name ? -1 : 1)),
  }),
};

export const widgetPath = `${widgets}/w`;
export const definitionPath = `${crdPath}/widgets.${group}`;

export const specSchema = (props, over) => objectSchema({ spec: objectSchema(props, over) });

export const validations = (rules, extra = {}) => ({
  "x-kubernetes-validations": rules.map((r) => (typeof r === "string" ? { rule: r } : r)),
  ...extra,
});

export const definition = (over, ver) =>
  crd(objectSchema({ spec: { type: "object", properties: { a: { type: "integer" } } } }), over, ver);
