// Writes a Parquet file with the types of DuckDB: write.mjs FILE ROWS COMPRESSION
import { DuckDBInstance } from '@duckdb/node-api'

const [file, rows, compression] = process.argv.slice(2)
const connection = await (await DuckDBInstance.create(':memory:')).connect()
await connection.run(`COPY (
  SELECT 'r' || r AS id, r * 1.5 AS kwh, 9007199254740993 + r AS count,
    (r * -1.25)::decimal(38, 4) AS price, (r * 1.25)::decimal(9, 2) AS small_price, date '2026-03-01' + r::int AS day,
    timestamp '2026-03-01 00:00:01' + to_minutes(r) AS at, timestamptz '2026-03-01 00:00:01+00' AS zoned,
    time '12:30:00.5' AS clock, r % 2 = 0 AS ok, [r, r + 1] AS tags, {'a': r, 'b': 'x'} AS site, MAP {'k': r} AS pairs,
    '01a206bd-7c49-786f-b124-3ecd7ff321d2'::uuid AS meter, CASE WHEN r % 3 = 0 THEN NULL ELSE 'ö' || r END AS note,
    (r % 256)::utinyint AS tiny, r::float / 4 AS quarter, 'abc'::blob AS bytes
  FROM range(0, ${Number(rows)}) AS t(r)
) TO '${file}' (FORMAT parquet, COMPRESSION ${compression}, ROW_GROUP_SIZE 2048)`)
