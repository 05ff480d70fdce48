/* headgate for C and for every language that can call C.
 *
 *   headgate_gate* gate = headgate_open("headgate.yaml", words, sizeof words);
 *   headgate_decision* decision = headgate_decision_new();
 *   headgate_check check = {"burst", "alice", 5, 1};
 *   if (headgate_decide(gate, decision, &check, 1, HEADGATE_SPEND, NULL) == HEADGATE_DENIED) ...
 *   headgate_fields(decision, add_header, response);
 *
 * Strings are bytes with a length and may hold anything; only policy names and file names end with
 * a zero. Nothing here throws, exits or prints. */
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

/* ---- A policy file in loaded, over the table that it asks for. Thread-safe; processes that name
 * the same table file share their quotas. */

typedef struct headgate_gate headgate_gate;

/* Loads the policy file. NULL where it can't be used; `error` then says why: one fault a line,
 * FILE:LINE:COLUMN: what is wrong, cut at `error_size` bytes, zero included. */
HEADGATE_API headgate_gate* headgate_open(const char* config, char* error, size_t error_size);

/* Reads the policy file again and keeps the state. 0, or -1 with `error`, and then nothing changed.
 * Decisions that are out are finished by the policies that they began with. */
HEADGATE_API int headgate_reload(headgate_gate* gate, char* error, size_t error_size);

/* Nothing may use it any more, decisions included. NULL does nothing. */
HEADGATE_API void headgate_close(headgate_gate* gate);

/* ---- Working memory of one request at a time: about 128 KiB, so use it again. Not thread-safe. */

typedef struct headgate_decision headgate_decision;

/* NULL: no memory. */
HEADGATE_API headgate_decision* headgate_decision_new(void);
HEADGATE_API void headgate_decision_free(headgate_decision* decision);

/* ---- Deciding */

typedef enum {
  HEADGATE_OFF = 0,           /* no policy applied */
  HEADGATE_ADMITTED = 1,      /* every policy that applied admitted */
  HEADGATE_SHADOW_DENIED = 2, /* admitted, but a policy in shadow mode would have denied */
  HEADGATE_DENIED = 3,
  /* Nothing was decided: */
  HEADGATE_UNKNOWN_POLICY = -1, /* no policy has the name of a check */
  HEADGATE_ASKED_TWICE = -2,    /* two checks name the same policy and key */
  HEADGATE_TOO_MANY = -3,       /* more than 128 checks */
  HEADGATE_NO_MEMORY = -4,
  HEADGATE_BAD_ADDRESS = -5 /* `peer` is not an IP address */
} headgate_outcome;

typedef enum {
  HEADGATE_SPEND = 0,
  HEADGATE_PEEK = 1,  /* answers as a spend would, and takes nothing */
  HEADGATE_REFUND = 2 /* gives back; of a concurrency policy: releases a slot */
} headgate_op;

typedef struct {
  const char* policy; /* its name in the file */
  const char* key;    /* a ready-made partition key */
  size_t key_size;
  uint64_t cost; /* [quota units] */
} headgate_check;

typedef struct {
  int admitted;
  int limited;        /* 0: the policy is off or the key unlimited, and the rest says nothing */
  uint64_t quota;     /* q [units] */
  uint64_t remaining; /* r [units] */
  int64_t reset_s;    /* t [s]; -1: there is none */
  int64_t
      wait_ns; /* until this cost is admitted; 0 if it was; -1: no time helps, or nobody knows */
} headgate_result;

/* Decides `count` checks of policies by name: all are taken or none. `results` has room for as
 * many, or is NULL. */
HEADGATE_API headgate_outcome headgate_decide(headgate_gate* gate, headgate_decision* decision,
                                              const headgate_check* checks, size_t count,
                                              headgate_op op, headgate_result* results);

/* The value of the nth (from 0) header field line of that name, in lower case and ended by a zero
 * (names of 256 bytes and more are never asked for), and its length; NULL if there is no such line.
 * The bytes stay until the call that asked returns. */
typedef const char* (*headgate_header)(void* context, const char* name, size_t nth, size_t* size);

typedef struct {
  const char* method;
  size_t method_size;
  const char* host; /* without port */
  size_t host_size;
  const char* path; /* decoded and normalised, without query */
  size_t path_size;
  const char* query; /* as received, without the question mark */
  size_t query_size;
  const char* peer;   /* the IP address of the connection, ended by a zero; NULL: a Unix socket */
  int64_t body_bytes; /* of the request's content; -1: not known */
  headgate_header header; /* NULL: there are none */
  void* context;          /* of `header` */
} headgate_request;

/* Decides one HTTP request by the policies that match it. */
HEADGATE_API headgate_outcome headgate_admit(headgate_gate* gate, headgate_decision* decision,
                                             const headgate_request* request);

/* Ends a request that was admitted, when its response has ended or broken off: refunds by status,
 * costs that only the response tells, slots. Once; without it slots come back with their lease.
 * `status` 0: none was sent. */
HEADGATE_API void headgate_settle(headgate_gate* gate, headgate_decision* decision, unsigned status,
                                  uint64_t body_bytes, headgate_header header, void* context);

/* ---- What to tell the client; until the decision is used again */

/* Calls `add` with each field of the response (RateLimit, RateLimit-Policy, or what the policy file
 * asks for, and Retry-After on a denial), in order. Neither string ends with a zero. */
typedef void (*headgate_add)(void* context, const char* name, size_t name_size, const char* value,
                             size_t value_size);
HEADGATE_API void headgate_fields(const headgate_decision* decision, headgate_add add,
                                  void* context);

/* Of a denial: its HTTP status, and the seconds of Retry-After, -1 where waiting never helps. */
HEADGATE_API unsigned headgate_status(const headgate_decision* decision);
HEADGATE_API int64_t headgate_retry_after(const headgate_decision* decision);

/* Of a denial: the body of type application/problem+json. Returns its length, at most `size`; 0 if
 * it does not fit or the policy file wants none. No zero at its end. */
HEADGATE_API size_t headgate_problem(const headgate_decision* decision, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
