// Prometheus' text format, version 0.0.4, and what every door tells in it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "headgate/gate/counts.h"
#include "headgate/store/table.h"

namespace headgate::gate {

// Appends metrics to a text. Throws std::bad_alloc. Not thread-safe.
//
//   Exposition out(text);
//   out.begin("headgate_reloads_total", Exposition::Type::counter, "Policy files taken over.");
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

  // The metric that the samples after it are of. Once per name.
  void begin(std::string_view name, Type type, std::string_view help);

  void sample(Labels labels, std::uint64_t value);
  // Of a part of a histogram, whose suffix is "_bucket", "_sum" or "_count".
  void sample(std::string_view suffix, Labels labels, std::uint64_t value);
  // The same [seconds], of a time in nanoseconds; exact.
  void sample_seconds(std::string_view suffix, Labels labels, std::uint64_t nanoseconds);

  // A metric of one sample.
  void one(std::string_view name, Type type, std::string_view help, std::uint64_t value);

 private:
  void open(std::string_view suffix, Labels labels);

  std::string& text_;
  std::string name_;
};

// A time as decimal seconds, without zeros at the end: 1500000 is "0.0015". Exact.
[[nodiscard]] std::string decimal_seconds(std::uint64_t nanoseconds);

// What a policy counted, under its name.
struct NamedTotals {
  std::string_view policy;
  PolicyTotals totals;
};

// Metrics that every door has, by the same names.
void expose_policies(std::span<const NamedTotals> policies, Exposition& out);
void expose_table(const store::TableStats& stats, Exposition& out);
void expose_reloads(std::uint64_t taken_over, std::uint64_t refused, Exposition& out);
void expose_fields_left_out(std::uint64_t fields, Exposition& out);

}  // namespace headgate::gate
