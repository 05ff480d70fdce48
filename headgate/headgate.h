/* headgate for C and for every language that can call C.
 *
 *   headgate_gate* gate = headgate_open("headgate.yaml", words, sizeof words);
 *   headgate_decision* decision = headgate_decision_new();
 *   headgate_check check = {"burst", "alice", 5, 1};
 *   if (headgate_decide(gate, decision, &check, 1, HEADGATE_SPEND, NULL) == HEADGATE_DENIED) ...
 *   headgate_fields(decision, add_header, response);
 *
 * Strings are bytes with a length and may contain any byte. Only policy names, file names and names
 * of header fields end with a zero byte. No function throws, exits or prints. */
#ifndef HEADGATE_HEADGATE_H
#define HEADGATE_HEADGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEADGATE_API __attribute__((visibility("default")))
#else
#define HEADGATE_API
#endif

/* "0.1.0" */
HEADGATE_API const char* headgate_version(void);

/* ---- The gate: a loaded policy file and the table that it names. Thread-safe. Processes whose
 * policy files name the same table file share their quotas. So do a process and its children with
 * the gate that it had opened before the fork; each of them reloads it for itself. */

typedef struct headgate_gate headgate_gate;

/* Loads the policy file. Returns NULL if it can't be used; `error` then has one line per fault,
 * FILE:LINE:COLUMN: what is wrong, cut to `error_size` bytes with the zero at its end. `error` may
 * be NULL. The gate has a file descriptor until headgate_close(): a program that closes all of its
 * descriptors when it becomes a daemon opens the gate after that. */
HEADGATE_API headgate_gate* headgate_open(const char* config, char* error, size_t error_size);

/* Reads the policy file again and keeps the state; a table that is to have more `memory` grows.
 * Returns 0, or -1 with `error` if nothing changed: the file has a fault, or names another table.
 * A decision that was made before the reload keeps the policies with which it was made. */
HEADGATE_API int headgate_reload(headgate_gate* gate, char* error, size_t error_size);

/* Frees the gate. Its decisions must not be used afterwards, only freed. NULL is ignored. */
HEADGATE_API void headgate_close(headgate_gate* gate);

/* ---- Memory for the decision of one request at a time. Not thread-safe. It takes about 70 KiB,
 * and more after a request with very many policies and long keys: reuse it for many requests. */

typedef struct headgate_decision headgate_decision;

/* Returns NULL if there is no memory. */
HEADGATE_API headgate_decision* headgate_decision_new(void);
/* NULL is ignored. */
HEADGATE_API void headgate_decision_free(headgate_decision* decision);

/* ---- Deciding */

typedef enum {
  HEADGATE_OFF = 0,           /* no policy applied */
  HEADGATE_ADMITTED = 1,      /* all policies that applied admitted */
  HEADGATE_SHADOW_DENIED = 2, /* admitted; a policy in shadow mode would have denied */
  HEADGATE_DENIED = 3,        /* a policy denied, and only policies in shadow mode were charged; or
                                 no policy decided, because the request's host is malformed (status
                                 400) or more than 128 policies match (status 503) */
  /* Errors; nothing was decided or charged: */
  HEADGATE_UNKNOWN_POLICY = -1, /* a check names a policy that does not exist */
  HEADGATE_ASKED_TWICE = -2,    /* two checks name the same policy and key */
  HEADGATE_TOO_MANY = -3,       /* more than 128 checks */
  HEADGATE_NO_MEMORY = -4,
  HEADGATE_BAD_ADDRESS = -5 /* `peer` is not an IP address */
} headgate_outcome;

typedef enum {
  HEADGATE_SPEND = 0,
  HEADGATE_PEEK = 1,  /* decides as a spend, but charges nothing */
  HEADGATE_REFUND = 2 /* gives the cost back; for a concurrency policy, releases a slot */
} headgate_op;

typedef struct {
  const char* policy; /* the policy's name in the file */
  const char* key;    /* the partition key: any bytes */
  size_t key_size;
  uint64_t cost; /* [quota units] */
} headgate_check;

typedef struct {
  int admitted;
  int limited;        /* 0: the policy is off or the key unlimited; ignore the members below */
  uint64_t quota;     /* q [units] */
  uint64_t remaining; /* r [units] */
  int64_t reset_s;    /* t [s]; -1: none */
  int64_t wait_ns;    /* [ns] until this cost is admitted, 0 if it was; -1: never, or unknown. If it
                       * was, under a policy with a delay: how long the caller lets it wait */
} headgate_result;

/* Decides `count` checks of policies by name. Either all of them are charged, or none; those in
 * shadow mode are charged in any case, if they admit. `results` is an array of `count` results, in
 * the order of the checks, or NULL. */
HEADGATE_API headgate_outcome headgate_decide(headgate_gate* gate, headgate_decision* decision,
                                              const headgate_check* checks, size_t count,
                                              headgate_op op, headgate_result* results);

/* Supplied by the caller: returns the value of the nth (from 0) header field line with this name,
 * and stores its length; returns NULL if there is no such line. `name` is in lower case, shorter
 * than 256 bytes, and ends with a zero. The value must stay valid until the headgate function that
 * called this one returns. */
typedef const char* (*headgate_header)(void* context, const char* name, size_t nth, size_t* size);

typedef struct {
  const char* method;
  size_t method_size;
  const char* host; /* without port */
  size_t host_size;
  const char* path; /* as received, without query */
  size_t path_size;
  const char* query; /* as received, without the question mark */
  size_t query_size;
  const char* peer;   /* the IP address of the connection, ended by a zero; NULL: a Unix socket */
  int64_t body_bytes; /* of the request's content; -1: unknown */
  headgate_header header; /* NULL: no header fields */
  void* context;          /* passed to `header` */
} headgate_request;

/* Decides an HTTP request by the policies that match it. One that would have to wait under a policy
 * with a delay is denied. */
HEADGATE_API headgate_outcome headgate_admit(headgate_gate* gate, headgate_decision* decision,
                                             const headgate_request* request);

/* To be called when the response of a request is complete or aborted: gives refunds by status,
 * charges costs that depend on the response, and releases slots. Also of a denied request, of which
 * policies in shadow mode can have taken slots. Only the first call for a decision has an effect.
 * Without it, slots come back when their lease ends. `status` 0: none was sent. `header` looks up
 * the response's header fields; NULL: none. */
HEADGATE_API void headgate_settle(headgate_gate* gate, headgate_decision* decision, unsigned status,
                                  uint64_t body_bytes, headgate_header header, void* context);

/* ---- Costs that are known afterwards: reserve, then settle */

/* As a check's cost: what the policy reserves. */
#define HEADGATE_RESERVE UINT64_MAX

/* As headgate_decide() with HEADGATE_SPEND. Use the decision for nothing else until it is settled.
 * What is never settled stays charged. */
HEADGATE_API headgate_outcome headgate_reserve(headgate_gate* gate, headgate_decision* decision,
                                               const headgate_check* checks, size_t count,
                                               headgate_result* results);

typedef struct {
  const char* policy; /* also for its candidate */
  uint64_t cost;      /* what was really needed [quota units] */
} headgate_cost;

/* Corrects what headgate_reserve() has taken: what was too much is given back, unless it has come
 * back by itself, and what was too little is charged. A policy without a cost stays charged as it
 * is. Returns 1; or 0 if nothing was changed, because nothing was taken, an hour has passed, or it
 * was settled before; or, without a change, HEADGATE_UNKNOWN_POLICY if a cost is of no policy, or
 * HEADGATE_NO_MEMORY. The cost of a policy that took nothing, because it is off, unlimited for the
 * key, or in shadow mode and would have denied, is ignored. */
HEADGATE_API int headgate_settle_reserved(headgate_gate* gate, headgate_decision* decision,
                                          const headgate_cost* costs, size_t count);

/* ---- The response to the client. Valid until the decision is used again. */

/* Calls `add` for each header field of the response, in order: RateLimit and RateLimit-Policy, or
 * the fields that the policy file names, and Retry-After on a denial. Neither string ends with a
 * zero. */
typedef void (*headgate_add)(void* context, const char* name, size_t name_size, const char* value,
                             size_t value_size);
HEADGATE_API void headgate_fields(const headgate_decision* decision, headgate_add add,
                                  void* context);

/* For a denial: its HTTP status, and the seconds of Retry-After, -1 if waiting does not help, or
 * if no policy decided. */
HEADGATE_API unsigned headgate_status(const headgate_decision* decision);
HEADGATE_API int64_t headgate_retry_after(const headgate_decision* decision);

/* For a denial: writes a body of type application/problem+json, without a zero at its end. Returns
 * its length; 0 if it is longer than `size`, if the policy file turns it off, or if no policy
 * decided. */
HEADGATE_API size_t headgate_problem(const headgate_decision* decision, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
