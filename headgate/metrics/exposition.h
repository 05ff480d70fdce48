// A writer of Prometheus' text format, version 0.0.4.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"

namespace headgate::metrics {

// Appends metrics to a text. Throws std::bad_alloc. Not thread-safe.
//
//   Exposition out(text);
//   out.begin("headgate_reloads_total", Exposition::Type::counter, "Policy files loaded.");
//   out.sample({}, 3);
class Exposition {
 public:
  static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

  enum class Type : std::uint8_t { counter, gauge, histogram };

  struct Label {
    std::string_view name;
    std::string_view value;  // UTF-8; escaped here
  };
  using Labels = std::initializer_list<Label>;

  explicit Exposition(std::string& text) : text_(text) {}

  // Starts a metric: the samples after it belong to it. Call once per name.
  void begin(std::string_view name, Type type, std::string_view help);

  void sample(Labels labels, std::uint64_t value);
  // A sample of a histogram: `suffix` is "_bucket", "_sum" or "_count".
  void sample(std::string_view suffix, Labels labels, std::uint64_t value);
  // The same for a time in nanoseconds, written exactly in seconds.
  void sample_seconds(std::string_view suffix, Labels labels, Nanos time);

  // A metric with one sample.
  void one(std::string_view name, Type type, std::string_view help, std::uint64_t value);

 private:
  void open(std::string_view suffix, Labels labels);

  std::string& text_;
  std::string name_;
};

// The exact decimal text of a time in seconds, without trailing zeros: 1500000 gives "0.0015".
// REQUIRES: 0 <= time, less than 2^64 seconds.
[[nodiscard]] std::string decimal_seconds(Nanos time);

}  // namespace headgate::metrics
