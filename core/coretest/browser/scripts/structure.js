// The rules for the structure of a page that neither axe-core nor html-validate has.
((foreign) => {
  const wrong = [];
  const name = (e) => {
    const text = e.outerHTML.replace(/\s+/g, " ");
    return text.length > 80 ? `${text.slice(0, 80)}…` : text;
  };
  const all = (selector) => [...document.querySelectorAll(selector)].filter((e) => !foreign || !e.closest(foreign));
  const exactly = (count, selector, what) => {
    const found = all(selector).length;
    if (found !== count) wrong.push(`${what}: found ${found}, want ${count}`);
  };
  const each = (selector, holds, what) => {
    for (const e of all(selector)) if (!holds(e)) wrong.push(`${what}: ${name(e)}`);
  };
  const named = (e) => e.hasAttribute("aria-label") || e.hasAttribute("aria-labelledby");

  exactly(1, "h1", "h1");
  exactly(1, "main, [role=main]", "main");
  exactly(1, "meta[name=viewport][content*='width=device-width']", "meta viewport");
  if (!document.documentElement.lang) wrong.push("html has no lang");
  if (!document.title.endsWith("SimpleValidations")) wrong.push(`title ${document.title} does not end with the product`);

  each("[style]", () => false, "style in an attribute");
  each("style, script:not([src])", () => false, "style or script inside the page");
  each("table", (e) => e.caption || named(e) || e.closest("[role=group], [role=region]")?.hasAttribute("aria-label"), "table without a caption");
  each("th", (e) => e.scope, "th without a scope");
  each("time", (e) => /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/.test(e.getAttribute("datetime") ?? ""), "time without a datetime in UTC");
  each("svg", (e) => e.ariaHidden === "true" || (e.role === "img" && (named(e) || e.querySelector(":scope > title"))), "svg without a name, and not hidden");
  each("svg[role=img]", (e) => e.querySelector(":scope > desc") || e.closest("figure, section, article, main").querySelector("table"), "chart without a description, and no table beside it");
  each("form button", (e) => e.textContent.trim() || named(e), "button without a name");
  each("a[target], a[href^='javascript:']", () => false, "link that opens windows or runs a script");
  return wrong;
})