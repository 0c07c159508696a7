// Subresources of built-in kinds, and the tables of all of them.
import podsSubresources from "./subresources/pods-subresources.mjs";
import scaleAndStatusUpdate from "./subresources/scale-and-status-update.mjs";
import tablesGet from "./subresources/tables-get.mjs";

export default [...podsSubresources, ...scaleAndStatusUpdate, ...tablesGet];
