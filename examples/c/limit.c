/* Decides TIMES requests of one user, each by two policies, and prints what a client would see:
 *
 *   limit headgate.yaml alice 5 */
#include <headgate/headgate.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_field(void* context, const char* name, size_t name_size, const char* value,
                        size_t value_size) {
  (void)context;
  printf("  %.*s: %.*s\n", (int)name_size, name, (int)value_size, value);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: limit POLICY_FILE USER TIMES\n");
    return 2;
  }
  char words[1024];
  headgate_gate* gate = headgate_open(argv[1], words, sizeof words);
  if (gate == NULL) {
    fprintf(stderr, "%s\n", words);
    return 1;
  }
  headgate_decision* decision = headgate_decision_new();
  const headgate_check checks[] = {{"burst", argv[2], strlen(argv[2]), 1},
                                   {"daily", argv[2], strlen(argv[2]), 1}};
  int status = 0;
  for (int i = 0; i < atoi(argv[3]) && status == 0; ++i) {
    switch (headgate_decide(gate, decision, checks, 2, HEADGATE_SPEND, NULL)) {
      case HEADGATE_ADMITTED:
        printf("admitted\n");
        break;
      case HEADGATE_DENIED:
        printf("denied, try again in %" PRId64 " s\n", headgate_retry_after(decision));
        break;
      default:
        fprintf(stderr, "%s: expected policies burst and daily\n", argv[1]);
        status = 1;
    }
    headgate_fields(decision, print_field, NULL);
  }
  headgate_decision_free(decision);
  headgate_close(gate);
  return status;
}
