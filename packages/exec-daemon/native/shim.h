/*
 * sand-shim: the process that owns an execution apart from the daemon.
 *
 * It does what `src/keeper/keep-execution.ts` does, by the same contract (`src/ledger/execution-folder.ts`): claims
 * the folder, starts the command, writes its output to the spool, enforces its life limit and records its end. It is
 * small, starts in a millisecond and needs nothing of the machine, so one may wait beside each execution; and it can
 * do what Node can't: a control group, a terminal that loses no byte, limits, another account, a seccomp program.
 *
 * Orders come on descriptor 0 and answers go to descriptor 1 (`main.c`). Every number that bounds something comes with
 * the order, so that `src/limits.ts` stays their only home; what is below bounds the shim's own memory.
 */
#ifndef SAND_SHIM_H
#define SAND_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  ORDER_MAX_BYTES = 4 * 1024 * 1024,
  ARGS_MAX = 16384,
  ENV_MAX = 8192,
  OPEN_FILES_MAX = 16,
  RLIMITS_MAX = 16,
  /* one read of a stream, and so one frame of the spool */
  PIECE_BYTES = 64 * 1024,
  RECORD_MAX_BYTES = 16 * 1024,
  NAME_MAX_BYTES = 256,
  INFO_MAX_BYTES = 16 * 1024,
  /* folders whose end isn't synced yet; with one more all of them are */
  ENDS_MAX = 32,
};

/* ---- order.c: what to run, as the daemon encodes it ---- */

struct resource_limit {
  int resource;
  uint64_t value;
};

struct order {
  char *folder;
  char *cwd;
  size_t argc, envc, open_file_count, rlimit_count;
  /* which of the files, counted from one, is opened for appending; the others are for reading */
  size_t save_file_at;
  /* a directory of a version 2 hierarchy to make and start in; NULL is none */
  char *cgroup;
  /* a file with a seccomp program for the command; NULL is none */
  char *seccomp;
  int64_t with_stdin, sandboxed, kill_ms, uid, gid, tty_uid, no_new_privs, cols, rows;
  int64_t segment_max_bytes, tail_segments_max, kill_grace_ms, settle_max_ms, drain_max_ms;
  int64_t record_retry_every_ms, record_retry_max_ms, left_open_max_ms, info_max_ms, pin_max_ms;
  int64_t folder_look_every_ms, end_sync_idle_ms, end_sync_max_ms;
  /* the lists, ended by NULL where a program wants that */
  char *argv[ARGS_MAX + 1];
  char *env[ENV_MAX + 1];
  char *open_files[OPEN_FILES_MAX];
  struct resource_limit rlimits[RLIMITS_MAX];
};

enum order_result { ORDER_READ, ORDER_NONE, ORDER_BROKEN };
/* Waits for the next order; NONE when the daemon has gone or this process is told to end. */
enum order_result read_order(struct order *order, int signals);
bool wants_terminal(const struct order *order);

/* ---- record.c: the JSON files of an execution's folder ---- */

struct identity {
  pid_t pid;
  char start_time[24];
};

const char *boot_id(void);
/* False when there is no such process; one that wasn't waited for yet counts. */
bool read_identity(pid_t pid, struct identity *identity);
/* Waits until the intent is on the disk, with its name and its folder's; false when it can't be. */
bool sync_intent(int folder);
/* False when another keeper has it, or the folder is gone. */
bool claim_execution(int folder, const char *cgroup);
/* A folder that was removed never comes back; one that was moved is still the same. */
bool is_removed(int folder);
/* Puts the file into place whole; 0, or the reason as an errno. */
int write_record(int folder, const char *name, const char *text);
/*
 * The records of an end are in place and want to be made durable: when nothing was to do for a while (`ends_wait_ms`,
 * -1 when there are none), when the first has waited long enough, and before this process ends.
 */
void add_end(int folder, const struct order *order);
void sync_old_ends(void);
void sync_ends(void);
int ends_wait_ms(void);
/* Writes text as the inside of a JSON string. */
void escape_json(char *out, size_t size, const char *text);

/* ---- spool.c ---- */

enum { STREAM_STDOUT = 0, STREAM_STDERR = 1 };

struct spool {
  int folder, file;
  int64_t index, used, segment_max_bytes, tail_segments_max;
  /* a reader's wish that nothing is dropped from its segment on: since when it is waited for, and up to when */
  int64_t pin, given_up_pin, pinned_since, pin_max_ms;
  uint64_t next_seq, offsets[2];
};

void spool_open(struct spool *spool, int folder, const struct order *order);
/* Keeps one piece; what can't be kept is counted, so that a reader gets a gap for it. */
void spool_append(struct spool *spool, int stream, const void *bytes, size_t length);
/* True while the next piece would drop what a reader still wants: then nothing is to be read from the command. */
bool spool_waits(struct spool *spool, int64_t now);
uint64_t spool_take_seq(struct spool *spool);
void spool_close(struct spool *spool);

/* ---- cgroup.c ---- */

/* A descriptor of the new group's directory, or -1 where there can't be one. */
int cgroup_make(const char *path);
/* Into the group from its first moment; where that can't be, without one. */
pid_t cgroup_fork(int group, bool *is_inside);
/* Tries all of it. */
bool cgroup_works(const char *path);
void cgroup_kill(const char *path);
/* The number of processes of the group that the kernel has killed for lack of memory; -1 when it doesn't say. */
int64_t cgroup_oom_kills(const char *path);
/* Goes only when it is empty. */
void cgroup_remove(const char *path);

/* ---- launch.c ---- */

struct child {
  pid_t pid;
  /* the leader that the record names: inside a sandbox the namespace's first process */
  pid_t leader;
  struct identity identity;
  int out, err, in;
  /* of a terminal; out is then the same */
  int master;
  int failure;
  bool in_cgroup;
};

/* False when nothing was started: `failure` is the reason, as an errno. */
bool launch_command(const struct order *order, struct child *child);

/* ---- input.c: standard input from `stdin.log`, by its offset ---- */

struct input {
  int folder, notify, file, target;
  bool is_terminal;
  uint64_t offset;
  size_t held, sent;
  char piece[PIECE_BYTES];
};

void input_open(struct input *input, int folder, int target, bool is_terminal);
/* Passes on what there is; true when it waits for room in the pipe. */
bool input_pass(struct input *input);
void input_close(struct input *input);

/* ---- terminal.c: the live end of a terminal ---- */

struct terminal {
  int folder, listener, client, master;
  bool hung_up;
  /* from the client: a header and then its payload, which may be longer than what fits here */
  unsigned char header[5];
  size_t header_have;
  uint32_t payload_left;
  unsigned char size_text[8];
  size_t size_have;
  /* input that the terminal hasn't taken yet */
  char input[PIECE_BYTES];
  size_t input_have, input_sent;
  /* output that the client hasn't taken yet: as long as there is some, the terminal isn't read */
  unsigned char out[13 + PIECE_BYTES];
  size_t out_have, out_sent;
};

void terminal_open(struct terminal *terminal, int folder, int master);
void terminal_accept(struct terminal *terminal, uint64_t offset);
void terminal_send(struct terminal *terminal, uint64_t offset, const char *bytes, size_t length);
void terminal_flush(struct terminal *terminal);
void terminal_receive(struct terminal *terminal);
void terminal_write(struct terminal *terminal);
/* Lets the client go; the terminal goes on. */
void terminal_drop(struct terminal *terminal);
void terminal_close(struct terminal *terminal);

/* ---- exit-facts.c ---- */

struct exit_report {
  int status;
  bool sandboxed, timed_out, oom_killed;
  int64_t ended_at_ms;
  uint64_t seq;
};

void format_exit(char *out, size_t size, const struct exit_report *report);
void format_started(char *out, size_t size, const struct child *child);
void format_closed(char *out, size_t size, struct spool *spool, bool left_open);
void format_spawn_failure(char *out, size_t size, const char *program, int error, uint64_t seq);
/* How many processes this machine has killed for lack of memory; 0 where it doesn't say. */
int64_t machine_oom_kills(void);

/* ---- keep.c ---- */

/*
 * Keeps one execution to its end and tells in one word what became of it. False when this process should end as well:
 * it was told to, it stayed with a stream that was left open, or nothing can be recorded any more.
 */
bool keep_execution(struct order *order, int signals, void (*tell)(const char *word));

/* ---- main.c ---- */

/* Gives the daemon what was just put into the folder, so that it doesn't have to look. */
void tell_record(const char *name, const char *text);

/* Reads the signals that have come; a child's is noted where somebody wants to know. */
bool told_to_end(int signals, bool *child_changed);

/* ---- clock.c ---- */

int64_t now_ms(void);
int64_t wall_ms(void);
/* Milliseconds until then as poll takes them; a `then` of 0 is never. */
int wait_until_ms(int64_t then, int64_t now, int longest);

/* ---- failpoint.c: where a test build dies; nothing in a shipped one ---- */

#ifdef SAND_FAILPOINTS
void failpoint(const char *name);
#else
#define failpoint(name) ((void)0)
#endif

#endif
