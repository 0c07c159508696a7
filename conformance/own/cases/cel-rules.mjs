// Rules in CEL: what compiles, what is refused and in which words, what they cost.
import rulesCompile from "./cel-rules/rules-compile.mjs";
import rulesEvaluate from "./cel-rules/rules-evaluate.mjs";

export default [...rulesCompile, ...rulesEvaluate];
