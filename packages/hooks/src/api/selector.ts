/** Selectors as they stand in definitions. */
import { z } from "zod";

const requirement = z.object({
  key: z.string(),
  operator: z.string().describe("In, NotIn, Exists or DoesNotExist."),
  values: z.array(z.string()).optional(),
});

/** A selector by labels. */
export const labelSelectorSchema = z.object({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z.array(requirement).optional(),
});

/** A selector by annotations. */
export const annotationSelectorSchema = z.object({
  matchAnnotations: z.record(z.string(), z.string()).optional(),
  matchExpressions: z.array(requirement).optional(),
});
