/** How a controller can begin. */
export const templates = ["compose", "reconcile", "database"] as const;

export type Template = (typeof templates)[number];
