/**
 * Attacks on the network. The listeners stand for this machine, for a cloud's metadata and for a private network; all
 * are on loopback addresses of a network namespace that the test made. One that is reached says so.
 */

/** speaks to an address and prints what comes back */
const direct = (host, port) =>
  `timeout 5 bash -c 'exec 3<>/dev/tcp/${host}/${port} && printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3 && head -c 300 <&3'`;

/** asks the proxy that the environment names; a tunnel is spoken through at once */
const proxied = (first) => `timeout 5 bash -c '
  hostport=\${http_proxy#http://}
  [ -n "$hostport" ] || exit 0
  exec 3<>/dev/tcp/\${hostport%:*}/\${hostport#*:}
  printf "${first}\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n${first.startsWith("CONNECT") ? "GET / HTTP/1.0\\r\\n\\r\\n" : ""}" >&3
  head -c 600 <&3'`;

/** an address in the spelling that it is asked by */
const spellings = [
  ["localhost", "localhost"],
  ["127.0.0.1", "127.0.0.1"],
  ["127.1.2.3", "127.1.2.3"],
  ["2130706433", "2130706433"],
  ["0x7f000001", "0x7f000001"],
  ["0177.0.0.1", "0177.0.0.1"],
  ["[::1]", "[::1]"],
  ["[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]"],
  ["0.0.0.0", "0.0.0.0"],
  ["LOCALHOST.", "LOCALHOST."],
];

/** @param {{loopbackPort: number, daemonPort: number}} ports */
export function networkAttacks({ loopbackPort, daemonPort }) {
  const rows = [
    ["loopback", direct("127.0.0.1", loopbackPort)],
    ["metadata", direct("169.254.169.254", 80)],
    ["a private address", direct("10.99.0.1", 80)],
    ["the daemon", `${direct("127.0.0.1", daemonPort)} | grep -q HTTP && echo REACHED`],
    ["a datagram", "timeout 5 bash -c 'echo probe > /dev/udp/10.99.0.1/53'; sleep 0.2"],
    [
      "a socket without a file",
      `perl -MSocket -e '
      socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit; alarm 5;
      connect($s, pack("Sa*", AF_UNIX, "\\0sand-attack-abstract")) or exit; print <$s>'`,
    ],
    ...spellings.map(([name, host]) => [
      `loopback as ${name} by CONNECT`,
      proxied(`CONNECT ${host}:${loopbackPort} HTTP/1.1`),
    ]),
    ...spellings.map(([name, host]) => [
      `loopback as ${name} by a plain request`,
      proxied(`GET http://${host}:${loopbackPort}/ HTTP/1.1`),
    ]),
    ["metadata by CONNECT", proxied("CONNECT 169.254.169.254:80 HTTP/1.1")],
    ["metadata by a plain request", proxied("GET http://169.254.169.254/latest/meta-data/ HTTP/1.1")],
    ["metadata in IPv6 clothes", proxied("CONNECT [::ffff:a9fe:a9fe]:80 HTTP/1.1")],
    ["a private address by CONNECT", proxied("CONNECT 10.99.0.1:80 HTTP/1.1")],
    ["a private address by a plain request", proxied("GET http://10.99.0.1/ HTTP/1.1")],
    ["a name that isn't listed", proxied("CONNECT elsewhere.test:80 HTTP/1.1")],
    ["a listed host as user name", proxied(`GET http://allowed.test@127.0.0.1:${loopbackPort}/ HTTP/1.1`)],
  ];
  return rows.map(([name, script]) => ({ group: "network", name: `network: ${name}`, script }));
}

/** what must work, or the suite would call a broken network a safe one */
export const networkWork = [
  [
    "a private address that the policy names, by CONNECT",
    proxied("CONNECT 10.99.0.2:80 HTTP/1.1"),
    "REACHED",
  ],
  [
    "a private address that the policy names, by a plain request",
    proxied("GET http://10.99.0.2/ HTTP/1.1"),
    "REACHED",
  ],
];
