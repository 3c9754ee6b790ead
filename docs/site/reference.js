SwaggerUIBundle({
  url: "/api/schema/",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  showExtensions: true,
});
