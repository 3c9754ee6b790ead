// Reads pages from standard input, each as a line of JSON, and answers each with a line that lists its mistakes.
import { createInterface } from "node:readline";
import { HtmlValidate } from "html-validate";

const rules = new HtmlValidate({
  root: true,
  extends: ["html-validate:recommended", "html-validate:document"],
  rules: {
    // The navigation has headings too, and comes first.
    "heading-level": ["error", { minInitialRank: "h2" }],
    // Headings of versions begin with digits, and so do their ids.
    "valid-id": ["error", { relaxed: true }],
    // Several buttons of one name send a choice.
    "form-dup-name": "off",
    // All files come from the same server.
    "require-sri": "off",
    // A role says as much as the element that has it.
    "prefer-native-element": "off",
    // How templates are written is not what browsers see.
    "doctype-style": "off",
    "long-title": "off",
    "no-implicit-button-type": "off",
    "no-implicit-input-type": "off",
    "no-trailing-whitespace": "off",
    "void-style": "off",
  },
});

for await (const line of createInterface({ input: process.stdin })) {
  const { results } = await rules.validateString(JSON.parse(line));
  const mistakes = results.flatMap(({ messages }) =>
    messages.map((m) => `${m.ruleId}: ${m.message} (line ${m.line}${m.selector ? `, ${m.selector}` : ""})`),
  );
  console.log(JSON.stringify(mistakes));
}
