import pg from 'pg';

/** A connection of the floor's own, to the database that the floor has to itself. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Runs a prepared statement. Each is a transaction of its own, so its answer means that it is on disk. */
export async function execute<Row extends pg.QueryResultRow>(
  client: pg.Client,
  name: string,
  text: string,
  values: readonly unknown[],
): Promise<pg.QueryResult<Row>> {
  return client.query<Row>({ name, text, values: [...values] });
}
