/** What the daemon and the thread of screens say to each other. */
import type { TerminalSize } from "./terminal-backend.ts";

export type ScreenRequest =
  | ({ readonly kind: "open"; readonly id: string } & TerminalSize)
  | { readonly kind: "data"; readonly id: string; readonly bytes: Uint8Array }
  | ({ readonly kind: "resize"; readonly id: string } & TerminalSize)
  | { readonly kind: "snapshot"; readonly id: string; readonly turn: number }
  | { readonly kind: "close"; readonly id: string };

export type ScreenReply =
  | { readonly kind: "drawn"; readonly id: string; readonly bytes: number }
  | ({
      readonly kind: "snapshot";
      readonly id: string;
      readonly turn: number;
      readonly data: string;
    } & TerminalSize)
  | { readonly kind: "title"; readonly id: string; readonly title: string }
  | { readonly kind: "cwd"; readonly id: string; readonly cwd: string };
