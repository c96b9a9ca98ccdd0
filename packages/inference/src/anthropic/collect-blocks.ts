/**
 * Puts the blocks of a streamed message together, each in its place: the provider wants reasoning back unchanged and
 * exactly where it stood among texts and calls.
 *
 * Arguments are each character as received, nothing parsed. A call without any is given the input that it began with,
 * which is how a call with no arguments comes.
 */
import type { JsonObject } from "@sand/protocol";
import { createTextJoiner, makeSafeText } from "../safe-text.ts";
import type { BlockDelta, BlockStart } from "./read-event.ts";
import type { ReasoningBlock } from "./reasoning-part.ts";

export interface CollectedCall {
  readonly providerCallId: string | null;
  readonly name: string;
  readonly argsText: string;
}

export interface BlockTexts {
  readonly text: string;
  readonly reasoning: string;
}

export interface BlockCollector {
  start(index: number, block: BlockStart): BlockTexts;
  /** undefined for a piece of a call that never began */
  add(index: number, delta: BlockDelta): BlockTexts | undefined;
  /** what was held back, when a block or the stream ends */
  flush(): BlockTexts;
  readonly callCount: number;
  calls(): readonly CollectedCall[];
  /** the whole message's shape, in order */
  layout(): readonly ReasoningBlock[];
}

type OpenBlock =
  | { readonly type: "text"; chars: number }
  | { readonly type: "thinking"; readonly texts: string[]; signature: string }
  | { readonly type: "redacted"; readonly data: string }
  | {
      readonly type: "call";
      readonly id: string | null;
      readonly name: string;
      readonly input: JsonObject;
      readonly args: string[];
    };

export function createBlockCollector(): BlockCollector {
  const blocks: OpenBlock[] = [];
  const byIndex = new Map<number, OpenBlock>();
  const joinText = createTextJoiner();
  const joinReasoning = createTextJoiner();
  let newestText: Extract<OpenBlock, { type: "text" }> | undefined;

  function open<Block extends OpenBlock>(index: number, block: Block): Block {
    blocks.push(block);
    byIndex.set(index, block);
    return block;
  }

  function shown(text: string, reasoning: string): BlockTexts {
    if (newestText !== undefined) newestText.chars += text.length;
    return { text, reasoning };
  }

  function start(index: number, block: BlockStart): BlockTexts {
    const before = flush();
    newestText = undefined;
    switch (block.type) {
      case "text":
        newestText = open(index, { type: "text", chars: 0 });
        return joined(before, shown(joinText.push(block.text), ""));
      case "thinking":
        open(index, { type: "thinking", texts: [block.thinking], signature: block.signature });
        return joined(before, { text: "", reasoning: joinReasoning.push(block.thinking) });
      case "redacted":
        open(index, block);
        return before;
      case "call":
        open(index, { ...block, args: [] });
        return before;
    }
  }

  function add(index: number, delta: BlockDelta): BlockTexts | undefined {
    const block = byIndex.get(index);
    switch (delta.type) {
      case "text":
        if (block?.type === "text") newestText = block;
        else newestText = open(index, { type: "text", chars: 0 });
        return shown(joinText.push(delta.text), "");
      case "thinking":
        if (block?.type === "thinking") block.texts.push(delta.thinking);
        return { text: "", reasoning: joinReasoning.push(delta.thinking) };
      case "signature":
        if (block?.type === "thinking") block.signature += delta.signature;
        return { text: "", reasoning: "" };
      case "args":
        if (block?.type !== "call") return undefined;
        block.args.push(delta.text);
        return { text: "", reasoning: "" };
    }
  }

  function flush(): BlockTexts {
    return shown(joinText.flush(), joinReasoning.flush());
  }

  return {
    start,
    add,
    flush,
    get callCount() {
      return blocks.filter((block) => block.type === "call").length;
    },
    calls: () => blocks.flatMap((block) => (block.type === "call" ? [callOf(block)] : [])),
    layout: () => blocks.flatMap(layoutOf),
  };
}

function joined(one: BlockTexts, other: BlockTexts): BlockTexts {
  return { text: one.text + other.text, reasoning: one.reasoning + other.reasoning };
}

function callOf(block: Extract<OpenBlock, { type: "call" }>): CollectedCall {
  const received = block.args.join("");
  const argsText = received === "" ? JSON.stringify(block.input) : received;
  return { providerCallId: block.id, name: block.name, argsText: argsText.toWellFormed() };
}

function layoutOf(block: OpenBlock): readonly ReasoningBlock[] {
  switch (block.type) {
    case "text":
      return block.chars === 0 ? [] : [{ type: "text", chars: block.chars }];
    case "call":
      return [{ type: "call" }];
    case "redacted":
      return [{ type: "redacted_thinking", data: makeSafeText(block.data) }];
    case "thinking": {
      // Without its signature a block can't go back: the provider had not finished it.
      if (block.signature === "") return [];
      const thinking = makeSafeText(block.texts.join(""));
      return [{ type: "thinking", thinking, signature: makeSafeText(block.signature) }];
    }
  }
}
