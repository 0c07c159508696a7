/** Scalars that JSON writes in more than one way. */

/** `100m`, `1.5Gi` or a plain number; the server answers with a string in canonical form. */
export type Quantity = string | number;

/** A number, or a name or percentage. */
export type IntOrString = number | string;
