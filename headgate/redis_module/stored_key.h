// One key's state in Redis: read as a law needs it, written with its time to live.
#pragma once

#include <string_view>

#include "headgate/limit/law.h"
#include "headgate/redis/key_state.h"
#include "headgate/redis_module/api.h"
#include "headgate/redis_module/memory.h"

namespace headgate::redis_module {

using KeyState = redis::BasicKeyState<redis::BasicRecordLog<Allocator<limit::Record>>>;

// An open key.
class StoredKey {
 public:
  // `mode`: open_to_read, which also a replica may do, or open_to_write. `name` outlives this.
  StoredKey(Context* context, Text* name, OpenMode mode) noexcept;
  StoredKey(const StoredKey&) = delete;
  StoredKey& operator=(const StoredKey&) = delete;
  ~StoredKey() { api.close_key(key_); }

  // Whether the key has a value that is no string.
  [[nodiscard]] bool has_other_type() const noexcept { return has_other_type_; }
  // Empty if there is no key. Valid until write().
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool exists() const noexcept { return exists_; }
  // [ms]; -1: never, or no key.
  [[nodiscard]] std::int64_t expires_in() const noexcept;

  // Writes a state as of the decision at `now`. Replicas and the AOF get the write, not the command
  // that led to it. REQUIRES: open_to_write, and no other type.
  void write(const KeyState& state, Instant now) noexcept;

 private:
  Context* const context_;
  Text* const name_;
  Key* const key_;
  std::string_view bytes_;
  bool exists_ = false;
  bool has_other_type_ = false;
};

}  // namespace headgate::redis_module
