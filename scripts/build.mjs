/** Builds every output, one after the other; the same as the three build scripts in a row. */
import "./build-host.mjs";
import "./build-box-exec-daemon.mjs";
import "./build-cli.mjs";
