// What this module uses of the module API of Redis and Valkey, in our own declarations: names and
// types as Redis 6.2 defines them. Redis hands out each function by its name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headgate::redis_module {

// Redis' own, used only through pointers.
struct Context;
struct Text;  // a string object, as an argument of a command
struct Key;
struct Command;

using CommandFunction = int (*)(Context*, Text**, int);

inline constexpr int ok = 0;
inline constexpr int failed = 1;

enum OpenMode : int { open_to_read = 1, open_to_write = 2 };
enum KeyType : int { no_key = 0, string_key = 1 };
enum EventKind : int { generic_event = 1 << 2, string_event = 1 << 3 };

// The description of a command (Redis 7.0 and newer).
struct KeySpec {
  const char* notes;
  std::uint64_t flags;  // key_is_... | ...
  int begin_search;     // 2: at an index; 0 ends the list
  union {
    int index;
    struct {
      const char* word;
      int start;
    } keyword;
  };
  int find_keys;  // 2: a range
  union {
    struct {
      int last;
      int step;
      int limit;
    } range;
    struct {
      int number_index;
      int first;
      int step;
    } counted;
  };
};
enum KeySpecFlags : std::uint64_t {
  key_is_read = 1 << 0,
  key_is_changed = 1 << 1,
  key_value_is_returned = 1 << 4,
  key_value_is_updated = 1 << 5,
};
inline constexpr int begin_at_index = 2;
inline constexpr int find_in_range = 2;

struct CommandHistory {
  const char* since;
  const char* changes;
};
struct CommandArgument {
  const char* name;
  int type;
  int key_spec;
  const char* token;
  const char* summary;
  const char* since;
  int flags;
  const char* deprecated_since;
  CommandArgument* arguments;
};
struct CommandInfoVersion {
  int version;
  std::size_t history_size;
  std::size_t key_spec_size;
  std::size_t argument_size;
};
struct CommandInfo {
  const CommandInfoVersion* version;
  const char* summary;
  const char* complexity;
  const char* since;
  CommandHistory* history;
  const char* tips;
  int arity;
  KeySpec* key_specs;
  CommandArgument* arguments;
};

// Pointers to Redis' functions; docs of Redis describe RedisModule_NAME, as api.cc lists them.
struct Api {
  void* (*alloc)(std::size_t bytes);
  void (*free)(void* memory);
  void (*log)(Context*, const char* level, const char* format, ...);
  int (*is_name_busy)(const char* name);
  void (*set_attributes)(Context*, const char* name, int version, int api_version);
  int (*create_command)(Context*, const char* name, CommandFunction, const char* flags, int first,
                        int last, int step);
  const char* (*text_bytes)(const Text*, std::size_t* size);
  Key* (*open_key)(Context*, Text* name, int mode);
  void (*close_key)(Key*);
  int (*key_type)(Key*);
  char* (*key_bytes)(Key*, std::size_t* size, int mode);
  std::int64_t (*expires_in)(Key*);               // [ms]; -1: never
  int (*set_expiry_in)(Key*, std::int64_t span);  // [ms]
  std::int64_t (*milliseconds)();                 // since 1970
  int (*resize)(Key*, std::size_t size);          // of a string, which it makes if there is no key
  int (*replicate)(Context*, const char* command, const char* format, ...);
  int (*notify)(Context*, int kind, const char* event, Text* key);
  int (*wrong_arity)(Context*);
  int (*reply_error)(Context*, const char* text);
  int (*reply_array)(Context*, long size);
  int (*reply_integer)(Context*, long long value);
  int (*reply_bytes)(Context*, const char* bytes, std::size_t size);
  // Null in the first releases of Redis 6.2.
  int (*set_expiry)(Key*, std::int64_t at);  // [ms since 1970]
  // Null in Redis 6.2; the last one before 7.2, too.
  Command* (*get_command)(Context*, const char* name);
  int (*set_command_info)(Command*, const CommandInfo*);
  int (*set_categories)(Command*, const char* categories);
};

// Valid once find_api() has returned true. Redis has one thread for commands.
extern Api api;

// Finds the functions. If one is missing that is not optional, logs its name and returns false.
[[nodiscard]] bool find_api(Context* context) noexcept;

}  // namespace headgate::redis_module
