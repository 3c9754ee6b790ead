import { hex, webCrypto } from "./keys.js";

/** A call of an external validator, which was answered with 202. */
export interface SignedCall {
  /** The header `Sv-Receipt` of the call. */
  receipt: string;
  /** The header `Sv-Run` of the call. */
  run: string;
  /** The secret of the validator. */
  secret: string;
}

/**
 * Signs the result of a call.
 *
 * @internal
 */
export async function signature(call: SignedCall, seconds: number, content: string): Promise<string> {
  const { subtle } = await webCrypto();
  const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
  const digest = hex(new Uint8Array(await subtle.digest("SHA-256", bytes(content))));
  const key = await subtle.importKey("raw", bytes(call.secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signed = bytes(`v2.callback.${seconds}.${call.receipt}.${call.run}.${digest}`);
  return `t=${seconds},v2=${hex(new Uint8Array(await subtle.sign("HMAC", key, signed)))}`;
}
