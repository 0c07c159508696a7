// Lists and watches: selectors, pages, resource versions, forms.
import configmapsList from "./configmaps-list-and-watch/configmaps-list.mjs";
import configmapsWatch from "./configmaps-list-and-watch/configmaps-watch.mjs";
import fieldsSelect from "./configmaps-list-and-watch/fields-select.mjs";

export default [...fieldsSelect, ...configmapsList, ...configmapsWatch];
