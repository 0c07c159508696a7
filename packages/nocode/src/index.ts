/** Operators without code as one program: it runs graphs, hooks and plans. */
export { definitionHosts, definitionKinds, type Family, families, parseFamilies } from "./families.ts";
