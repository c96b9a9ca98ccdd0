/*
 * Keeps one execution from its claim to its last byte. It needs nobody: the daemon may die and come back meanwhile.
 *
 * 1. The intent on the disk before the claim, the claim before the start, the exit record before the end is shown.
 * 2. The exit is known at once; `closed` follows when both streams are at their end or the drain limit is hit.
 * 3. A stream that something else still holds after that is emptied and thrown away, so that its writer lives on.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* how often a group that was told to end is looked at */
enum { LOOK_EVERY_MS = 50 };

/* how often a spool that waits for its reader is looked at */
enum { PIN_LOOK_EVERY_MS = 4 };

enum phase { PHASE_RUNNING, PHASE_SETTLING, PHASE_DRAINING, PHASE_LEFT_OPEN };

struct keep {
  struct order *order;
  int folder, signals;
  struct child child;
  struct spool spool;
  enum phase phase;
  bool stop, is_recorded, waits, child_changed, reaped, timed_out, recording, killing, killed;
  int status;
  int64_t kill_at, killed_at, phase_until, ended_at_ms, oom_before, look_at;
};

/* large and reused, so they aren't on the stack */
static struct input input;
static struct terminal terminal;
static char piece[PIECE_BYTES];

static void read_signals(struct keep *keep) {
  if (told_to_end(keep->signals, &keep->child_changed)) keep->stop = true;
}

/* A command whose data root was removed has nobody left who could ask for it or end it. */
static void look_at_folder(struct keep *keep, int64_t now) {
  if (keep->order->folder_look_every_ms <= 0 || now < keep->look_at) return;
  keep->look_at = now + keep->order->folder_look_every_ms;
  if (is_removed(keep->folder)) keep->stop = true;
}

/* Only this process knows that the command runs and how it ended, so a disk that is full for a while is waited for. */
static bool record_patiently(struct keep *keep, const char *name, const char *text) {
  for (int64_t until = now_ms() + keep->order->record_retry_max_ms;;) {
    if (write_record(keep->folder, name, text) == 0) {
      tell_record(name, text);
      return true;
    }
    if (is_removed(keep->folder) || keep->stop || now_ms() >= until) return false;
    struct pollfd wait = {.fd = keep->signals, .events = POLLIN};
    poll(&wait, 1, (int)keep->order->record_retry_every_ms);
    read_signals(keep);
  }
}

/* A sandbox's program may still be on its way to the group of its leader. */
static bool group_lives(const struct keep *keep) {
  return !keep->reaped || kill(-keep->child.leader, 0) == 0 || errno == EPERM;
}

/* TERM, a grace, then KILL: to the group, and at the end to whatever else is in the control group. */
static void begin_kill(struct keep *keep, int64_t now) {
  if (keep->killing || keep->killed) return;
  keep->killing = true;
  keep->killed_at = now + keep->order->kill_grace_ms;
  if (kill(-keep->child.leader, SIGTERM) != 0 && !keep->reaped) kill(-keep->child.pid, SIGTERM);
}

static void finish_kill(struct keep *keep, int64_t now) {
  bool is_over = !group_lives(keep) || now >= keep->killed_at;
  if (!keep->killing || !is_over) return;
  kill(-keep->child.leader, SIGKILL);
  if (!keep->reaped) kill(-keep->child.pid, SIGKILL);
  if (keep->child.in_cgroup) cgroup_kill(keep->order->cgroup);
  keep->killing = false;
  keep->killed = true;
}

static void take_output(struct keep *keep, int *fd, int stream) {
  ssize_t count = read(*fd, piece, sizeof piece);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    /* A terminal's end is an error of its own, and only then is it empty. */
    if (keep->child.master < 0) close(*fd);
    *fd = -1;
    return;
  }
  if (!keep->recording) return;
  /* Whoever waits for an echo comes before the file. One who connects later is told where the file stands. */
  terminal_send(&terminal, keep->spool.offsets[stream], piece, (size_t)count);
  spool_append(&keep->spool, stream, piece, (size_t)count);
}

static bool is_drained(const struct keep *keep) { return keep->child.out < 0 && keep->child.err < 0; }

static bool record_exit(struct keep *keep) {
  char text[RECORD_MAX_BYTES];
  int64_t own = keep->child.in_cgroup ? cgroup_oom_kills(keep->order->cgroup) : -1;
  struct exit_report report = {
    .status = keep->status,
    .sandboxed = keep->order->sandboxed != 0,
    .timed_out = keep->timed_out,
    .oom_killed = own >= 0 ? own > 0 : machine_oom_kills() > keep->oom_before,
    .ended_at_ms = keep->ended_at_ms,
    .seq = spool_take_seq(&keep->spool),
  };
  format_exit(text, sizeof text, &report);
  return record_patiently(keep, "exit.json", text);
}

static bool record_closed(struct keep *keep, bool left_open) {
  char text[RECORD_MAX_BYTES];
  keep->recording = false;
  spool_close(&keep->spool);
  format_closed(text, sizeof text, &keep->spool, left_open);
  terminal_close(&terminal);
  return record_patiently(keep, "closed.json", text);
}

static void reap(struct keep *keep) {
  if (keep->reaped || !keep->child_changed) return;
  keep->child_changed = false;
  if (waitpid(keep->child.pid, &keep->status, WNOHANG) != keep->child.pid) return;
  keep->reaped = true;
  keep->ended_at_ms = wall_ms();
  keep->kill_at = 0;
}

/* What a client of the terminal is slow to take must not stay unread now: it finds the rest in the spool. */
static void free_output(struct keep *keep) {
  if (keep->reaped && terminal.out_have > 0) terminal_drop(&terminal);
}

/* Without its master the terminal is gone: the kernel tells everybody who has it. */
static void hang_up(struct keep *keep) {
  if (!terminal.hung_up || keep->child.master < 0) return;
  input_close(&input);
  terminal.input_have = terminal.input_sent = 0;
  close(keep->child.master);
  keep->child.master = keep->child.out = terminal.master = -1;
}

/* Goes on to the next phase when its time has come; false when this execution is done. */
static bool advance(struct keep *keep, int64_t now, void (*tell)(const char *)) {
  struct order *order = keep->order;
  /* The leader may be gone, but a limit is meant for all that it started in its group. */
  bool is_over = keep->reaped && !(keep->timed_out && keep->killing);
  if (keep->phase == PHASE_RUNNING && is_over) {
    input_close(&input);
    keep->phase = PHASE_SETTLING;
    keep->phase_until = now + order->settle_max_ms;
  }
  if (keep->phase == PHASE_SETTLING && (is_drained(keep) || now >= keep->phase_until)) {
    if (!(keep->is_recorded = record_exit(keep))) return false;
    failpoint("keeper.exited");
    keep->phase = PHASE_DRAINING;
    keep->phase_until = now_ms() + order->drain_max_ms;
  }
  /* A reader that wants all of it has its time also behind the end. */
  if (keep->phase == PHASE_DRAINING && keep->waits) keep->phase_until = now + order->drain_max_ms;
  if (keep->phase == PHASE_DRAINING && (is_drained(keep) || now >= keep->phase_until)) {
    bool left_open = !is_drained(keep);
    if (!(keep->is_recorded = record_closed(keep, left_open))) return false;
    tell(left_open ? "leaving" : "closed");
    add_end(keep->folder, order);
    if (!left_open) return false;
    sync_ends();
    keep->phase = PHASE_LEFT_OPEN;
    keep->phase_until = now + order->left_open_max_ms;
  }
  if (keep->phase != PHASE_LEFT_OPEN) return true;
  return !is_drained(keep) && now < keep->phase_until && !keep->stop;
}

static int next_wait(const struct keep *keep, int64_t now) {
  int wait = wait_until_ms(keep->look_at, now, wait_until_ms(keep->kill_at, now, -1));
  if (keep->phase != PHASE_RUNNING) wait = wait_until_ms(keep->phase_until, now, wait);
  if (keep->waits) wait = wait_until_ms(now + PIN_LOOK_EVERY_MS, now, wait);
  return keep->killing ? wait_until_ms(now + LOOK_EVERY_MS, now, wait) : wait;
}

static void wait_and_serve(struct keep *keep, int64_t now) {
  bool input_waits = input.target >= 0 && input.held > input.sent;
  bool typed_waits = terminal.input_have > 0;
  bool out_is_held = terminal.out_have > 0;
  bool is_terminal = keep->child.master >= 0;
  short out_wants = (short)((out_is_held || keep->waits ? 0 : POLLIN) |
                            (is_terminal && (typed_waits || input_waits) ? POLLOUT : 0));
  struct pollfd waits[] = {
    {.fd = keep->signals, .events = POLLIN},
    {.fd = out_wants == 0 ? -1 : keep->child.out, .events = out_wants},
    {.fd = keep->waits ? -1 : keep->child.err, .events = POLLIN},
    {.fd = is_terminal ? -1 : input.target, .events = input_waits ? POLLOUT : 0},
    {.fd = input.notify, .events = POLLIN},
    {.fd = terminal.listener, .events = POLLIN},
    {.fd = terminal.client,
     .events = (short)((typed_waits ? 0 : POLLIN) | (out_is_held ? POLLOUT : 0))},
  };
  if (poll(waits, sizeof waits / sizeof *waits, next_wait(keep, now)) <= 0) return;
  if (waits[0].revents != 0) read_signals(keep);
  if (waits[1].revents & POLLOUT) terminal_write(&terminal);
  if (waits[6].revents != 0) {
    terminal_flush(&terminal);
    terminal_receive(&terminal);
  }
  if (waits[5].revents != 0) terminal_accept(&terminal, keep->spool.offsets[STREAM_STDOUT]);
  if ((waits[1].revents & ~POLLOUT) != 0 && terminal.out_have == 0 && !keep->waits)
    take_output(keep, &keep->child.out, STREAM_STDOUT);
  if (waits[2].revents != 0) take_output(keep, &keep->child.err, STREAM_STDERR);
  if (waits[4].revents != 0 || (waits[3].revents | (waits[1].revents & POLLOUT)) != 0) input_pass(&input);
  if ((waits[3].revents & POLLERR) != 0) input_close(&input);
}

static void follow(struct keep *keep, void (*tell)(const char *)) {
  input_pass(&input);
  for (;;) {
    int64_t now = now_ms();
    reap(keep);
    look_at_folder(keep, now);
    if (keep->kill_at != 0 && now >= keep->kill_at && !keep->reaped) {
      keep->timed_out = true;
      keep->kill_at = 0;
      begin_kill(keep, now);
    }
    if (keep->stop && keep->phase == PHASE_RUNNING) begin_kill(keep, now);
    finish_kill(keep, now);
    free_output(keep);
    hang_up(keep);
    keep->waits = keep->recording && spool_waits(&keep->spool, now);
    if (!advance(keep, now, tell)) return;
    wait_and_serve(keep, now);
  }
}

static void finish(struct keep *keep) {
  terminal_close(&terminal);
  input_close(&input);
  spool_close(&keep->spool);
  if (keep->child.master >= 0) close(keep->child.master);
  else if (keep->child.out >= 0) close(keep->child.out);
  if (keep->child.err >= 0) close(keep->child.err);
  cgroup_remove(keep->order->cgroup);
  close(keep->folder);
}

static void record_failure(struct keep *keep, void (*tell)(const char *)) {
  char text[RECORD_MAX_BYTES];
  const char *program = keep->order->argc > 0 ? keep->order->argv[0] : "";
  format_spawn_failure(text, sizeof text, program, keep->child.failure, spool_take_seq(&keep->spool));
  keep->is_recorded = record_patiently(keep, "exit.json", text) && record_closed(keep, false);
  if (keep->is_recorded) tell("closed");
  add_end(keep->folder, keep->order);
}

static bool record_started(struct keep *keep) {
  char text[RECORD_MAX_BYTES];
  format_started(text, sizeof text, &keep->child);
  return record_patiently(keep, "started.json", text);
}

bool keep_execution(struct order *order, int signals, void (*tell)(const char *)) {
  struct keep keep = {.order = order, .signals = signals, .recording = true};
  keep.folder = open(order->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (keep.folder < 0 || !sync_intent(keep.folder) || !claim_execution(keep.folder, order->cgroup)) {
    if (keep.folder >= 0) close(keep.folder);
    tell("taken");
    return true;
  }
  failpoint("keeper.claimed");
  keep.oom_before = machine_oom_kills();
  spool_open(&keep.spool, keep.folder, order);
  bool has_started = launch_command(order, &keep.child);
  bool is_terminal = keep.child.master >= 0;
  terminal_open(&terminal, keep.folder, keep.child.master);
  input_open(&input, keep.folder, order->with_stdin != 0 || is_terminal ? keep.child.in : -1, is_terminal);
  if (has_started) {
    failpoint("keeper.spawned");
    if (order->kill_ms > 0) keep.kill_at = now_ms() + order->kill_ms;
    /* A command that can't be recorded as started is followed all the same: its end is what counts. */
    record_started(&keep);
    follow(&keep, tell);
  } else {
    record_failure(&keep, tell);
  }
  finish(&keep);
  return keep.is_recorded && !keep.stop && keep.phase != PHASE_LEFT_OPEN;
}
