/** The built-in kinds of Kubernetes, as values and types. */
export * from "@keelson/core/kinds";
