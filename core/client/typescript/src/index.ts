/**
 * The client of the REST API of SimpleValidations, for Node.js and browsers.
 *
 * @packageDocumentation
 */
export {
  type CallOptions, Client, type ClientOptions, type Health, type ListOptions, type Report, type RequestFilter, type RunFilter,
  type RunOptions, type StartRequest, type Started, type WaitOptions,
} from "./client.js";
export {
  CallError, DocumentError, RefusedError, UnexpectedAnswerError, UnknownOutcomeError, UnreachableError, keyOf,
} from "./errors.js";
export type { RunEvent } from "./events.js";
export type { ByteStream, Content, Document, OpenContent } from "./form.js";
export { type KeyStorage, keyFromStorage, newKey } from "./keys.js";
export { type Retries, defaultRetries } from "./retry.js";
export type { Attempt, Fetch } from "./send.js";
export type * from "./types.js";
