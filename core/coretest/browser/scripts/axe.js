// Runs axe-core, which is there by now. What axe cannot decide because an element scrolled out of sight inside another is
// not listed: the same colors are judged where they are seen.
(async (foreign, ...rules) => {
  const { violations, incomplete } = await axe.run(foreign ? { exclude: [foreign] } : document, {
    runOnly: rules.length ? rules : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations", "incomplete"],
    elementRef: true,
  });

  const scrolls = (e) => e && e !== document.body && (/auto|scroll/.test(getComputedStyle(e).overflow) || scrolls(e.parentElement));
  const checks = (node) => [...node.any, ...node.all, ...node.none];
  const outOfSight = (node) => checks(node).some((c) => /Obscured|outsideViewport/.test(c.data?.messageKey)) && scrolls(node.element.parentElement);

  const flat = (results, certain) =>
    results.flatMap(({ id, help, nodes }) =>
      nodes
        .filter((node) => certain || !outOfSight(node))
        .map((node) => ({ certain, rule: id, help, target: node.target.join(" "), why: checks(node).map((c) => c.message).join("; ") })),
    );
  return [...flat(violations, true), ...flat(incomplete, false)];
})