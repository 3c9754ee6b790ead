// What can be wrong with a layout, whatever its page is about.
(async (foreign) => {
  const name = (e) => e.tagName.toLowerCase() + (e.id && `#${e.id}`) + (e.classList.length ? `.${[...e.classList].join(".")}` : "");
  const root = document.documentElement;

  const scrolls = (e) => e && e !== document.body && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
  const beyond = (e) => e.getBoundingClientRect().right > root.clientWidth + 0.5 && !scrolls(e.parentElement);
  const overflow = root.scrollWidth > root.clientWidth ? [...document.body.querySelectorAll("*")].filter(beyond) : [];

  // What happened before the observer began is handed over in a task of its own.
  const shifts = [];
  const observer = new PerformanceObserver((list) => shifts.push(...list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
  shifts.push(...observer.takeRecords());
  observer.disconnect();
  const ours = (s) => !foreign || s.sources.some(({ node }) => node instanceof Element && !node.closest(foreign));
  const unexpected = shifts.filter((s) => !s.hadRecentInput && ours(s));
  const moved = unexpected.flatMap((s) => s.sources.map((source) => source.node)).filter((n) => n instanceof Element);

  const moving = document.getAnimations().filter((a) => a.playState === "running" && a.effect.getComputedTiming().activeDuration > 0);
  return {
    width: root.scrollWidth,
    available: root.clientWidth,
    overflow: overflow.slice(0, 5).map(name),
    shift: unexpected.reduce((sum, s) => sum + s.value, 0),
    moved: moved.slice(0, 5).map(name),
    moving: moving.map((a) => name(a.effect.target)),
    heading: document.querySelector("h1")?.textContent ?? "",
  };
})