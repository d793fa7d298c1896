/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubectl-multikueue: the command line beside kubectl. One table names the commands; a command
 * declares its options and its help, and writes to buffers that main.c puts out at the end; one
 * that goes on until the user ends it, after each of its steps (cli_repeat). Commands reach
 * clusters through kubectl (kubectl.h); those in fleet/ and doctor/ ask the daemon, too.
 *
 * 1. cli_init; 2. cli_run; 3. write c.out and c.err; 4. cli_done.
 */
#ifndef MK_CLI_CLI_H
#define MK_CLI_CLI_H

#include "core/base/json.h"

/* What a command ends with. */
enum cli_exit {
	CLI_OK = 0,
	CLI_NO = 1,     /* it worked, and the answer is no: errors were found, files differ */
	CLI_USAGE = 2,  /* the command line was wrong */
	CLI_FAILED = 3, /* a file or the daemon could not be read, or memory ran out */
};

enum cli_format { CLI_TEXT, CLI_WIDE, CLI_JSON, CLI_YAML };

enum { CLI_OUTPUT_MAX = 256 * 1024 * 1024 };
/* Words of a program that a command goes on as, with the NULL behind them. */
enum { CLI_PROGRAM_MAX = 1024 };

/* What main.c lends to commands that go on until the user ends them. */
struct cli_host {
	/* Writes to standard output, or to standard error. False: it cannot be written. */
	bool (*put)(bool is_err, mk_str text);
	/* From now on a signal that ends the process ends 'wait' instead, a second one the process.
	 * False: the system does not let us. */
	bool (*follow)(void);
	/* False: such a signal came. */
	bool (*wait)(int64_t ms);
};

struct cli {
	struct arena a;
	struct buf out, err;
	bool color;                  /* of out */
	bool terminal;               /* out is one */
	bool ends;                   /* a step sets it: cli_repeat returns behind it */
	bool is_data;                /* out is JSON or YAML: not a byte of it is changed */
	const struct cli_host *host; /* NULL: cli_repeat ends after one step */
	/* A command sets it: what the process becomes when all is printed; its first word NULL: none */
	const char *program[CLI_PROGRAM_MAX];
};

/* An option of a command: `-f FILE`, `--filename FILE` or `--filename=FILE`. */
struct cli_option {
	char letter; /* 0: none */
	const char *name;
	const char *value; /* what stands for its value in help; NULL: it takes none */
	bool many;         /* may be given more than once */
	const char *help;
};

struct cli_given {
	const struct cli_option *option;
	const char *value; /* NULL when it takes none */
};

/* What was given, in that order. Borrowed from argv and the arena of the cli. */
struct cli_args {
	struct cli_given *given;
	size_t n_given;
	const char **rest; /* what is no option */
	size_t n_rest;
};

/*
 * What completion offers in a place: words ("queues|workers"), or names of what is in capitals:
 * CLUSTER, CONFIG, CONTEXT, FILE, JOB, NAMESPACE, QUEUE.
 */
struct cli_place {
	/* an option's name; "": the first argument, of files each one; that: those behind it */
	const char *of;
	const char *what;
};

struct cli_command {
	const char *name;
	const char *synopsis;             /* what follows the name: "-f FILE... [WORKLOAD]" */
	const char *summary;              /* one line */
	const char *help;                 /* paragraphs, ended by a newline */
	const char *examples;             /* lines, ended by a newline */
	const struct cli_option *options; /* ended by a NULL name; NULL: none */
	const struct cli_place *places;   /* ended by a NULL 'of'; NULL: what each command has */
	const struct cli_command *const *below; /* commands of a group, ended by NULL; else NULL */
	enum cli_exit (*run)(struct cli *c, const struct cli_args *args); /* NULL for a group */
};

/*
 * Groups of commands, adapter.c, tree/tree.c and worker/worker.c, and those that ask a daemon or
 * the fleet.
 */
extern const struct cli_command cli_adapter, cli_tree, cli_worker, cli_why, cli_get_rows,
	cli_status, cli_top, cli_events, cli_doctor, cli_cordon, cli_uncordon, cli_drain, cli_ui,
	cli_pods, cli_logs, cli_exec;

/* Prepares 'c'; output goes to a terminal when 'terminal', else to a file. */
void cli_init(struct cli *c, bool terminal);
void cli_done(struct cli *c);

/* Runs what argv[1] and on say. All output is in c->out and c->err. */
enum cli_exit cli_run(struct cli *c, int argc, char *const *argv);

/*
 * `__complete WORDS...`, which conf/kubectl_complete-multikueue calls: prints what the last of the
 * 'n' words may become, below 'all', as kubectl reads it; see fleet/complete.c.
 */
enum cli_exit cli_complete(struct cli *c, const struct cli_command *all, int n, char *const *words);

/*
 * For a command that goes on until the user ends it (SIGINT, SIGTERM, SIGHUP): call it before the
 * command starts a program, so that it is there to end that program. False: the error was printed.
 */
bool cli_follow(struct cli *c);

/* Prints to c->out and c->err. What it takes from c->a is gone when it returns. */
typedef enum cli_exit cli_step_fn(void *ctx);

/*
 * Calls step(ctx) each 'ms', behind cli_follow, and puts out what it printed; 'redraw': on a
 * terminal in place of what is there. Until the user ends it, or the step sets c->ends: returns
 * what the step returned last.
 * CLI_FAILED, CLI_USAGE: returned at once.
 */
enum cli_exit cli_repeat(struct cli *c, int64_t ms, bool redraw, cli_step_fn *step, void *ctx);

/* Puts out what was printed so far. False: it cannot be written, the error was printed. */
bool cli_flush(struct cli *c);

/* Output of commands may have any text in it: makes that of c->out and c->err harmless. */
void cli_make_harmless(struct cli *c);

/* Prints "error: …" to c->err. */
void cli_error(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, names the command's help, and returns CLI_USAGE. */
enum cli_exit cli_usage(struct cli *c, const char *command, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Says that memory ran out; returns CLI_FAILED. */
enum cli_exit cli_no_memory(struct cli *c);

/*
 * The value of the last option of that name; NULL when it was not given. Options without a value
 * give "".
 */
const char *cli_get(const struct cli_args *args, const char *name);
/*
 * All values of an option that may be given more than once: an array in the arena and its length;
 * NULL: no memory.
 */
const char **cli_get_all(struct cli *c, const struct cli_args *args, const char *name,
			 size_t *ret_n);
/* The value of -o, checked; false: it is none of them, and the error was printed. */
bool cli_get_format(struct cli *c, const struct cli_args *args, enum cli_format *ret);
/*
 * A whole number of at least 'least', 'otherwise' when not given; false: it is none, and the error
 * was printed.
 */
bool cli_get_number(struct cli *c, const struct cli_args *args, const char *name, int64_t least,
		    int64_t otherwise, int64_t *ret);

/*
 * For a command that deletes or overwrites, behind what it showed of that: asks `question [y/N]`
 * where standard input is a terminal. CLI_OK: yes, or --yes was given; else it was said why nothing
 * is done.
 */
enum cli_exit cli_confirm(struct cli *c, const struct cli_args *args, const char *command,
			  const char *question);
/* Its option; an initialiser of struct cli_option. */
#define CLI_YES                                               \
	{                                                     \
		0, "yes", NULL, false, "do it without asking" \
	}

#endif
