// Notes where each press of the Tab key leads. It looks at a stop when it is left, because only then the page has
// scrolled to it and painted it.
((foreign) => {
  const ours = (e) => !foreign || !e.closest(foreign);
  const name = (e) => {
    const text = e.outerHTML.replace(/\s+/g, " ");
    return text.length > 80 ? `${text.slice(0, 80)}…` : text;
  };

  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const painted = new Map();
  const rgba = (color) => {
    if (!painted.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      painted.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return painted.get(color);
  };
  const luminance = ([r, g, b]) => {
    const linear = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  // How far the color a is from the background b that it is painted on.
  const contrast = ([r, g, bl, alpha], b) => {
    const a = [r, g, bl].map((v, i) => (v * alpha + b[i] * (255 - alpha)) / 255);
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const background = (e) => {
    for (; e; e = e.parentElement) {
      const color = rgba(getComputedStyle(e).backgroundColor);
      if (color[3] === 255) return color;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 255] : [255, 255, 255, 255];
  };

  // A field that is not shown itself may have its ring around its label or its group.
  const ringed = (e) => [e, ...(e.labels ?? []), ...[e.parentElement, e.parentElement?.parentElement].filter((p) => p && p !== document.body)];
  const complain = (e) => {
    const found = ringed(e).find((c) => {
      const style = getComputedStyle(c);
      return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    });
    if (!found) return "has no ring of 2 px";
    const shades = contrast(rgba(getComputedStyle(found).outlineColor), background(found.parentElement));
    if (shades < 3) return `has a ring with a contrast of ${shades.toFixed(2)}, want 3`;
    const box = found.getBoundingClientRect();
    const inside = (x, y) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    const points = [0.02, 0.5, 0.98].flatMap((dx) => [0.02, 0.5, 0.98].map((dy) => [box.x + dx * box.width, box.y + dy * box.height]));
    const shown = points.some(([x, y]) => {
      const top = inside(x, y) && document.elementFromPoint(x, y);
      return top && (found.contains(top) || top.contains(found));
    });
    return shown ? "" : "cannot be seen while it has the focus";
  };

  const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest("[inert]");
  const candidates = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  const expected = new Set([...document.querySelectorAll(candidates)].filter((e) => e.tabIndex >= 0 && !e.disabled && e.type !== "radio" && shown(e) && ours(e)));

  const stops = [];
  let round = 0;
  const note = () => {
    const stop = document.activeElement;
    if (!stop || stop === document.body || round > 0) return;
    if (stops.some((s) => s.element === stop)) {
      round = stops[0].element === stop ? 1 : 2;
      return;
    }
    stops.push({ element: stop, complaint: ours(stop) ? complain(stop) : "" });
    expected.delete(stop);
  };
  document.addEventListener("keydown", note, { capture: true });

  globalThis.walked = () => {
    note();
    const first = stops[0]?.element;
    const wrong = stops.filter((s) => s.complaint).map((s) => `${name(s.element)} ${s.complaint}`);
    if (!first?.matches("a[href^='#']") || !document.querySelector(first.getAttribute("href"))) {
      wrong.push(`the first stop is ${first ? name(first) : "nowhere"}, want the link that skips to the content`);
    }
    if (round === 2) wrong.push(`${name(document.activeElement)} keeps the focus`);
    for (const e of expected) if (shown(e)) wrong.push(`${name(e)} cannot be reached`);
    return wrong;
  };
  globalThis.round = () => round > 0 || (stops.length > 0 && document.activeElement === document.body);
  return expected.size;
})