/**
 * The client of the REST API of SimpleValidations, for Node.js and browsers.
 *
 * @packageDocumentation
 */
export type { CallOptions, KeyedOptions, ListOptions, Page, Pages, Started } from "./caller.js";
export {
  Client, type ClientOptions, type Health, type Report, type StartAndWaitOptions, type StartRequest, type WaitOptions,
} from "./client.js";
export {
  CallError, DocumentError, RefusedError, UnexpectedAnswerError, UnknownOutcomeError, UnreachableError, keyOf,
} from "./errors.js";
export type { RunEvent } from "./events.js";
export type { ByteStream, Content, Document, OpenContent } from "./form.js";
export { type KeyStorage, keyFromStorage, newKey } from "./keys.js";
export {
  type AuditRecordFilter, type KeyFilter, type RequestFilter, type RunFilter, type TokenFilter, version,
} from "./operations.js";
export { type Retries, defaultRetries } from "./retry.js";
export type { Answer, Attempt, Fetch, Method } from "./send.js";
export type { SignedCall } from "./sign.js";
export type * from "./types.js";
export { VerificationError, type WebhookHeaders, verifyWebhook } from "./webhook.js";
