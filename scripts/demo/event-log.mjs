/**
 * Listens to a gateway's event stream and keeps what it said, over a restart of the host: the second connection
 * resumes with the last id of the first. Loads nothing of ours, because the wire is what the demo is about.
 */
const channels = "transcript,agent-upserted,turn,turn-delta";

export function openEventLog() {
  const events = [];
  const watchers = new Set();
  let lastId;
  let current;

  const take = (frame) => {
    const event = parseFrame(frame);
    if (event === undefined) return;
    lastId = event.seq ?? lastId;
    events.push(event);
    for (const watcher of watchers) watcher(event);
  };
  const watch = (watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  };

  return {
    events,
    lastId: () => lastId,
    onEvent: watch,
    close: () => current?.abort(),
    async connect({ url, token }) {
      current?.abort();
      current = new AbortController();
      const response = await fetch(`${url}/events?channels=${channels}&since=${lastId ?? 0}`, {
        headers: { authorization: `Bearer ${token}` },
        signal: current.signal,
      });
      if (!response.ok) throw new Error(`/events answered ${response.status}`);
      void readFrames(response, take);
    },
    /** the first event, seen or to come, for which `wanted` gives something; a clear error after `limitMs` */
    waitFor(what, wanted, limitMs) {
      for (const event of events) {
        const found = wanted(event);
        if (found) return Promise.resolve(found);
      }
      return waitForNext(watch, wanted, { what, limitMs });
    },
  };
}

function parseFrame(frame) {
  const lines = frame.split("\n");
  const data = lines.find((line) => line.startsWith("data: "));
  const id = lines.find((line) => line.startsWith("id: "));
  if (data === undefined) return undefined;
  return { ...JSON.parse(data.slice(6)), seq: id === undefined ? null : Number(id.slice(4)) };
}

async function readFrames(response, take) {
  let rest = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body) {
      rest += decoder.decode(chunk, { stream: true });
      const frames = rest.split("\n\n");
      rest = frames.pop();
      for (const frame of frames) take(frame);
    }
  } catch {
    // The host was killed, or the demo closed the stream: either way nothing more comes from here.
  }
}

function waitForNext(watch, wanted, { what, limitMs }) {
  return new Promise((resolve, reject) => {
    const end = (settle, value) => {
      stop();
      clearTimeout(timer);
      settle(value);
    };
    const timer = setTimeout(() => end(reject, new Error(`waited ${limitMs / 1000} s for ${what}`)), limitMs);
    const stop = watch((event) => {
      const found = wanted(event);
      if (found) end(resolve, found);
    });
  });
}
