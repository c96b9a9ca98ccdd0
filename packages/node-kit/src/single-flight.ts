/** Lets callers who ask for the same thing at the same time share one run of the work, and its failure. */
export function createSingleFlight<T>(): (key: string, fn: () => Promise<T>) => Promise<T> {
  const flights = new Map<string, Promise<T>>();
  return (key, fn) => {
    const flying = flights.get(key);
    if (flying !== undefined) return flying;
    // The entry leaves when the work settles, so a failure isn't kept for the next caller.
    const flight = start(fn).finally(() => flights.delete(key));
    flights.set(key, flight);
    return flight;
  };
}

/** A synchronous throw becomes a rejection. */
async function start<T>(fn: () => Promise<T>): Promise<T> {
  return fn();
}
