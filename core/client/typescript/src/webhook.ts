import { messageOf } from "./errors.js";
import { webCrypto } from "./keys.js";
import type { Event } from "./types.js";

/** How far the clocks of both sides may be apart, with the way between them. */
const toleranceMs = 5 * 60 * 1000;

/** The lengths of the shortest secret by Standard Webhooks and of a public key, in bytes. */
const minSecret = 24;
const publicKey = 32;

/** A request is no webhook of the service. The message names the part that is wrong. */
export class VerificationError extends Error {
  override readonly name = "VerificationError";
}

/** The headers of a request, as `fetch` or as `node:http` has them. */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

/**
 * Returns the event of a request, whose body must be as it came. The secrets are what the service has shown: a secret
 * `whsec_…` or a public key `whpk_…`. One of them has to fit, so while a secret is rotated both may be given. A request
 * that is not one of the service, or that is more than five minutes old, is a {@link VerificationError}; any other error
 * is that of the secrets. `now` is the time that the request's is compared to.
 *
 * An event may come more than once, and in another order than it happened: its id tells.
 */
export async function verifyWebhook(
  headers: WebhookHeaders, body: string | Uint8Array, secrets: string | readonly string[], now = new Date(),
): Promise<Event> {
  const given = typeof secrets === "string" ? [secrets] : secrets;
  if (given.length === 0) {
    throw new Error("there is no secret to verify webhooks with");
  }
  const keys = await Promise.all(given.map(keyOf));
  const id = header(headers, "webhook-id");
  const at = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  checkTime(at, now);
  const encoder = new TextEncoder();
  const raw = typeof body === "string" ? encoder.encode(body) : body;
  const prefix = encoder.encode(`${id}.${at}.`);
  const content = new Uint8Array(prefix.length + raw.length);
  content.set(prefix);
  content.set(raw, prefix.length);
  for (const signature of signatures.split(" ")) {
    for (const key of keys) {
      if (await fits(key, content, signature)) {
        return eventOf(raw);
      }
    }
  }
  throw new VerificationError("the header webhook-signature has no signature of this request by a given secret");
}

function header(headers: WebhookHeaders, name: string): string {
  const found = headers instanceof Headers
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (!found) {
    throw new VerificationError(`the header ${name} is missing`);
  }
  return String(found);
}

function checkTime(at: string, now: Date): void {
  if (!/^\d+$/.test(at)) {
    throw new VerificationError("the header webhook-timestamp is not a number of seconds");
  }
  const ageMs = now.getTime() - Number(at) * 1000;
  if (Math.abs(ageMs) > toleranceMs) {
    const when = ageMs > 0 ? "ago" : "ahead";
    throw new VerificationError(`the header webhook-timestamp is more than 5 minutes ${when}`);
  }
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const { subtle } = await webCrypto();
  const at = secret.indexOf("_");
  const kind = secret.slice(0, at);
  const key = bytes(secret.slice(at + 1));
  if (kind === "whsec" && key.length >= minSecret) {
    return subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  }
  if (kind === "whpk" && key.length === publicKey) {
    return subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
  }
  // It does not show the secret.
  throw new Error("a secret of webhooks is not whsec_ or whpk_ and a key in base64");
}

/** Compares in constant time, as the Web Cryptography API does. */
async function fits(key: CryptoKey, content: Uint8Array<ArrayBuffer>, signature: string): Promise<boolean> {
  const [version, text = ""] = signature.split(",");
  const { name } = key.algorithm;
  const known = name === "HMAC" ? "v1" : "v1a";
  return version === known && (await webCrypto()).subtle.verify(name, key, bytes(text), content);
}

/** Reads base64; what is none has no bytes. */
function bytes(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function eventOf(raw: Uint8Array): Event {
  let event: Partial<Event> | null;
  try {
    event = JSON.parse(new TextDecoder().decode(raw)) as Partial<Event> | null;
  } catch (error) {
    throw new VerificationError(`the body is not an event: ${messageOf(error)}`);
  }
  if (!event?.id || !event.type) {
    throw new VerificationError("the body is not an event: it has no id or no type");
  }
  return event as Event;
}
