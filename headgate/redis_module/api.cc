#include "headgate/redis_module/api.h"

namespace headgate::redis_module {

Api api;

namespace {

struct Wanted {
  const char* name;
  void* slot;  // the pointer in `api`
  bool optional = false;
};

const Wanted wanted[] = {
    {"RedisModule_Alloc", &api.alloc},
    {"RedisModule_Free", &api.free},
    {"RedisModule_IsModuleNameBusy", &api.is_name_busy},
    {"RedisModule_SetModuleAttribs", &api.set_attributes},
    {"RedisModule_CreateCommand", &api.create_command},
    {"RedisModule_StringPtrLen", &api.text_bytes},
    {"RedisModule_OpenKey", &api.open_key},
    {"RedisModule_CloseKey", &api.close_key},
    {"RedisModule_KeyType", &api.key_type},
    {"RedisModule_StringDMA", &api.key_bytes},
    {"RedisModule_GetExpire", &api.expires_in},
    {"RedisModule_SetExpire", &api.set_expiry_in},
    {"RedisModule_Milliseconds", &api.milliseconds},
    {"RedisModule_SetAbsExpire", &api.set_expiry, true},
    {"RedisModule_StringTruncate", &api.resize},
    {"RedisModule_Replicate", &api.replicate},
    {"RedisModule_NotifyKeyspaceEvent", &api.notify},
    {"RedisModule_WrongArity", &api.wrong_arity},
    {"RedisModule_ReplyWithError", &api.reply_error},
    {"RedisModule_ReplyWithArray", &api.reply_array},
    {"RedisModule_ReplyWithLongLong", &api.reply_integer},
    {"RedisModule_ReplyWithStringBuffer", &api.reply_bytes},
    {"RedisModule_GetCommand", &api.get_command, true},
    {"RedisModule_SetCommandInfo", &api.set_command_info, true},
    {"RedisModule_SetCommandACLCategories", &api.set_categories, true},
};

}  // namespace

bool find_api(Context* context) noexcept {
  // A context begins with a pointer to the function that finds all others.
  using GetApi = int (*)(const char* name, void* slot);
  const GetApi get = *reinterpret_cast<const GetApi*>(context);
  if (get("RedisModule_Log", &api.log) != ok) return false;
  for (const Wanted& function : wanted) {
    if (get(function.name, function.slot) == ok || function.optional) continue;
    api.log(context, "warning",
            "headgate: this server has no %s; expected Redis 6.2 or newer, or "
            "Valkey",
            function.name);
    return false;
  }
  return true;
}

}  // namespace headgate::redis_module
