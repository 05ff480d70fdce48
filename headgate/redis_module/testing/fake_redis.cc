#include "headgate/redis_module/testing/fake_redis.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "headgate/redis_module/api.h"
#include "headgate/redis_module/load.h"

namespace headgate::redis_module {

// What Redis' opaque types are here.
struct Context {
  int (*get_api)(const char* name, void* slot);
};
struct Text {
  std::string bytes;
};
struct Key {
  std::string name;
  FakeRedis::Value* value;  // null: none
};

namespace {

FakeRedis* fake = nullptr;
std::string hidden;  // the function that is missing
std::string reply;
std::vector<long> open_arrays;  // how many elements each misses
std::map<std::string, CommandFunction> functions;

void require(bool holds) {
  if (!holds) std::abort();
}

// Writes one value of the reply, and closes the arrays that it completes.
void put(const std::string& value) {
  reply += value + '\n';
  while (!open_arrays.empty() && --open_arrays.back() == 0) {
    open_arrays.pop_back();
    reply += "]\n";
  }
}

// ---- the module API

void* alloc(std::size_t bytes) { return std::malloc(bytes); }
void free_memory(void* memory) { std::free(memory); }

void log(Context*, const char*, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  fake->logged.emplace_back(line);
}

int is_name_busy(const char*) { return 0; }
void set_attributes(Context*, const char*, int, int) {}

int create_command(Context*, const char* name, CommandFunction function, const char*, int, int,
                   int) {
  functions[name] = function;
  fake->registered.emplace_back(name);
  return ok;
}

const char* text_bytes(const Text* text, std::size_t* size) {
  *size = text->bytes.size();
  return text->bytes.data();
}

Key* open_key(Context*, Text* name, int mode) {
  const auto found = fake->keys.find(name->bytes);
  if (found != fake->keys.end()) return new Key{name->bytes, &found->second};
  return mode == open_to_read ? nullptr : new Key{name->bytes, nullptr};
}
void close_key(Key* key) { delete key; }
int key_type(Key* key) {
  if (key == nullptr || key->value == nullptr) return no_key;
  return key->value->is_string ? string_key : string_key + 1;
}
char* key_bytes(Key* key, std::size_t* size, int) {
  *size = key->value->bytes.size();
  return key->value->bytes.data();
}
std::int64_t expires_in(Key* key) { return key->value == nullptr ? -1 : key->value->expires_at; }

int set_expiry(Key* key, std::int64_t at) {
  require(key->value != nullptr && at > 0);
  key->value->expires_at = at;
  return ok;
}
std::int64_t milliseconds() { return 1000; }
int set_expiry_in(Key* key, std::int64_t span) { return set_expiry(key, milliseconds() + span); }
int resize(Key* key, std::size_t size) {
  if (key->value == nullptr) key->value = &fake->keys[key->name];
  require(key->value->is_string);
  key->value->bytes.resize(size);
  return ok;
}

// Only what the module replicates: SET with "sbcl". It is the state that the key has here.
int replicate(Context*, const char* command, const char* format, ...) {
  require(std::string_view(command) == "SET" && std::string_view(format) == "sbcl");
  va_list arguments;
  va_start(arguments, format);
  const Text* const name = va_arg(arguments, const Text*);
  const char* const bytes = va_arg(arguments, const char*);
  const auto size = va_arg(arguments, std::size_t);
  const std::string_view option = va_arg(arguments, const char*);
  const auto at = va_arg(arguments, long long);
  va_end(arguments);
  const FakeRedis::Value& value = fake->keys.at(name->bytes);
  require(option == "PXAT" && value.expires_at == at);
  require(value.bytes == std::string_view(bytes, size));
  fake->writes.push_back("SET " + name->bytes);
  return ok;
}
int notify(Context*, int, const char*, Text*) { return ok; }

int wrong_arity(Context*) {
  put("-ERR wrong number of arguments");
  return ok;
}
int reply_error(Context*, const char* text) {
  const std::string_view line(text);
  require(!line.empty() && line.find_first_of("\r\n") == std::string_view::npos);
  put("-" + std::string(line));
  return ok;
}
int reply_array(Context*, long size) {
  reply += "[\n";
  open_arrays.push_back(size);
  if (size > 0) return ok;
  open_arrays.back() = 1;
  put("");
  return ok;
}
int reply_integer(Context*, long long value) {
  put(std::to_string(value));
  return ok;
}
int reply_bytes(Context*, const char* bytes, std::size_t size) {
  put(std::string(bytes, size));
  return ok;
}

Command* get_command(Context*, const char*) { return reinterpret_cast<Command*>(&functions); }
int set_command_info(Command*, const CommandInfo* info) {
  require(info->summary != nullptr && info->arity < 0);
  return ok;
}

int set_categories(Command*, const char* categories) {
  fake->categories.emplace_back(categories);
  return ok;
}

int get_api(const char* name, void* slot) {
  struct Function {
    const char* name;
    void* pointer;
  };
  const auto pointer = [](auto* function) { return reinterpret_cast<void*>(function); };
  static const Function all[] = {
      {"Alloc", pointer(alloc)},
      {"Free", pointer(free_memory)},
      {"Log", pointer(log)},
      {"IsModuleNameBusy", pointer(is_name_busy)},
      {"SetModuleAttribs", pointer(set_attributes)},
      {"CreateCommand", pointer(create_command)},
      {"StringPtrLen", pointer(text_bytes)},
      {"OpenKey", pointer(open_key)},
      {"CloseKey", pointer(close_key)},
      {"KeyType", pointer(key_type)},
      {"StringDMA", pointer(key_bytes)},
      {"GetExpire", pointer(expires_in)},
      {"SetAbsExpire", pointer(set_expiry)},
      {"SetExpire", pointer(set_expiry_in)},
      {"Milliseconds", pointer(milliseconds)},
      {"StringTruncate", pointer(resize)},
      {"Replicate", pointer(replicate)},
      {"NotifyKeyspaceEvent", pointer(notify)},
      {"WrongArity", pointer(wrong_arity)},
      {"ReplyWithError", pointer(reply_error)},
      {"ReplyWithArray", pointer(reply_array)},
      {"ReplyWithLongLong", pointer(reply_integer)},
      {"ReplyWithStringBuffer", pointer(reply_bytes)},
      {"GetCommand", pointer(get_command)},
      {"SetCommandInfo", pointer(set_command_info)},
      {"SetCommandACLCategories", pointer(set_categories)},
  };
  for (const Function& function : all) {
    if (std::string("RedisModule_") + function.name != name || function.name == hidden) continue;
    *static_cast<void**>(slot) = function.pointer;
    return ok;
  }
  return failed;
}

Context context{get_api};

}  // namespace

FakeRedis::FakeRedis(std::string missing) {
  require(fake == nullptr);
  fake = this;
  hidden = std::move(missing);
  api = {};
}

FakeRedis::~FakeRedis() {
  fake = nullptr;
  functions.clear();
}

bool FakeRedis::load() { return redis_module::load(&context); }

std::string FakeRedis::command(const std::vector<std::string>& words) {
  std::vector<std::unique_ptr<Text>> texts;
  std::vector<Text*> arguments;
  for (const std::string& word : words) {
    texts.push_back(std::make_unique<Text>(Text{word}));
    arguments.push_back(texts.back().get());
  }
  reply.clear();
  const auto function = functions.find(words.at(0));
  require(function != functions.end());
  require(function->second(&context, arguments.data(), static_cast<int>(arguments.size())) == ok);
  require(!reply.empty() && open_arrays.empty());
  return reply;
}

}  // namespace headgate::redis_module
