#include "headgate/redis_module/load.h"

#include "headgate/redis_module/commands.h"

namespace headgate::redis_module {
namespace {

constexpr const char* module_name = "headgate";
constexpr int module_version = 1;
constexpr int api_version = 1;  // the only one

struct Described {
  const char* name;
  CommandFunction run;
  const char* flags;
  const char* categories;  // for ACL rules
  int last;  // of the words that are keys, the first of which is word 1; -1: to the end
  int step;
  int arity;
  std::uint64_t key_flags;
  const char* summary;
  const char* complexity;
};

template <auto function, auto... arguments>
int run(Context* context, Text** words, int count) noexcept {
  return function(context, Words(words, static_cast<std::size_t>(count)), arguments...);
}

constexpr std::uint64_t changed = key_is_changed | key_value_is_returned | key_value_is_updated;
constexpr std::uint64_t read = key_is_read | key_value_is_returned;

// A refund and a peek need no memory, so that they also work when Redis has none.
constexpr Described commands[] = {
    {"cl.throttle", run<throttle>, "write deny-oom fast", "write fast", 1, 1, -5, changed,
     "Decides by the limit it names; replies limited, limit, remaining, retry_after, reset_after",
     "O(1)"},
    {"hg.take", run<take, limit::Op::spend>, "write deny-oom fast", "write fast", -1, 3, -4,
     changed, "Takes units of every key, or of none", "O(N) where N is the number of keys"},
    {"hg.peek", run<take, limit::Op::peek>, "readonly fast", "read fast", -1, 3, -4, read,
     "Answers as HG.TAKE would, and takes nothing", "O(N) where N is the number of keys"},
    {"hg.refund", run<take, limit::Op::refund>, "write fast", "write fast", -1, 3, -4, changed,
     "Gives units back, or releases slots of concurrency", "O(N) where N is the number of keys"},
    {"hg.info", run<info>, "readonly fast", "read fast", 1, 1, -1, read,
     "Says what a key contains, or which module this is", "O(1)"},
};

// Redis 7 and newer: what COMMAND INFO and COMMAND DOCS say, and how each key is used, for ACL
// rules as %R~pattern.
bool describe(Context* context, const Described& command) noexcept {
  if (api.get_command == nullptr || api.set_command_info == nullptr) return true;
  static constexpr CommandInfoVersion version = {1, sizeof(CommandHistory), sizeof(KeySpec),
                                                 sizeof(CommandArgument)};
  KeySpec keys[2] = {};
  keys[0].flags = command.key_flags;
  keys[0].begin_search = begin_at_index;
  keys[0].index = 1;
  keys[0].find_keys = find_in_range;
  // Here the last key is relative to the first one, unless it is negative.
  keys[0].range = {command.last < 0 ? command.last : command.last - 1, command.step, 0};
  CommandInfo info = {};
  info.version = &version;
  info.summary = command.summary;
  info.complexity = command.complexity;
  info.since = HEADGATE_VERSION;
  info.arity = command.arity;
  info.key_specs = keys;
  Command* const registered = api.get_command(context, command.name);
  if (registered == nullptr || api.set_command_info(registered, &info) != ok) return false;
  return api.set_categories == nullptr || api.set_categories(registered, command.categories) == ok;
}

bool add(Context* context, const Described& command) noexcept {
  if (api.create_command(context, command.name, command.run, command.flags, 1, command.last,
                         command.step) == ok &&
      describe(context, command)) {
    return true;
  }
  api.log(context, "warning",
          "headgate: there already is a command %s; expected a server without "
          "redis-cell",
          command.name);
  return false;
}

}  // namespace

bool load(Context* context) noexcept {
  if (!find_api(context)) return false;
  if (api.is_name_busy(module_name) != 0) {
    api.log(context, "warning", "headgate: a module of this name is already loaded");
    return false;
  }
  api.set_attributes(context, module_name, module_version, api_version);
  for (const Described& command : commands) {
    if (!add(context, command)) return false;
  }
  return true;
}

}  // namespace headgate::redis_module
