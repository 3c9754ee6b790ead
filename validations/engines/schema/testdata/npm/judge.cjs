// Answers for each line of {schema, draft, documents} what ajv says: {verdicts}, or {refused} with its reason.
const Ajv = require("ajv");
const Ajv4 = require("ajv-draft-04");
const Ajv2019 = require("ajv/dist/2019");
const Ajv2020 = require("ajv/dist/2020");
const formats = require("ajv-formats");

const options = { strict: false, logger: false, validateSchema: true };
const classes = { 4: Ajv4, 6: Ajv, 7: Ajv, "2019-09": Ajv2019, "2020-12": Ajv2020 };

function judge({ schema, draft, documents }) {
	try {
		const ajv = new (classes[draft].default ?? classes[draft])(options);
		if (draft === "6") ajv.addMetaSchema(require("ajv/dist/refs/json-schema-draft-06.json"));
		(formats.default ?? formats)(ajv);
		const validate = ajv.compile(schema);
		return { verdicts: documents.map((document) => validate(document)) };
	} catch (error) {
		return { refused: String(error.message).slice(0, 200) };
	}
}

const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => console.log(JSON.stringify(judge(JSON.parse(line)))));
