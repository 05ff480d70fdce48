#include "headgate/view/partition_label.h"

#include <algorithm>
#include <cstring>

#include "headgate/base/hex.h"
#include "headgate/field/sf/write.h"

namespace headgate::view {
namespace {

// A label:
//
//   +------+--------+--------+--------------------------+-----
//   | form | length | policy | Hash128, unless plain    | key, or of an opaque one another Hash128
//   +------+--------+--------+--------------------------+-----
enum Form : char { plain = 'p', cut = 'c', opaque_only = 'o' };

constexpr std::size_t policy_max = 64;  // [bytes]; longer than the usual policy's name
constexpr std::size_t head_max = 2 + policy_max;
constexpr std::size_t plain_max = TopSketch::label_max - head_max;
constexpr std::size_t cut_length = plain_max - sizeof(Hash128);

char* put(std::string_view bytes, char* out) noexcept {
  std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

char* put_head(Form form, std::string_view policy, char* out) noexcept {
  policy = policy.substr(0, policy_max);
  *out++ = form;
  *out++ = static_cast<char>(policy.size());
  return put(policy, out);
}

std::string_view bytes(const Hash128& hash) noexcept {
  return {reinterpret_cast<const char*>(&hash), sizeof hash};
}

void append_key(std::string_view key, std::string& out) {
  for (const char& c : key) {
    if (c == '\\') {
      out += "\\\\";
    } else {
      append_printable(out, c);
    }
  }
}

}  // namespace

std::size_t write_plain_label(std::string_view policy, std::string_view key, const Hash128& client,
                              char* out) noexcept {
  char* at = out;
  if (key.size() <= plain_max) {
    at = put(key, put_head(plain, policy, at));
  } else {
    at = put(bytes(client), put_head(cut, policy, at));
    at = put(key.substr(0, cut_length), at);
  }
  return static_cast<std::size_t>(at - out);
}

std::size_t write_opaque_label(std::string_view policy, const Hash128& opaque,
                               const Hash128& client, char* out) noexcept {
  char* const at = put(bytes(opaque), put_head(opaque_only, policy, out));
  return static_cast<std::size_t>(put(bytes(client), at) - out);
}

PartitionLabel read_label(std::string_view label) {
  const auto take = [&](std::size_t length) {
    const std::string_view taken = label.substr(0, length);
    label.remove_prefix(taken.size());
    return taken;
  };
  const char form = take(1).front();
  const auto length = static_cast<unsigned char>(take(1).front());
  PartitionLabel read{std::string(take(length)), {}, {}};
  const std::string_view hash = form == plain ? "" : take(sizeof(Hash128));
  if (form == opaque_only) {
    Appender appender{read.key};
    field::sf::write_bytes(appender, hash);
    append_hex(read.client, label);
    return read;
  }
  append_key(label, read.key);
  if (form == cut) {
    read.key += "...#";
    append_hex(read.key, hash.substr(0, 4));
  }
  return read;
}

}  // namespace headgate::view
