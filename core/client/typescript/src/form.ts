import { hex, randomBytes } from "./keys.js";

/** A document that is opened anew for each attempt, and has to have the same bytes each time. */
export type OpenContent = () => ByteStream | Promise<ByteStream>;

/** A stream of bytes: that of a `fetch`, or one of Node. */
export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A document: a text, bytes, a Blob or a File of a browser, or a function that opens a stream. */
export type Content = string | Uint8Array | ArrayBuffer | Blob | OpenContent;

/** A document with what is said about it. */
export interface Document {
  content: Content;
  filename?: string;
  mediaType?: string;
  name?: string;
  shortDescription?: string;
  metadata?: Record<string, unknown>;
}

/**
 * What a request carries, in a form that can be sent several times.
 *
 * @internal
 */
export interface Body {
  contentType: string;
  open(): Promise<Sending>;
}

/**
 * The body of one attempt.
 *
 * @internal
 */
export interface Sending {
  data: Blob | ReadableStream<Uint8Array>;
  /** Why the document could not be read, or null if it could. It is asked only when the attempt has failed. */
  failed(): Promise<Unreadable | null>;
}

/** @internal */
export interface Unreadable {
  reason: unknown;
}

/**
 * A body that is in memory.
 *
 * @internal
 */
export function textBody(contentType: string, text: string | Uint8Array): Body {
  const data = blobOf(text);
  return { contentType, open: async () => ({ data, failed: async () => null }) };
}

/**
 * Makes the body of a start. It is a form, as a raw JSON document could be taken for an envelope. The boundary is made
 * once, and bytes are copied, so that all attempts send the same.
 *
 * @internal
 */
export async function formBody(document: Document): Promise<Body> {
  const boundary = `sv-${hex(await randomBytes(24))}`;
  const before = fields(document)
    .map(([name, value]) => part(boundary, `name="${name}"`) + `\r\n${value}\r\n`)
    .join("") + filePart(boundary, document) + "\r\n";
  const after = `\r\n--${boundary}--\r\n`;
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const { content } = document;
  if (typeof content === "function") {
    return { contentType, open: () => openStream(before, content, after) };
  }
  if (!isData(content)) {
    throw new TypeError("the document must be a string, a Uint8Array, a Blob, or a function that opens a stream: " +
      "a stream by itself can be read only once, so it could not be sent again");
  }
  const data = blobOf(before, content, after);
  const failed = content instanceof Blob ? () => probe(content) : async () => null;
  return { contentType, open: async () => ({ data, failed }) };
}

function isData(content: unknown): content is BlobPart {
  return typeof content === "string" || content instanceof Blob || content instanceof ArrayBuffer ||
    ArrayBuffer.isView(content);
}

/** The cast is for the types of ES2024, which know memory that is shared. Blob copies what it gets. */
function blobOf(...parts: unknown[]): Blob {
  return new Blob(parts as BlobPart[]);
}

/** Reads from a Blob: one of a file that was changed or removed cannot be read, and fetch does not say so everywhere. */
async function probe(content: Blob): Promise<Unreadable | null> {
  try {
    await content.slice(0, 1).arrayBuffer();
    return null;
  } catch (reason) {
    return { reason };
  }
}

/** Puts a document that is read as it comes between the other parts of the form. */
async function openStream(before: string, open: OpenContent, after: string): Promise<Sending> {
  const chunks = chunksOf(await open());
  let unreadable: Unreadable | null = null;
  async function* all(): AsyncGenerator<Uint8Array, void, undefined> {
    yield encode(before);
    try {
      yield* chunks;
    } catch (reason) {
      unreadable = { reason };
      throw reason;
    }
    yield encode(after);
  }
  const source = all();
  const data = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) {
        controller.close();
      } else {
        controller.enqueue(value);
      }
    },
    async cancel() {
      await source.return();
    },
  });
  return { data, failed: async () => unreadable };
}

async function* chunksOf(stream: ByteStream): AsyncGenerator<Uint8Array, void, undefined> {
  if (!("getReader" in stream)) {
    for await (const chunk of stream) {
      yield bytesOf(chunk);
    }
    return;
  }
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      yield bytesOf(read.value);
    }
  } finally {
    await reader.cancel().catch(() => undefined); // It was only read.
  }
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) {
    return chunk;
  }
  if (typeof chunk === "string") {
    return encode(chunk);
  }
  throw new TypeError("the stream of the document has something in it that is not bytes");
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function fields(document: Document): [string, string][] {
  const metadata = document.metadata === undefined ? "" : JSON.stringify(document.metadata);
  const all: [string, string | undefined][] = [
    ["name", document.name],
    ["short_description", document.shortDescription],
    ["metadata", metadata === "{}" ? "" : metadata],
  ];
  return all.filter((field): field is [string, string] => field[1] !== undefined && field[1] !== "");
}

function filePart(boundary: string, document: Document): string {
  const filename = document.filename ?? nameOf(document.content);
  const mediaType = document.mediaType ?? (document.content instanceof Blob ? document.content.type : "");
  if (/[^\t\x20-\x7e]/.test(mediaType)) {
    throw new TypeError("the media type has characters that no media type has");
  }
  return part(boundary, filename === "" ? 'name="file"' : `name="file"; filename="${escaped(filename)}"`) +
    (mediaType === "" ? "" : `Content-Type: ${mediaType}\r\n`);
}

function part(boundary: string, parameters: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${parameters}\r\n`;
}

/** Escapes as Go does, whose parser reads it. */
function escaped(text: string): string {
  return text.replace(/[\\"]/g, "\\$&").replace(/\r/g, "%0D").replace(/\n/g, "%0A");
}

/** The name of a browser's File. */
function nameOf(content: Content): string {
  return content instanceof Blob && "name" in content && typeof content.name === "string" ? content.name : "";
}
