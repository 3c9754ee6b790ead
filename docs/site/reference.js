// newKey is random without HTTPS, too, where browsers have no crypto.randomUUID.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// prefilled changes the examples that the explorer puts into forms and sends if nobody changes them. Every visit has
// an idempotency key of its own, so two visitors never share a run. What may be left out is left empty.
function prefilled(spec) {
  const { parameters, schemas } = spec.components;
  for (const parameter of Object.values(parameters)) {
    if (!parameter.required) {
      delete parameter.example;
    }
  }
  parameters.IdempotencyKey.example = newKey();
  const form = schemas.StartForm;
  for (const [name, property] of Object.entries(form.properties)) {
    if (!form.required.includes(name)) {
      form.properties[name] = { ...property, example: "" };
    }
  }
  return spec;
}

SwaggerUIBundle({
  url: "/api/schema/",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  showExtensions: true,
  plugins: [
    () => ({
      statePlugins: {
        spec: { wrapActions: { updateJsonSpec: (original) => (spec) => original(prefilled(spec)) } },
      },
    }),
  ],
  requestInterceptor(request) {
    // Only the YAML keeps the order in which things are written.
    if (new URL(request.url, location.href).pathname === "/api/schema/") {
      request.headers.Accept = "application/yaml";
    }
    return request;
  },
});
