/** Access reviews: what somebody, or the client itself, may do. */
import {
  CoreError,
  deepEqual,
  type FieldRequirement,
  type JsonObject,
  parseFieldSelector,
} from "@keelson/core";
import type { UserInfo } from "../contracts/authentication.ts";
import type { Attributes, Authorizer } from "../contracts/authorization.ts";
import { type FieldError, invalidField, requiredField } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, invalid } from "../contracts/status-error.ts";
import type { VirtualResource } from "../contracts/virtual-resource.ts";

const group = "authorization.k8s.io";

interface ReviewSpec {
  readonly user?: string;
  readonly groups?: string[];
  readonly uid?: string;
  readonly extra?: Record<string, string[]>;
  readonly resourceAttributes?: JsonObject;
  readonly nonResourceAttributes?: JsonObject;
}

export function accessReviews(authorizer: Authorizer): Record<string, VirtualResource> {
  const answer = async (object: ApiObject, user: UserInfo): Promise<ApiObject> => {
    const { decision, reason } = await authorizer.authorize(attributesFrom(specOf(object), user));
    return {
      ...object,
      status: {
        allowed: decision === "allow",
        ...(decision === "deny" && { denied: true }),
        ...(reason && { reason }),
      },
    };
  };
  return {
    [`${group}/subjectaccessreviews`]: {
      create(object) {
        const spec = specOf(object);
        refuse([...validateSubject(spec), ...validateEmptyMetadata(object, "must be empty")]);
        return answer(object, subjectOf(spec));
      },
    },
    [`${group}/selfsubjectaccessreviews`]: {
      create(object, { user }) {
        refuse([...validateSpec(specOf(object)), ...validateEmptyMetadata(object, "must be empty")]);
        return answer(object, user);
      },
    },
    [`${group}/localsubjectaccessreviews`]: {
      create(object, { namespace }) {
        const spec = specOf(object);
        const { namespace: own } = object.metadata;
        if (own && own !== namespace)
          throw badRequest(
            "the namespace of the provided object does not match the namespace sent on the request",
          );
        object.metadata.namespace = namespace;
        refuse(validateLocal(object, spec));
        return answer(object, subjectOf(spec));
      },
    },
    [`${group}/selfsubjectrulesreviews`]: {
      create(object, { user }) {
        const { namespace } = (object.spec ?? {}) as { namespace?: string };
        if (!namespace) throw badRequest("no namespace on request");
        const rules = authorizer.rulesFor?.(user, namespace);
        return {
          kind: "SelfSubjectRulesReview",
          apiVersion: `${group}/v1`,
          metadata: {},
          spec: {},
          status: {
            resourceRules: [...(rules?.resourceRules ?? [])],
            nonResourceRules: [...(rules?.nonResourceRules ?? [])],
            incomplete: rules?.incomplete ?? true,
            ...(rules?.evaluationError && { evaluationError: rules.evaluationError }),
          },
        } as unknown as ApiObject;
      },
    },
  };
}

function specOf(object: ApiObject): ReviewSpec {
  return (object.spec ?? {}) as ReviewSpec;
}

function subjectOf({ user = "", groups = [], uid, extra }: ReviewSpec): UserInfo {
  return { name: user, groups, ...(uid && { uid }), ...(extra && { extra }) };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function attributesFrom(
  { resourceAttributes, nonResourceAttributes }: ReviewSpec,
  user: UserInfo,
): Attributes {
  const empty = { user, group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };
  if (!resourceAttributes)
    return {
      ...empty,
      resourceRequest: false,
      verb: text(nonResourceAttributes?.verb),
      path: text(nonResourceAttributes?.path),
    };
  const { verb, group: apiGroup, version, resource, subresource, namespace, name } = resourceAttributes;
  return {
    user,
    resourceRequest: true,
    verb: text(verb),
    group: text(apiGroup),
    version: text(version) || "*",
    resource: text(resource),
    subresource: text(subresource),
    namespace: text(namespace),
    name: text(name),
    path: "",
    ...fieldSelectorOf(resourceAttributes),
  };
}

/** What cannot be read is left out: it would only narrow what is asked for. */
function fieldSelectorOf(attributes: JsonObject): Pick<Attributes, "fieldSelector"> {
  const { rawSelector, requirements = [] } = (attributes.fieldSelector ?? {}) as {
    rawSelector?: string;
    requirements?: { key?: string; operator?: string; values?: string[] }[];
  };
  if (rawSelector) {
    try {
      return { fieldSelector: parseFieldSelector(rawSelector) };
    } catch (error) {
      if (error instanceof CoreError) return {};
      throw error;
    }
  }
  const read = requirements.flatMap(({ key = "", operator, values = [] }): FieldRequirement[] => {
    const [value] = values;
    if (value === undefined || values.length > 1) return [];
    if (operator === "In") return [{ field: key, operator: "=", value }];
    return operator === "NotIn" ? [{ field: key, operator: "!=", value }] : [];
  });
  return read.length > 0 ? { fieldSelector: { requirements: read } } : {};
}

function refuse(errors: FieldError[]): void {
  if (errors.length > 0) throw invalid({ group, kind: "" }, "", errors);
}

function validateSpec(spec: ReviewSpec): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes && nonResourceAttributes)
    errors.push(
      invalidField(
        "spec.nonResourceAttributes",
        nonResourceAttributes,
        "cannot be specified in combination with resourceAttributes",
      ),
    );
  if (!resourceAttributes && !nonResourceAttributes)
    errors.push(
      invalidField(
        "spec.resourceAttributes",
        null,
        "exactly one of nonResourceAttributes or resourceAttributes must be specified",
      ),
    );
  return errors;
}

function validateSelectors({ resourceAttributes }: ReviewSpec): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of ["fieldSelector", "labelSelector"] as const) {
    const selector = resourceAttributes?.[name] as JsonObject | undefined;
    if (!selector) continue;
    const path = `spec.resourceAttributes.${name}`;
    const requirements = (selector.requirements as JsonObject[] | undefined) ?? [];
    if (selector.rawSelector && requirements.length > 0)
      errors.push(
        invalidField(
          `${path}.rawSelector`,
          selector.rawSelector,
          "may not specified at the same time as requirements",
        ),
      );
    if (!selector.rawSelector && requirements.length === 0)
      errors.push(
        requiredField(
          `${path}.requirements`,
          `when ${path} is specified, requirements or rawSelector is required`,
        ),
      );
  }
  return errors;
}

function validateSubject(spec: ReviewSpec): FieldError[] {
  const errors = validateSpec(spec);
  if (!spec.user && !spec.groups?.length)
    errors.push(invalidField("spec.user", "", "at least one of user or group must be specified"));
  return [...errors, ...validateSelectors(spec)];
}

function validateEmptyMetadata(object: ApiObject, detail: string, ...allowed: string[]): FieldError[] {
  const { managedFields: _, ...meta } = object.metadata;
  for (const name of allowed) delete (meta as JsonObject)[name];
  return deepEqual(meta, {}) ? [] : [invalidField("metadata", object.metadata, detail)];
}

function validateLocal(object: ApiObject, spec: ReviewSpec): FieldError[] {
  const errors = [
    ...validateSubject(spec),
    ...validateEmptyMetadata(object, "must be empty except for namespace", "namespace"),
  ];
  const within = text(spec.resourceAttributes?.namespace);
  if (spec.resourceAttributes && within !== text(object.metadata.namespace))
    errors.push(invalidField("spec.resourceAttributes.namespace", within, "must match metadata.namespace"));
  if (spec.nonResourceAttributes)
    errors.push(
      invalidField(
        "spec.nonResourceAttributes",
        spec.nonResourceAttributes,
        "disallowed on this kind of request",
      ),
    );
  return errors;
}
