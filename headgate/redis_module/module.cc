// The one symbol that Redis and Valkey look up.
#include "headgate/redis_module/load.h"

extern "C" [[gnu::visibility("default")]] int RedisModule_OnLoad(
    headgate::redis_module::Context* context, headgate::redis_module::Text**, int words) {
  using namespace headgate::redis_module;
  if (!load(context)) return failed;
  if (words == 0) return ok;
  api.log(context, "warning", "headgate: the module takes no arguments");
  return failed;
}
