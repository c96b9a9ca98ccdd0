/** The scripted model's own door: tests of the model port need it without the rest of the kit. */
export type {
  AnswerRequest,
  ModelFault,
  ModelReply,
  ModelRule,
  ModelScript,
  RuleScript,
  ScriptedCall,
  ScriptedUsage,
  SeenRequest,
} from "./model-script.ts";
export { namedRule, namedRules, scriptArgs } from "./named-rules.ts";
export type { RecordedRequest } from "./request-log.ts";
export { parseScriptFile } from "./script-file.ts";
export type { ScriptedModel, ScriptedModelOptions } from "./start-scripted-model.ts";
export { startScriptedModel } from "./start-scripted-model.ts";
