// Fonts move what is around them, and shifts are only known once they have been painted.
(async () => {
  await document.fonts.ready;
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  return true;
})()
