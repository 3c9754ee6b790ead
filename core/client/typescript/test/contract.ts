// Compares src/types.ts with the OpenAPI document: node contract.js types.ts openapi.json
import { readFileSync } from "node:fs";

import ts from "typescript";

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: (string | null)[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
}

const [, , source = "", document = ""] = process.argv;
const { components: { schemas } } =
  JSON.parse(readFileSync(document, "utf8")) as { components: { schemas: Record<string, Schema> } };
const program = ts.createProgram([source], { strict: true, exactOptionalPropertyTypes: true });
const checker = program.getTypeChecker();
const problems: string[] = [];

/** What has no schema of its own. */
const ours = ["Time", "KnownErrorCode"];

function resolved(schema: Schema): Schema {
  const name = schema.$ref?.replace("#/components/schemas/", "");
  return name === undefined ? schema : resolved(schemas[name] ?? {});
}

function isNullable(schema: Schema): boolean {
  const { type = [], enum: values = [], anyOf = [], oneOf = [] } = resolved(schema);
  return [type].flat().includes("null") || values.includes(null) || [...anyOf, ...oneOf].some(isNullable);
}

function partsOf(type: ts.Type): ts.Type[] {
  return type.isUnion() ? type.types : [type];
}

function textsOf(type: ts.Type): string[] {
  return partsOf(type).flatMap((part) => part.isStringLiteral() ? [part.value] : []);
}

function compare(where: string, got: string[], want: string[]): void {
  const [a, b] = [[...got].sort().join(" "), [...want].sort().join(" ")];
  if (a !== b) {
    problems.push(`${where}: the types have ${a || "nothing"}, want ${b || "nothing"}`);
  }
}

function compareInterface(name: string, type: ts.Type, schema: Schema): void {
  const properties = checker.getPropertiesOfType(type);
  const wanted = schema.properties ?? {};
  const names = Object.keys(wanted);
  compare(name, properties.map((property) => property.name), names);
  compare(`${name}, required`,
    properties.filter((property) => !(property.flags & ts.SymbolFlags.Optional)).map((property) => property.name),
    schema.required ?? []);
  for (const property of properties) {
    const of = wanted[property.name];
    if (of === undefined) {
      continue;
    }
    const type = checker.getTypeOfSymbol(property);
    const nulls = partsOf(type).some((part) => part.flags & ts.TypeFlags.Null);
    compare(`${name}.${property.name}`, nulls ? ["null"] : [], isNullable(of) ? ["null"] : []);
    compare(`${name}.${property.name}, values`, textsOf(type),
      (resolved(of).enum ?? []).filter((value): value is string => value !== null));
  }
}

const file = program.getSourceFile(source);
const module = file && checker.getSymbolAtLocation(file);
const exported = module === undefined ? [] : checker.getExportsOfModule(module);
for (const symbol of exported) {
  const schema = schemas[symbol.name];
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  if (schema === undefined) {
    if (!ours.includes(symbol.name)) {
      problems.push(`${symbol.name} is no schema`);
    }
  } else if (symbol.flags & ts.SymbolFlags.Interface) {
    compareInterface(symbol.name, type, schema);
  } else {
    compare(symbol.name, textsOf(type), (schema.enum ?? []).filter((value): value is string => value !== null));
  }
}
process.stdout.write(`${problems.map((problem) => `${problem}\n`).join("")}${exported.length} types\n`);
process.exitCode = problems.length > 0 || exported.length === 0 ? 1 : 0;
