// Reads the replies that Redis sends in RESP2. No I/O: bytes in, replies out.
//
//   while ((found = reader.read(bytes)) == RespReplyReader::Found::reply) {
//     use(reader.reply());
//     bytes.remove_prefix(reader.used());
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::net {

// One value of a reply. An array is followed by its elements.
struct RespValue {
  enum class Type : std::uint8_t { text, error, integer, null, array };

  Type type = Type::null;
  std::string_view text;     // of a text (simple or bulk) and of an error
  std::int64_t number = 0;   // of an integer; of an array, how many elements it has
  std::uint32_t values = 1;  // how many values this one consists of, itself included

  [[nodiscard]] bool is_text() const noexcept { return type == Type::text; }
  [[nodiscard]] bool is_error() const noexcept { return type == Type::error; }
  [[nodiscard]] bool is_integer() const noexcept { return type == Type::integer; }
  [[nodiscard]] bool is_null() const noexcept { return type == Type::null; }
  [[nodiscard]] bool is_array() const noexcept { return type == Type::array; }
};

// A value and, if it is an array, what is in it. A view, valid as long as the reader says.
class RespReply {
 public:
  explicit RespReply(std::span<const RespValue> values) noexcept : values_(values) {}

  [[nodiscard]] const RespValue& value() const noexcept { return values_[0]; }
  [[nodiscard]] const RespValue* operator->() const noexcept { return &values_[0]; }

  // The number of elements; 0 if this is no array.
  [[nodiscard]] std::size_t size() const noexcept {
    return value().is_array() ? static_cast<std::size_t>(value().number) : 0;
  }
  // Calls `use(RespReply)` with each element, in order.
  template <class Use>
  void for_each(const Use& use) const {
    std::size_t at = 1;
    for (std::size_t i = 0; i < size(); ++i) {
      use(RespReply(values_.subspan(at, values_[at].values)));
      at += values_[at].values;
    }
  }

 private:
  std::span<const RespValue> values_;
};

struct RespReplyLimits {
  // The values of one reply. CLUSTER SLOTS of a thousand nodes and ten thousand ranges has about
  // 200,000.
  std::size_t values_max = std::size_t{1} << 20;
  // How deep arrays are nested. CLUSTER SLOTS has four levels.
  std::size_t depth_max = 8;
  // The longest reply [bytes]. The values of 128 keys with logs of 65,536 records have 128 MiB.
  std::size_t reply_max = std::size_t{256} << 20;
};

// One per connection. Scans each byte once, however the stream is cut into chunks. Not thread-safe.
class RespReplyReader {
 public:
  explicit RespReplyReader(const RespReplyLimits& limits = {}) noexcept : limits_(limits) {}

  enum class Found : std::uint8_t {
    more,   // no complete reply
    reply,  // reply() and used() are set
    fault,  // fault() is set; the rest of the stream cannot be read
  };

  // Reads the first reply of `bytes`. After `more`, `bytes` begin with those of the last call (at
  // any address), followed by newly received ones. May throw std::bad_alloc.
  [[nodiscard]] Found read(std::string_view bytes);

  // Views into `bytes` and the reader; valid until the next read().
  [[nodiscard]] RespReply reply() const noexcept { return RespReply(values_); }

  // How many bytes at the beginning of `bytes` the reply has.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  // What is wrong, as a sentence.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  enum class Line : std::uint8_t { more, complete, malformed };
  struct Open {
    std::uint32_t value;   // the index of an array
    std::int64_t missing;  // elements that have not begun
  };

  Line read_line(std::string_view bytes, std::string_view& line) noexcept;
  Found read_value(std::string_view bytes);
  void close_complete_arrays() noexcept;
  Found fail(std::string_view why);

  RespReplyLimits limits_;
  std::vector<RespValue> values_;
  std::size_t used_ = 0;
  std::string fault_;

  // State of the reply that is being read. Texts are slices of it until it is complete.
  struct Slice {
    std::size_t begin;
    std::size_t size;
  };
  std::vector<Slice> slices_;  // one per value
  std::vector<Open> open_;
  std::size_t at_ = 0;       // the beginning of the value that is read next
  std::size_t scanned_ = 0;  // bytes without a line end, from at_
};

}  // namespace headgate::net
