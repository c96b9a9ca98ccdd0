/*
 * The live end of a terminal: a socket `terminal.sock` in the execution's folder, which only the daemon's account can
 * reach. The spool keeps all output as it does for pipes, so whoever connects gets the offset from which on it hears
 * the rest, and reads what was before from the spool. A daemon that comes back connects again; the newest one counts.
 *
 *   to us    u8 kind | u32 length | payload     1 input   2 size: u16 columns, u16 rows, u16 x pixels, u16 y pixels
 *                                               3 hang up: the terminal is taken from what runs there
 *   from us  u8 kind | u32 length | payload     1 hello: u64 offset   2 output: u64 offset, bytes
 *
 * Numbers are big-endian. There is no queue: while the client doesn't take output the terminal isn't read, and while the
 * terminal doesn't take input the client isn't.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

enum { KIND_INPUT = 1, KIND_SIZE = 2, KIND_HANG_UP = 3, KIND_HELLO = 1, KIND_OUTPUT = 2, FRAME_HEAD_BYTES = 5, SIZE_BYTES = 8 };

/* what waits in the kernel for a client that is slow; small, so that the terminal feels it soon */
enum { SOCKET_BUFFER_BYTES = 32 * 1024 };

static const char socket_name[] = "terminal.sock";

void terminal_drop(struct terminal *terminal) {
  if (terminal->client >= 0) close(terminal->client);
  terminal->client = -1;
  terminal->out_have = terminal->out_sent = 0;
  terminal->header_have = terminal->size_have = 0;
  terminal->payload_left = 0;
}

void terminal_open(struct terminal *terminal, int folder, int master) {
  *terminal = (struct terminal){.folder = folder, .listener = -1, .client = -1, .master = master};
  if (master < 0) return;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  /* By the descriptor: a folder's own path may be longer than an address. */
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, socket_name);
  unlinkat(folder, socket_name, 0);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) return;
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4) != 0) {
    close(listener);
    return;
  }
  fchmodat(folder, socket_name, 0600, 0);
  terminal->listener = listener;
}

void terminal_close(struct terminal *terminal) {
  terminal_drop(terminal);
  if (terminal->listener < 0) return;
  close(terminal->listener);
  terminal->listener = -1;
  unlinkat(terminal->folder, socket_name, 0);
}

void terminal_flush(struct terminal *terminal) {
  while (terminal->client >= 0 && terminal->out_sent < terminal->out_have) {
    ssize_t count = send(terminal->client, terminal->out + terminal->out_sent,
                         terminal->out_have - terminal->out_sent, MSG_NOSIGNAL);
    if (count >= 0) terminal->out_sent += (size_t)count;
    else if (errno == EAGAIN) return;
    else if (errno != EINTR) terminal_drop(terminal);
  }
  terminal->out_have = terminal->out_sent = 0;
}

static void put_frame(struct terminal *terminal, int kind, uint64_t offset, const char *bytes, size_t length) {
  uint32_t size = htobe32((uint32_t)(sizeof offset + length));
  uint64_t at = htobe64(offset);
  terminal->out[0] = (unsigned char)kind;
  memcpy(terminal->out + 1, &size, sizeof size);
  memcpy(terminal->out + FRAME_HEAD_BYTES, &at, sizeof at);
  if (length > 0) memcpy(terminal->out + FRAME_HEAD_BYTES + sizeof at, bytes, length);
  terminal->out_have = FRAME_HEAD_BYTES + sizeof at + length;
  terminal->out_sent = 0;
  terminal_flush(terminal);
}

void terminal_accept(struct terminal *terminal, uint64_t offset) {
  int client = accept4(terminal->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client < 0) return;
  terminal_drop(terminal);
  int size = SOCKET_BUFFER_BYTES;
  setsockopt(client, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  terminal->client = client;
  put_frame(terminal, KIND_HELLO, offset, NULL, 0);
}

void terminal_send(struct terminal *terminal, uint64_t offset, const char *bytes, size_t length) {
  if (terminal->client >= 0) put_frame(terminal, KIND_OUTPUT, offset, bytes, length);
}

void terminal_write(struct terminal *terminal) {
  while (terminal->input_sent < terminal->input_have) {
    ssize_t count = write(terminal->master, terminal->input + terminal->input_sent,
                          terminal->input_have - terminal->input_sent);
    if (count >= 0) terminal->input_sent += (size_t)count;
    else if (errno == EAGAIN) return;
    else if (errno != EINTR) break;
  }
  terminal->input_have = terminal->input_sent = 0;
}

static void set_size(struct terminal *terminal) {
  uint16_t numbers[4];
  memcpy(numbers, terminal->size_text, sizeof numbers);
  struct winsize size = {
    .ws_col = be16toh(numbers[0]),
    .ws_row = be16toh(numbers[1]),
    .ws_xpixel = be16toh(numbers[2]),
    .ws_ypixel = be16toh(numbers[3]),
  };
  if (size.ws_col > 0 && size.ws_row > 0) ioctl(terminal->master, TIOCSWINSZ, &size);
}

/* Reads what is missing of a part; false when the client has no more now, or is gone. */
static bool receive(struct terminal *terminal, void *target, size_t have, size_t length, size_t *count) {
  ssize_t got = recv(terminal->client, (char *)target + have, length - have, 0);
  *count = got > 0 ? (size_t)got : 0;
  if (got > 0) return true;
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) terminal_drop(terminal);
  return false;
}

static bool receive_header(struct terminal *terminal) {
  size_t count;
  if (!receive(terminal, terminal->header, terminal->header_have, FRAME_HEAD_BYTES, &count)) return false;
  terminal->header_have += count;
  if (terminal->header_have < FRAME_HEAD_BYTES) return true;
  uint32_t length;
  memcpy(&length, terminal->header + 1, sizeof length);
  terminal->payload_left = be32toh(length);
  terminal->size_have = 0;
  int kind = terminal->header[0];
  bool is_known = kind == KIND_INPUT || (kind == KIND_SIZE && terminal->payload_left == SIZE_BYTES) ||
                  (kind == KIND_HANG_UP && terminal->payload_left == 0);
  if (is_known && kind == KIND_HANG_UP) terminal->hung_up = true;
  if (!is_known) terminal_drop(terminal);
  else if (terminal->payload_left == 0) terminal->header_have = 0;
  return is_known;
}

void terminal_receive(struct terminal *terminal) {
  while (terminal->client >= 0 && terminal->input_have == 0) {
    if (terminal->header_have < FRAME_HEAD_BYTES) {
      if (!receive_header(terminal)) return;
      continue;
    }
    size_t count;
    if (terminal->header[0] == KIND_SIZE) {
      if (!receive(terminal, terminal->size_text, terminal->size_have, SIZE_BYTES, &count)) return;
      terminal->size_have += count;
    } else {
      size_t room = sizeof terminal->input;
      if (terminal->payload_left < room) room = terminal->payload_left;
      if (!receive(terminal, terminal->input, 0, room, &count)) return;
      terminal->input_have = count;
      terminal->input_sent = 0;
    }
    terminal->payload_left -= (uint32_t)count;
    if (terminal->payload_left == 0) {
      if (terminal->header[0] == KIND_SIZE) set_size(terminal);
      terminal->header_have = 0;
    }
    terminal_write(terminal);
  }
}
