SwaggerUIBundle({
  url: "/api/schema/",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  showExtensions: true,
  requestInterceptor(request) {
    // Only the YAML keeps the order in which things are written.
    if (new URL(request.url, location.href).pathname === "/api/schema/") {
      request.headers.Accept = "application/yaml";
    }
    return request;
  },
});
