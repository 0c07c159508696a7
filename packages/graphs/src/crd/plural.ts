/** The plural of a kind in lower case, as kro makes it: clusters hold objects under these names. */

/** Words that follow no rule, also at the end of others: `webchild` becomes `webchildren`. */
const irregular: readonly (readonly [singular: string, plural: string])[] = [
  ["person", "people"],
  ["child", "children"],
  ["woman", "women"],
  ["man", "men"],
  ["mouse", "mice"],
  ["goose", "geese"],
  ["foot", "feet"],
  ["tooth", "teeth"],
  ["index", "indices"],
  ["vertex", "vertices"],
  ["quiz", "quizzes"],
  ["crisis", "crises"],
  ["alias", "aliases"],
  ["base", "bases"],
  ["movie", "movies"],
  ["medium", "media"],
];

const unchanging = /(?:data|media|series|sheep|fish|equipment|information|news)$/;

/** The first that matches counts. */
const rules: readonly (readonly [ending: RegExp, replacement: string])[] = [
  [/(eaf|oaf)$/, "XVES"],
  [/(lf|rf|fe)$/, "XVES"],
  [/([aeo]y|[^q]uy)$/, "$1s"],
  [/y$/, "ies"],
  [/trix$/, "trices"],
  [/(ia|me|kine|re|gno|op|y)sis$/, "$1ses"],
  [/us$/, "uses"],
  [/(ch|sh|ss|tz|zz|x)$/, "$1es"],
  [/([ei])z$/, "$1zzes"],
  [/(io|ano|lo|to|oo)$/, "$1s"],
  [/o$/, "oes"],
  [/ium$/, "ia"],
  [/([ac])tum$/, "$1ta"],
  [/s$/, "s"],
];

/** @param kind in any case. */
export function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  if (unchanging.test(word)) return word;
  const known = irregular.find(([singular]) => word.endsWith(singular));
  if (known) return word.slice(0, word.length - known[0].length) + known[1];
  const rule = rules.find(([ending]) => ending.test(word));
  if (!rule) return `${word}s`;
  if (rule[1] === "XVES") return word.replace(/fe?$/, "ves");
  return word.replace(rule[0], rule[1]);
}
