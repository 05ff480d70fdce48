#include "headgate/redis_module/stored_key.h"

#include <algorithm>

#include "headgate/redis_module/clock.h"

namespace headgate::redis_module {

StoredKey::StoredKey(Context* context, Text* name, OpenMode mode) noexcept
    : context_(context), name_(name), key_(api.open_key(context, name, mode)) {
  const int type = api.key_type(key_);
  if (type == no_key) return;
  exists_ = true;
  has_other_type_ = type != string_key;
  if (has_other_type_) return;
  std::size_t size = 0;
  const char* const bytes = api.key_bytes(key_, &size, open_to_read);
  bytes_ = {bytes, size};
}

std::int64_t StoredKey::expires_in() const noexcept {
  return key_ == nullptr ? -1 : api.expires_in(key_);
}

// In place where there is a string of that size, which spares Redis three commands' work. The
// events are those of SET with a time to live.
void StoredKey::write(const KeyState& state, Instant now) noexcept {
  KeyState::Room room;
  const std::string_view bytes = state.write(room);
  if (bytes.empty() && !exists_) return;
  const std::int64_t at = expiry(state.full_at(), now);
  if (!exists_ || bytes.size() != bytes_.size()) api.resize(key_, bytes.size());
  std::size_t size = 0;
  char* const to = api.key_bytes(key_, &size, open_to_write);
  std::copy_n(bytes.data(), std::min(size, bytes.size()), to);
  // By a span, the key may expire a millisecond earlier or later here than at replicas.
  if (api.set_expiry != nullptr) {
    api.set_expiry(key_, at);
  } else {
    api.set_expiry_in(key_, at - api.milliseconds());
  }
  api.replicate(context_, "SET", "sbcl", name_, bytes.data(), bytes.size(), "PXAT",
                static_cast<long long>(at));
  api.notify(context_, string_event, "set", name_);
  api.notify(context_, generic_event, "expire", name_);
}

}  // namespace headgate::redis_module
